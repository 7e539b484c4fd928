package import SheafBytes

/// Edits that turn one object into another within a document, whose other fields are kept.
package struct Replacement {
    private(set) var edits: [Edit] = []
    private let names: NameTable
    /// Whether objects are registers, and not maps.
    private let isStrict: Bool

    /// Returns the edits of a document's fields that turn `old` into `new`.
    ///
    /// The stored form of each field decides how an object is written: the fields of a map are
    /// written one by one, and a register is written as a whole. A counter is incremented by the
    /// difference. Without `old`, the fields of `new` replace those of the same names.
    package static func edits(
        of fields: EncodedObject, from old: Object?, to new: Object, _ names: NameTable,
        isStrict: Bool
    ) throws(Malformed) -> [Edit] {
        var replacement = Replacement(names: names, isStrict: isStrict)
        var before = old ?? Object()
        if old == nil {
            for field in new {
                before[field.name] = try fields.find(FieldName(field.name, in: names))?
                    .value(names, depth: 1)
            }
        }
        try replacement.record(before, new, in: fields, path: [], depth: 1)
        return replacement.edits
    }

    private init(names: NameTable, isStrict: Bool) {
        self.names = names
        self.isStrict = isStrict
    }

    private mutating func record(
        _ old: Object, _ new: Object, in fields: EncodedObject, path: [String], depth: Int
    ) throws(Malformed) {
        for field in new {
            let before = old[field.name]
            // Equal numbers of two types are equal in queries, but differ in documents.
            if let before, SortKey.bytes(of: before) == SortKey.bytes(of: field.value) { continue }
            let entry = try fields.find(FieldName(field.name, in: names))
            try record(
                before, field.value, at: path + [field.name], stored: entry, depth: depth)
        }
        for field in old where new[field.name] == nil {
            edits.append(.unset(path: path + [field.name]))
        }
    }

    private mutating func record(
        _ before: Value?, _ value: Value, at path: [String], stored entry: EncodedEntry?, depth: Int
    ) throws(Malformed) {
        let shown = try entry?.shown()
        let tag = try shown?.tag()
        if let before = before.flatMap(Number.init), let number = Number(value) {
            let difference = Self.difference(number, before)
            switch tag {
            case .sum, .restart: return edits.append(.increment(path: path, by: difference))
            case .olderSum: return edits.append(.incrementOlder(path: path, by: difference))
            default: break
            }
        }
        guard case .object(let object) = value, !object.isAttachmentToken else {
            // A hidden map would show its fields again as soon as the value is an object.
            if tag == .map || tag == .bareMap { edits.append(.unset(path: path)) }
            return edits.append(.set(path: path, to: value, as: isStrict ? .register : .merging))
        }
        guard !isStrict else { return edits.append(.set(path: path, to: value, as: .register)) }
        guard case .object(let other)? = before, !other.isAttachmentToken else {
            if entry != nil { edits.append(.unset(path: path)) }
            return edits.append(.set(path: path, to: value))
        }
        switch tag {
        case .map?, .bareMap?:
            guard let inner = try shown?.object() else { return }
            try record(other, object, in: inner, path: path, depth: depth + 1)
        case nil: edits.append(.set(path: path, to: value))
        default:
            var merged = Object()
            if case .object(let stored)? = try entry?.value(names, depth: depth) { merged = stored }
            Self.merge(other, object, into: &merged)
            edits.append(.set(path: path, to: .object(merged), as: .register))
        }
    }

    /// Applies the differences of two objects to a third one.
    private static func merge(_ old: Object, _ new: Object, into merged: inout Object) {
        for field in old where new[field.name] == nil { merged[field.name] = nil }
        for field in new {
            if case .object(let inner) = field.value, case .object(let before)? = old[field.name],
                case .object(var target)? = merged[field.name]
            {
                merge(before, inner, into: &target)
                merged[field.name] = .object(target)
            } else if old[field.name].map({ SortKey.bytes(of: $0) })
                != SortKey.bytes(of: field.value) || merged[field.name] == nil
            {
                merged[field.name] = field.value
            }
        }
    }

    private static func difference(_ new: Number, _ old: Number) -> Number {
        if case .integer(let new) = new, case .integer(let old) = old {
            let (difference, overflows) = new.subtractingReportingOverflow(old)
            if !overflows { return .integer(difference) }
        }
        return .float((new.value.double ?? 0) - (old.value.double ?? 0))
    }
}
