package import SheafBytes

extension EncodedDocument {
    /// Returns the visible value at a path; nil if there is none.
    ///
    /// Equivalent to following the path in the decoded document, but decodes only the value.
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
    /// Returns the fields of the visible object; nil for other values.
    ///
    /// Sets `isPlain` within an object that was set as one value.
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
