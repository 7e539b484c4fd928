package import SheafBytes

extension EncodedDocument {
    /// Maximum number of spelled-out names of an object; more of them are data, and get no numbers.
    private static let maximumSpelledFields = 128

    /// Calls `body` with each spelled-out name, except those of objects with too many.
    package func forEachSpelledName(
        _ body: (UnsafeRawBufferPointer) -> Void
    ) throws(Malformed) {
        guard try root.tag() != .noRoot else { return }
        try visitObjects(in: root, depth: 1) { (object) throws(Malformed) in
            guard object.count - object.numberedCount <= Self.maximumSpelledFields else { return }
            for index in object.numberedCount..<object.count {
                body(try object.spellingBytes(index))
            }
        }
    }

    /// Calls `body` with each object and map in an entry.
    func visitObjects(
        in field: EncodedEntry, depth: Int,
        _ body: (EncodedObject) throws(Malformed) -> Void
    ) throws(Malformed) {
        guard depth <= Value.maximumDepth else { return }
        try field.forEachEntry { (entry) throws(Malformed) in
            switch try entry.tag() {
            case .map, .bareMap, .object:
                let object = try entry.object()
                try body(object)
                for index in 0..<object.count {
                    let inner = try object.entry(index)
                    if inner.mayHoldNames { try visitObjects(in: inner, depth: depth + 1, body) }
                }
            case .array:
                let array = try entry.array()
                for index in 0..<array.count {
                    let inner = try array.element(index)
                    if inner.mayHoldNames { try visitObjects(in: inner, depth: depth + 1, body) }
                }
            case .token:
                try visitObjects(in: try entry.inner(), depth: depth + 1, body)
            default: break
            }
        }
    }
}

extension EncodedEntry {
    /// Whether the entry may contain objects at any depth.
    var mayHoldNames: Bool {
        guard let tag = Tag(rawValue: rawTag & ~Tag.referenceBit) else { return true }
        return switch tag {
        case .map, .bareMap, .object, .array, .token, .several: true
        default: false
        }
    }
}
