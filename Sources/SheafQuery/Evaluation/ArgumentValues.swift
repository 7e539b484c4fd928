package import SheafDocument

/// The values of the parameters of a statement, by name.
///
/// Names are compared by bytes. Most statements have few parameters, so one is stored inline and
/// several are stored in a sorted object, without hashing.
package struct ArgumentValues: Sendable {
    private enum Contents: Sendable {
        case one(name: String, Value)
        case unstamped(name: String, UnstampedDocument)
        case any(Object)
    }

    private var contents: Contents

    /// Creates an empty set of arguments.
    package init() {
        contents = .any(Object())
    }

    /// Creates a single argument.
    package init(_ name: String, _ value: Value) {
        contents = .one(name: name, value)
    }

    /// Creates a single argument, which is an encoded document.
    package init(_ name: String, _ document: UnstampedDocument) {
        contents = .unstamped(name: name, document)
    }

    /// Creates an argument for each field.
    package init(_ fields: Object) {
        contents = .any(fields)
    }

    /// Creates an argument for each entry of a dictionary.
    package init(_ values: [String: Value]) {
        if values.count == 1, let (name, value) = values.first {
            contents = .one(name: name, value)
        } else {
            contents = .any(Object(sorting: values.map { Object.Field($0.key, $0.value) }))
        }
    }

    /// Number of arguments.
    package var count: Int {
        switch contents {
        case .one, .unstamped: 1
        case .any(let fields): fields.count
        }
    }

    package var isEmpty: Bool { count == 0 }

    /// The arguments, sorted by name.
    package var fields: Object {
        switch contents {
        case .one(let name, let value): Object(sorting: [Object.Field(name, value)])
        case .unstamped(let name, let document):
            Object(sorting: [Object.Field(name, .object(document.decoded()))])
        case .any(let fields): fields
        }
    }

    /// The value of an argument; nil if it is missing.
    package subscript(name: String) -> Value? {
        switch contents {
        case .one(let own, let value): own.isSpelled(name) ? value : nil
        case .unstamped(let own, let document):
            own.isSpelled(name) ? .object(document.decoded()) : nil
        case .any(let fields): fields[name]
        }
    }

    /// Whether the only argument is an encoded document.
    package var isUnstampedDocument: Bool {
        if case .unstamped = contents { true } else { false }
    }

    /// Returns the encoded document with this name; nil for other arguments.
    func unstampedDocument(_ name: String) -> UnstampedDocument? {
        guard case .unstamped(let own, let document) = contents, own.isSpelled(name) else {
            return nil
        }
        return document
    }

    /// Whether all values satisfy a condition.
    func allSatisfy(_ body: (Value) -> Bool) -> Bool {
        switch contents {
        case .one(_, let value): body(value)
        case .unstamped(_, let document): body(.object(document.decoded()))
        case .any(let fields): fields.allSatisfy { body($0.value) }
        }
    }

    /// Whether the arguments have identical names and values; 1 and 1.0 differ.
    func isIdentical(to other: ArgumentValues) -> Bool {
        if case .one(let name, let value) = contents,
            case .one(let otherName, let otherValue) = other.contents
        {
            return name.isSpelled(otherName) && value.isIdentical(to: otherValue)
        }
        return Value.object(fields).isIdentical(to: .object(other.fields))
    }
}

extension ArgumentValues: ExpressibleByDictionaryLiteral {
    /// Creates arguments from a literal; the last of several equal names wins.
    package init(dictionaryLiteral elements: (String, Value)...) {
        if elements.count == 1 {
            contents = .one(name: elements[0].0, elements[0].1)
        } else {
            contents = .any(Object(elements))
        }
    }
}

extension Value {
    /// Whether a value is identical and not only equal; 1 and 1.0 differ.
    package func isIdentical(to other: Value) -> Bool {
        switch (self, other) {
        case (.null, .null): true
        case (.bool(let left), .bool(let right)): left == right
        case (.integer(let left), .integer(let right)): left == right
        case (.float(let left), .float(let right)): left.bitPattern == right.bitPattern
        case (.string(let left), .string(let right)): left.isSpelled(right)
        case (.bytes(let left), .bytes(let right)): left == right
        case (.array(let left), .array(let right)):
            left.count == right.count && zip(left, right).allSatisfy { $0.isIdentical(to: $1) }
        case (.object(let left), .object(let right)):
            left.count == right.count
                && zip(left, right).allSatisfy {
                    $0.name.isSpelled($1.name) && $0.value.isIdentical(to: $1.value)
                }
        default: false
        }
    }
}
