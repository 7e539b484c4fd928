package import SheafBytes

extension EncodedDocument {
    /// What a user sees at a path; nil where there is nothing.
    ///
    /// It is what a walk along the path through the whole value finds, of which nothing else is read.
    package func value(at path: [FieldName], _ names: NameTable) throws(Malformed) -> Value? {
        guard var fields = try fields(), let last = path.last else { return nil }
        var isPlain = false
        for name in path.dropLast() {
            guard let entry = try fields.find(name),
                let inner = try entry.objectForUsers(isPlain: &isPlain)
            else { return nil }
            fields = inner
        }
        guard let entry = try fields.find(last) else { return nil }
        let depth = min(path.count + 1, Value.maximumDepth)
        return isPlain
            ? try entry.plainValue(names, depth: depth) : try entry.value(names, depth: depth)
    }
}

extension EncodedEntry {
    /// The fields of the object that a user sees here; nil where that is something else.
    ///
    /// Within an object that was set as one value, all is `isPlain`.
    fileprivate func objectForUsers(isPlain: inout Bool) throws(Malformed) -> EncodedObject? {
        guard !isPlain else { return try tag() == .object ? try object() : nil }
        guard let shown = try shown() else { return nil }
        switch try shown.tag() {
        case .map, .bareMap: return try shown.object()
        case .object:
            isPlain = true
            return try shown.object()
        case .token:
            let inner = try shown.inner()
            isPlain = true
            return try inner.tag() == .object ? try inner.object() : nil
        default: return nil
        }
    }
}
