package import SheafBytes

/// A path of resolved field names.
package struct FieldPath: Sendable {
    /// A field name, and the part of the field to follow.
    package struct Step: Sendable {
        package let name: FieldName
        /// The part of the field; nil for the visible one.
        package let part: Part?

        package init(_ name: FieldName, _ part: Part? = nil) {
            self.name = name
            self.part = part
        }
    }

    package let steps: [Step]

    package init(_ steps: [Step]) {
        self.steps = steps
    }

    /// Creates a path through visible parts.
    package init(_ path: [String], in names: NameTable) {
        self.init(path.map { Step(FieldName($0, in: names)) })
    }

    /// Whether the path follows the visible part at each step.
    package var isShown: Bool { steps.allSatisfy { $0.part == nil } }

    /// The numbers of the names; nil if a name has none or a step selects another part.
    package var visibleNumbers: [UInt32]? {
        guard isShown, steps.allSatisfy({ $0.name.number != FieldName.noNumber }) else {
            return nil
        }
        return steps.map(\.name.number)
    }

    /// The names of the path.
    package var names: [String] {
        steps.map { String(decoding: $0.name.spelling, as: UTF8.self) }
    }

    /// Returns the field at the path; nil if there is none.
    ///
    /// The field may have several entries: a counter is the sum of all of them.
    @inline(__always)
    package func find(in fields: borrowing EncodedObject) throws(Malformed) -> EncodedEntry? {
        if steps.count == 1 { return try fields.find(steps[0].name) }
        return try follow(copy fields)
    }

    private func follow(_ fields: EncodedObject) throws(Malformed) -> EncodedEntry? {
        var object = fields
        for (index, step) in steps.enumerated() {
            guard let entry = try object.find(step.name) else { return nil }
            if index == steps.count - 1 { return entry }
            let found =
                if let part = step.part { try entry.latest(of: part) } else { try entry.shown() }
            guard let next = try found?.fieldsWithin() else { return nil }
            object = next
        }
        return nil
    }

    /// Returns the element at the path, which refers to the bytes of the document.
    package func element(
        in fields: borrowing EncodedObject
    ) throws(Malformed) -> FieldElement {
        try FieldElement(try find(in: fields))
    }

    /// Returns the value at the path; nil if there is none.
    package func value(
        in fields: EncodedObject, _ names: NameTable
    ) throws(Malformed) -> Value? {
        guard let entry = try find(in: fields) else { return nil }
        if let part = steps.last?.part {
            return try entry.value(as: part, names, depth: steps.count)
        }
        return try entry.value(names, depth: steps.count)
    }
}

extension EncodedEntry {
    /// Returns the fields of a map, object value or token; nil for other entries.
    fileprivate func fieldsWithin() throws(Malformed) -> EncodedObject? {
        switch try tag() {
        case .map, .bareMap, .object: return try object()
        case .token:
            let value = try inner()
            return try value.tag() == .object ? try value.object() : nil
        default: return nil
        }
    }

    /// Returns the latest visible entry of a part.
    fileprivate func latest(of part: Part) throws(Malformed) -> EncodedEntry? {
        var latest: EncodedEntry?
        try forEachEntry { (entry) throws(Malformed) in
            if latest == nil, try entry.tag().part == part, try entry.isVisible() {
                latest = entry
            }
        }
        return latest
    }
}
