import SheafBytes

/// Encoding of operations whose position in the log is not known yet.
extension Operation {
    /// Throws if the log cannot contain this key, or a payload of this length.
    static func check(
        _ key: UnsafeRawBufferPointer, payloadLength: Int
    ) throws(StorageError) {
        guard let first = key.first, isLogged(firstByte: first) else {
            throw .invalidKey("a key has at least one byte, and its first byte is not 0 or 255")
        }
        guard key.count <= Limits.maximumKeyLength else {
            throw .limit(
                name: "maximumKeyLength", value: key.count, limit: Limits.maximumKeyLength)
        }
        guard payloadLength <= Limits.maximumPayloadLength else {
            throw .limit(
                name: "maximumPayloadLength", value: payloadLength,
                limit: Limits.maximumPayloadLength)
        }
    }

    /// Writes the header, the key and, if it is given, the first byte of the payload.
    ///
    /// They fill `target`.
    @inline(__always)
    static func writeHeaderAndKey(
        _ kind: Kind, _ key: UnsafeRawBufferPointer, firstPayloadByte first: UInt8?,
        payloadLength: Int,
        to target: UnsafeMutableRawBufferPointer
    ) {
        target[0..<headerLength].update(repeating: 0)
        target.store(kind.rawValue, at: Layout.kind)
        target.store(UInt16(key.count), at: Layout.keyLength)
        target.store(UInt32(payloadLength), at: Layout.payloadLength)
        UnsafeMutableRawBufferPointer(rebasing: target[headerLength...]).copyMemory(from: key)
        if let first { target[headerLength + key.count] = first }
    }

    /// Returns the length of the encoded operation at `offset`.
    @inline(__always)
    static func length(in bytes: UnsafeRawBufferPointer, at offset: Int) -> Int {
        let keyLength: UInt16 = bytes.loadInteger(offset + Layout.keyLength)
        let payloadLength: UInt32 = bytes.loadInteger(offset + Layout.payloadLength)
        return headerLength + Int(keyLength) + Int(payloadLength)
    }

    /// Returns the key of the encoded operation at `offset`.
    @inline(__always)
    static func key(
        in bytes: UnsafeRawBufferPointer, at offset: Int
    ) -> UnsafeRawBufferPointer {
        let keyLength: UInt16 = bytes.loadInteger(offset + Layout.keyLength)
        return bytes.slice(offset + headerLength..<offset + headerLength + Int(keyLength))
    }
}
