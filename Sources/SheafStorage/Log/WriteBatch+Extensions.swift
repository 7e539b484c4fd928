import SheafBytes

extension WriteBatch {
    /// The bytes of a key, compared where they lie.
    private struct KeyBytes: Hashable {
        let bytes: UnsafeRawBufferPointer

        static func == (left: KeyBytes, right: KeyBytes) -> Bool {
            left.bytes.compare(right.bytes) == 0
        }

        func hash(into hasher: inout Hasher) {
            hasher.combine(bytes: bytes)
        }
    }

    /// Where the keys are that must have a payload before the batch; an error if one that is
    /// extended cannot have any, since the batch removes it first.
    func keysToExtend() throws(StorageError) -> [Range<Int>] {
        try bytes.span.withUnsafeBytes { bytes throws(StorageError) in
            var found: [Range<Int>] = []
            // Whether a key has a payload, as far as the batch decides it.
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
                case .extend:
                    let known = isPresent.updateValue(true, forKey: key)
                    if known == false { throw .nothingToExtend(key: Array(key.bytes)) }
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
