import SheafBytes

extension HiddenCounter {
    /// Returns the first counter that edits would hide; nil if there is none.
    static func first(
        of edits: [Edit], in document: EncodedDocument, _ names: NameTable
    ) throws(Malformed) -> HiddenCounter? {
        let fields = try document.existingFields()
        var made: [(path: [String], isOlder: Bool)] = []
        for edit in edits {
            switch edit {
            case .set(let path, let value, let mode):
                for (counter, isOlder) in made
                where path.starts(with: counter) || mode.merges(value, path, reaching: counter) {
                    return HiddenCounter(
                        path: counter, isOlder: isOlder,
                        value: path.count == counter.count ? value : nil)
                }
                if let found = try first(on: path[...], [], value, mode, in: fields, names) {
                    return found
                }
            case .increment(let path, _), .restart(let path, _): made.append((path, false))
            case .incrementOlder(let path, _): made.append((path, true))
            case .unset: break
            }
        }
        return nil
    }

    /// Returns the first visible counter on a path, or below it if an object is merged there.
    private static func first(
        on rest: ArraySlice<String>, _ path: [String], _ value: Value, _ mode: Edit.Mode,
        in fields: EncodedObject?, _ names: NameTable
    ) throws(Malformed) -> HiddenCounter? {
        guard let fields else { return nil }
        if let name = rest.first {
            return try first(
                at: name, rest.dropFirst(), path, value, mode, in: fields, names)
        }
        guard case .merging = mode, case .object(let object) = value, !object.isAttachmentToken
        else { return nil }
        for field in object {
            if let found = try first(at: field.name, [], path, field.value, mode, in: fields, names)
            {
                return found
            }
        }
        return nil
    }

    private static func first(
        at name: String, _ rest: ArraySlice<String>, _ path: [String], _ value: Value,
        _ mode: Edit.Mode, in fields: EncodedObject, _ names: NameTable
    ) throws(Malformed) -> HiddenCounter? {
        guard let shown = try fields.find(FieldName(name, in: names))?.shown() else { return nil }
        let path = path + [name]
        switch try shown.tag().part {
        case .counter?, .olderCounter?:
            return HiddenCounter(
                path: path, isOlder: try shown.tag().part == .olderCounter,
                value: rest.isEmpty ? value : nil)
        case .map?:
            return try first(on: rest, path, value, mode, in: try shown.object(), names)
        default: return nil
        }
    }
}

extension Edit.Mode {
    /// Whether merging an object at a path sets the field at a longer path.
    fileprivate func merges(_ value: Value, _ path: [String], reaching longer: [String]) -> Bool {
        guard case .merging = self, longer.starts(with: path) else { return false }
        var value = value
        for name in longer.dropFirst(path.count) {
            guard case .object(let object) = value, let next = object[name] else { return false }
            value = next
        }
        return true
    }
}
