package import SheafBytes
package import SheafDocument

/// The types that a statement declares for the fields of a source.
package struct FieldTypes: Sendable {
    private struct Declared: Sendable {
        let part: Part
        let fields: FieldTypes
    }

    private var declared: [[UInt8]: Declared] = [:]
    /// Whether undeclared fields are registers.
    package let isStrict: Bool

    package init(_ types: [FieldType] = [], isStrict: Bool) {
        self.isStrict = isStrict
        for type in types {
            declared[Array(type.name.text.utf8)] =
                switch type.kind {
                case .map(let inner):
                    Declared(part: .map, fields: FieldTypes(inner, isStrict: isStrict))
                case .register: Declared(part: .register, fields: FieldTypes(isStrict: false))
                case .counter: Declared(part: .counter, fields: FieldTypes(isStrict: false))
                case .olderCounter:
                    Declared(part: .olderCounter, fields: FieldTypes(isStrict: false))
                case .attachment:
                    Declared(part: .attachment, fields: FieldTypes(isStrict: false))
                }
        }
    }

    /// Whether all fields are read as their visible parts.
    package var isPlain: Bool { !isStrict && declared.isEmpty }

    /// Whether a row with these types is known to contain exactly the fields stored in `object`.
    func coverAllFields(of object: EncodedObject) -> Bool {
        if isPlain { return true }
        // If the document is damaged, the regular path decodes it and throws.
        return declared.isEmpty && (try? object.hasOnlyRegisters()) == true
    }

    /// Returns the part of a field to read; nil means the visible part.
    package func part(of name: String) -> Part? {
        // This is called for every path, and few statements declare types.
        guard !declared.isEmpty else { return isStrict ? .register : nil }
        if let found = declared[Array(name.utf8)] { return found.part }
        return isStrict ? .register : nil
    }

    /// Whether the statement declares a type for a field.
    func declares(_ name: String) -> Bool { declared[Array(name.utf8)] != nil }

    /// Returns the types of the fields within a field; plain if it is not a declared map.
    package func fields(of name: String) -> FieldTypes {
        guard !declared.isEmpty else { return FieldTypes(isStrict: false) }
        return declared[Array(name.utf8)]?.fields ?? FieldTypes(isStrict: false)
    }

    /// Returns the field types of a map; nil if it is not declared or all of its fields are plain.
    func typesOfMap(at path: [String]) -> FieldTypes? {
        guard !declared.isEmpty else { return nil }
        var types = self
        for name in path.dropLast() { types = types.fields(of: name) }
        guard let last = path.last, types.part(of: last) == .map else { return nil }
        let inner = types.fields(of: last)
        return inner.isPlain ? nil : inner
    }

    /// Whether each name of a path refers to the visible part of its field.
    func isShown(_ path: [String]) -> Bool {
        if isPlain { return true }
        var types = self
        for name in path {
            guard types.part(of: name) == nil else { return false }
            types = types.fields(of: name)
        }
        return true
    }

    /// Returns the field path for names, with the part to read at each name.
    func path(_ path: [String], in names: NameTable) -> FieldPath {
        var types = self
        var steps: [FieldPath.Step] = []
        for name in path {
            steps.append(FieldPath.Step(FieldName(name, in: names), types.part(of: name)))
            types = types.fields(of: name)
        }
        return FieldPath(steps)
    }

    /// Returns the fields of a document as the statement sees them.
    package func value(
        of object: EncodedObject, _ names: NameTable, depth: Int = 1
    ) throws(Malformed) -> Object {
        if isPlain { return try object.value(names, depth: depth) }
        guard depth <= Value.maximumDepth else {
            throw .tooDeep(at: 0, limit: Value.maximumDepth)
        }
        var fields: [Object.Field] = []
        for index in 0..<object.count {
            let name = try object.name(index, names)
            let entry = try object.entry(index)
            let value: Value? =
                switch part(of: name) {
                case nil: try entry.value(names, depth: depth + 1)
                case .map?:
                    try entry.map().map { (map) throws(Malformed) in
                        .object(try self.fields(of: name).value(of: map, names, depth: depth + 1))
                    }
                case let part?: try entry.value(as: part, names, depth: depth + 1)
                }
            if let value { fields.append(Object.Field(name, value)) }
        }
        return Object(sorting: fields)
    }
}
