import SheafBytes

extension WriteBatch {
    /// The bytes of a key, hashed and compared without copying.
    private struct KeyBytes: Hashable {
        let bytes: UnsafeRawBufferPointer

        static func == (left: KeyBytes, right: KeyBytes) -> Bool {
            left.bytes.compare(right.bytes) == 0
        }

        func hash(into hasher: inout Hasher) {
            hasher.combine(bytes: bytes)
        }
    }

    /// Returns the ranges of the keys for which the batch requires an existing payload.
    ///
    /// Throws if the batch appends a delta to a key that it has removed.
    func keysOfDeltas() throws(StorageError) -> [Range<Int>] {
        try bytes.span.withUnsafeBytes { bytes throws(StorageError) in
            var found: [Range<Int>] = []
            // Whether a key has a payload, as far as the batch determines it.
            var isPresent: [KeyBytes: Bool] = [:]
            var offset = 0
            while offset < bytes.count {
                let start = offset + Operation.headerLength
                let keyLength = Int(
                    bytes.loadInteger(offset + Operation.Layout.keyLength) as UInt16)
                let payloadLength = Int(
                    bytes.loadInteger(offset + Operation.Layout.payloadLength) as UInt32)
                let range = start..<start + keyLength
                let key = KeyBytes(bytes: bytes.slice(range))
                switch Operation.Kind(rawValue: bytes[offset]) {
                case .remove:
                    isPresent[key] = false
                case .delta:
                    let known = isPresent.updateValue(true, forKey: key)
                    if known == false { throw .noRecordForDelta(key: Array(key.bytes)) }
                    if known == nil { found.append(range) }
                case .put, nil:
                    isPresent[key] = true
                }
                offset = range.upperBound + payloadLength
            }
            return found
        }
    }
}
