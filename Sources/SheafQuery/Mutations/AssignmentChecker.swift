import SheafDocument

/// A checker of the assignments of an UPDATE, which resolves their paths and types.
struct AssignmentChecker {
    let text: String
    /// Alias or name of the collection, with which a path may begin.
    let source: String
    let types: FieldTypes

    /// Returns the path of an assignment from the root of the document.
    func path(of assignment: Assignment) throws(StoreError) -> [String] {
        let (path, part) = Self.target(of: assignment)
        let names = relative(path)
        guard names[0] != Row.idName else {
            throw StoreError(
                .meaning, "_id cannot be changed", hint: "insert a new document instead",
                at: path.range, in: text)
        }
        try checkWay(to: names, path)
        if let part, let declared = declaredPart(of: names), declared != part {
            throw StoreError(
                .meaning,
                "\(names.joined(separator: ".")) is \(Self.word(for: declared)), "
                    + "and cannot be changed as \(Self.word(for: part))",
                hint: types.isStrict ? declaration(of: names[...], as: part) : nil,
                at: path.range, in: text)
        }
        return names
    }

    /// Returns the edit of SET; an attachment token is an attachment unless another type is
    /// declared.
    func edit(
        _ path: [String], to value: Value, as mode: Edit.Mode, at range: SourceRange
    ) throws(StoreError) -> Edit {
        guard mode != .attachment, case .object(let object) = value, object.isAttachmentToken else {
            return .set(path: path, to: value, as: mode)
        }
        var types = types
        for name in path.dropLast() { types = types.fields(of: name) }
        guard types.declares(path[path.count - 1]) else {
            return .set(path: path, to: value, as: .attachment)
        }
        guard mode == .register else {
            throw StoreError.tokenInMap(path, at: range, in: text)
        }
        return .set(path: path, to: value, as: mode)
    }

    /// Returns how SET stores its value.
    func mode(for assignment: Assignment) throws(StoreError) -> Edit.Mode {
        let (path, _) = Self.target(of: assignment)
        switch declaredPart(of: relative(path)) {
        case nil, .map?: return .merging
        case .register?: return .register
        case .attachment?: return .attachment
        case .counter?:
            throw StoreError(
                .meaning, "a COUNTER cannot be set",
                hint: "write APPLY .. RESTART WITH or INCREMENT BY",
                at: path.range, in: text)
        case .olderCounter?:
            throw StoreError(
                .meaning, "a PN_COUNTER cannot be set", hint: "write APPLY .. PN_INCREMENT BY",
                at: path.range, in: text)
        }
    }

    /// Returns the parts that UNSET removes: the declared part, or all parts.
    func parts(of path: [String]) -> PartSet {
        declaredPart(of: path).map { PartSet($0) } ?? .all
    }

    private static func target(of assignment: Assignment) -> (Path, Part?) {
        switch assignment {
        case .set(let path, _), .unset(let path): (path, nil)
        case .increment(let path, _), .restart(let path, _): (path, .counter)
        case .incrementOlder(let path, _): (path, .olderCounter)
        }
    }

    private func relative(_ path: Path) -> [String] {
        guard path.names.count > 1, path.names[0].isSpelled(source) else { return path.names }
        return Array(path.names.dropFirst())
    }

    /// Throws if the path leads through a field declared as anything but a map.
    private func checkWay(to names: [String], _ path: Path) throws(StoreError) {
        var types = types
        for (index, name) in names.dropLast().enumerated() {
            if let part = types.part(of: name), part != .map {
                throw StoreError(
                    .meaning,
                    "\(name) is \(Self.word(for: part)); its fields cannot be changed alone",
                    hint: types.isStrict ? declaration(of: names[...index], as: .map) : nil,
                    at: path.range, in: text)
            }
            types = types.fields(of: name)
        }
    }

    /// Returns the hint to declare a field with its enclosing maps.
    private func declaration(of names: ArraySlice<String>, as part: Part) -> String {
        var declaration = ""
        for (index, name) in names.reversed().enumerated() {
            let word = Self.word(for: index == 0 ? part : .map).drop { $0 != " " }.dropFirst()
            declaration = "\(name) \(word)" + (index == 0 ? "" : "(\(declaration))")
        }
        return "declare it: COLLECTION \(source) (\(declaration))"
    }

    private func declaredPart(of names: [String]) -> Part? {
        var types = types
        for name in names.dropLast() { types = types.fields(of: name) }
        return types.part(of: names[names.count - 1])
    }

    private static func word(for part: Part) -> String {
        switch part {
        case .register: "a REGISTER"
        case .attachment: "an ATTACHMENT"
        case .map: "a MAP"
        case .counter: "a COUNTER"
        case .olderCounter: "a PN_COUNTER"
        }
    }
}

extension StoreError {
    /// Creates the error for an attachment token in a field declared as a map.
    fileprivate static func tokenInMap(
        _ path: [String], at range: SourceRange, in text: String
    ) -> StoreError {
        StoreError(
            .argument,
            "\(path.joined(separator: ".")) is a MAP, but the value is an attachment token",
            hint: "declare the field as ATTACHMENT, or leave its type out", at: range, in: text)
    }
}

/// A splitter of documents into plainly inserted fields and edits of fields with declared types.
struct InsertionTyper {
    let text: String
    let range: SourceRange

    func split(
        _ object: Object, _ types: FieldTypes, isInitial: Bool
    ) throws(StoreError) -> (object: Object, edits: [Edit]) {
        guard !types.isPlain else { return (object, []) }
        var edits: [Edit] = []
        let plain = try split(object, types, [], &edits)
        guard edits.isEmpty || !isInitial else {
            throw StoreError(
                .meaning, "INITIAL documents can contain only maps and registers of plain values",
                hint: "declare objects as MAP and leave other types out, or INSERT without INITIAL",
                at: range, in: text)
        }
        return (plain, edits)
    }

    private func split(
        _ object: Object, _ types: FieldTypes, _ path: [String], _ edits: inout [Edit]
    ) throws(StoreError) -> Object {
        var plain = Object()
        for field in object {
            let fieldPath = path + [field.name]
            switch (types.part(of: field.name), field.value) {
            case (nil, _): plain[field.name] = field.value
            case (let part?, .object(let inner))
            where inner.isAttachmentToken && ![.counter, .olderCounter].contains(part):
                switch (part, types.declares(field.name)) {
                case (.map, true): throw StoreError.tokenInMap(fieldPath, at: range, in: text)
                case (.register, true):
                    edits.append(.set(path: fieldPath, to: field.value, as: .register))
                // An attachment token is an attachment even if the field is not declared as one.
                default: plain[field.name] = field.value
                }
            case (.map?, .object(let inner)):
                plain[field.name] = .object(
                    try split(inner, types.fields(of: field.name), fieldPath, &edits))
            case (.register?, .object):
                edits.append(.set(path: fieldPath, to: field.value, as: .register))
            case (.map?, _), (.register?, _): plain[field.name] = field.value
            case (.attachment?, _):
                edits.append(.set(path: fieldPath, to: field.value, as: .attachment))
            case (.counter?, let value), (.olderCounter?, let value):
                guard let number = Number(value) else {
                    throw StoreError(
                        .argument,
                        "\(fieldPath.joined(separator: ".")) is a counter and cannot start at "
                            + value.json, at: range, in: text)
                }
                edits.append(
                    types.part(of: field.name) == .counter
                        ? .restart(path: fieldPath, with: number)
                        : .incrementOlder(path: fieldPath, by: number))
            }
        }
        return plain
    }
}
