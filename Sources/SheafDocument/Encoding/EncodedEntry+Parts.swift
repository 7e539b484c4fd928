package import SheafBytes

/// What a field holds of the part that somebody declares, whether it shows or not.
extension EncodedEntry {
    /// The map at a field.
    package func map() throws(Malformed) -> EncodedObject? {
        var object: EncodedObject?
        try forEachEntry { (entry) throws(Malformed) in
            let tag = try entry.tag()
            if tag == .map || tag == .bareMap { object = try entry.object() }
        }
        return object
    }

    /// What one part of a field shows; nil where it is not there.
    package func value(
        as part: Part, _ names: NameTable, depth: Int = 1
    ) throws(Malformed) -> Value? {
        var latest: EncodedEntry?
        try forEachEntry { (entry) throws(Malformed) in
            guard latest == nil, try entry.tag().part == part, try entry.isVisible() else {
                return
            }
            // The latest dot of a part comes first.
            latest = entry
        }
        guard let latest else { return nil }
        switch part {
        case .register, .attachment, .map: return try latest.value(names, depth: depth)
        case .counter: return try counter().value
        case .olderCounter: return try olderCounter().value
        }
    }
}

extension EncodedObject {
    /// Whether each field is one register and nothing else, so that registers are all there is to show.
    package func hasOnlyRegisters() throws(Malformed) -> Bool {
        for index in 0..<count {
            guard try entry(index).tag().isValue else { return false }
        }
        return true
    }
}

extension EncodedDocument {
    /// The document as a user sees it, without its id; nil where it does not exist.
    package func value(_ names: NameTable) throws(Malformed) -> Object? {
        guard try exists(), let fields = try fields() else { return nil }
        return try fields.value(names)
    }

    /// What stands at the end of a path of maps.
    package func entry(
        at path: [String], _ names: NameTable
    ) throws(Malformed) -> EncodedEntry? {
        var fields = try fields()
        var entry: EncodedEntry?
        for name in path {
            guard let object = fields else { return nil }
            entry = try object.find(FieldName(name, in: names))
            fields = try entry?.map()
        }
        return entry
    }
}
