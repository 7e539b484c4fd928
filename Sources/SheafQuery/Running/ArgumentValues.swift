package import SheafDocument

/// The values of the parameters of a statement, by their names.
///
/// Names are told apart by their bytes. Nearly all statements have one or a few: one alone lies here,
/// and several lie in their order, so that none of them is ever hashed.
package struct ArgumentValues: Sendable {
    private enum Contents: Sendable {
        case one(name: String, Value)
        case any(Object)
    }

    private var contents: Contents

    /// No arguments.
    package init() {
        contents = .any(Object())
    }

    /// One argument.
    package init(_ name: String, _ value: Value) {
        contents = .one(name: name, value)
    }

    /// An argument for each field.
    package init(_ fields: Object) {
        contents = .any(fields)
    }

    /// The arguments of a dictionary.
    package init(_ values: [String: Value]) {
        if values.count == 1, let (name, value) = values.first {
            contents = .one(name: name, value)
        } else {
            contents = .any(Object(sorting: values.map { Object.Field($0.key, $0.value) }))
        }
    }

    /// How many there are.
    package var count: Int {
        switch contents {
        case .one: 1
        case .any(let fields): fields.count
        }
    }

    package var isEmpty: Bool { count == 0 }

    /// The arguments in the order of their names.
    package var fields: Object {
        switch contents {
        case .one(let name, let value): Object(sorting: [Object.Field(name, value)])
        case .any(let fields): fields
        }
    }

    /// The value of an argument; none where it is missing.
    package subscript(name: String) -> Value? {
        switch contents {
        case .one(let own, let value): own.isSpelled(name) ? value : nil
        case .any(let fields): fields[name]
        }
    }

    /// Whether all values hold what `body` asks.
    func allSatisfy(_ body: (Value) -> Bool) -> Bool {
        switch contents {
        case .one(_, let value): body(value)
        case .any(let fields): fields.allSatisfy { body($0.value) }
        }
    }

    /// Whether there are the same arguments, and not only equal ones.
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
    /// Of two arguments with one name the later stays.
    package init(dictionaryLiteral elements: (String, Value)...) {
        if elements.count == 1 {
            contents = .one(name: elements[0].0, elements[0].1)
        } else {
            contents = .any(Object(elements))
        }
    }
}
