public import SheafDocument
import SheafQuery

/// The values of the parameters of a statement, by their names: `"color"` for `:color`.
///
///     let arguments: QueryArguments = ["color": color, "year": 2020, "note": nil]
///     let arguments = QueryArguments(encoding: CarFilter(color: color, year: 2020))
///
/// Values are whatever is `Encodable`; nil is NULL. What cannot be encoded is an error once a query is
/// run with it. An argument that the statement has no parameter for is passed over.
public struct QueryArguments: Sendable, ExpressibleByDictionaryLiteral {
    private(set) var values: [String: Value] = [:]

    /// What is wrong with one of the arguments, or with all of them.
    private var problem: (name: String?, text: String)?

    /// No arguments.
    public init() {}

    /// Arguments that are values already.
    public init(_ values: [String: Value]) {
        // Hardly any value is nested too deeply, and then they are what they were.
        guard !values.values.allSatisfy(\.canBeArgument) else {
            self.values = values
            return
        }
        for (name, value) in values { set(name, Argument(value)) }
    }

    /// Arguments that are encoded one by one.
    public init(_ sources: [String: any Encodable]) {
        for (name, source) in sources { set(name, Argument(encoding: source)) }
    }

    /// The fields of a type, which is encoded as an object; fields that are nil are NULL.
    public init(encoding source: some Encodable) {
        switch Argument(encoding: source, keepsNil: true) {
        case .value(.object(let object)):
            for field in object { values[field.name] = field.value }
        case .value(let value):
            problem = (nil, "the arguments are the fields of an object, and not \(value.kindText)")
        case .unfit(let text):
            problem = (nil, "the arguments cannot be encoded: \(text)")
        }
    }

    /// No name may come twice.
    public init(dictionaryLiteral elements: (String, (any Encodable)?)...) {
        for (name, source) in elements {
            guard values.isEmpty || values[name] == nil else {
                note("the argument \(name) is given twice", of: name)
                continue
            }
            set(name, source.map { Argument(encoding: $0) } ?? .value(.null))
        }
    }

    private mutating func set(_ name: String, _ argument: Argument) {
        switch argument {
        case .value(let value): values[name] = value
        case .unfit(let text): note("the argument \(name) cannot be encoded: \(text)", of: name)
        }
    }

    /// The problem is always the same one, whatever the order of the names.
    private mutating func note(_ text: String, of name: String) {
        if let other = problem?.name, other < name { return }
        problem = (name, text)
    }

    /// Throws what is wrong with the arguments, with the place of the parameter in a statement.
    func check(for text: String) throws(QueryError) {
        guard let problem else { return }
        let error = QueryError(.argument, problem.text)
        throw problem.name.map { error.located(atParameter: $0, in: text) } ?? error
    }
}

extension Value {
    fileprivate var kindText: String {
        switch kind {
        case .boolean: "a boolean"
        case .number: "a number"
        case .bytes: "bytes"
        case .string: "a string"
        case .array: "an array"
        case .object: "an object"
        case .null: "null"
        }
    }
}
