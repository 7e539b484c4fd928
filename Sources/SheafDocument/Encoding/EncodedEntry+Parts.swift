package import SheafBytes

/// Access to one part of a field, whether it is visible or not.
extension EncodedEntry {
    /// Returns the fields of the map; nil if the field has no map.
    package func map() throws(Malformed) -> EncodedObject? {
        var object: EncodedObject?
        try forEachEntry { (entry) throws(Malformed) in
            let tag = try entry.tag()
            if tag == .map || tag == .bareMap { object = try entry.object() }
        }
        return object
    }

    /// Returns the value of one part of the field; nil if it has none.
    package func value(
        as part: Part, _ names: NameTable, depth: Int = 1
    ) throws(Malformed) -> Value? {
        var latest: EncodedEntry?
        try forEachEntry { (entry) throws(Malformed) in
            guard latest == nil, try entry.tag().part == part, try entry.isVisible() else {
                return
            }
            // The latest dot of a part is its first entry.
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
    /// Whether all fields have exactly one register.
    package func hasOnlyRegisters() throws(Malformed) -> Bool {
        for index in 0..<count {
            guard try entry(index).tag().isValue else { return false }
        }
        return true
    }
}

extension EncodedDocument {
    /// Returns the visible fields of the document, without its id; nil if it does not exist.
    package func value(_ names: NameTable) throws(Malformed) -> Object? {
        guard try exists(), let fields = try fields() else { return nil }
        return try fields.value(names)
    }

    /// Returns the entry at the end of a path of maps.
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
