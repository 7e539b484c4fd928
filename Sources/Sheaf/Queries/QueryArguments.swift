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
    private(set) var values = ArgumentValues()

    /// What is wrong with one of the arguments, or with all of them.
    private var problem: (name: String?, text: String)?

    /// No arguments.
    public init() {}

    /// Arguments that are values already, as they are written; no name may come twice.
    ///
    ///     let arguments = QueryArguments(["color": .string(color)])
    public init(_ values: KeyValuePairs<String, SheafDocument.Value>) {
        guard values.count == 1, values[0].value.canBeArgument else {
            set(values.count) { (values[$0].key, Argument(values[$0].value)) }
            return
        }
        self.values = ArgumentValues(values[0].key, values[0].value)
    }

    // `Value` alone may be what dictionary literals call theirs, depending on what is compiled first.

    // Literals are pairs rather than dictionaries, which take longer to make than a document takes to be
    // found.

    /// Arguments that are values already.
    @_disfavoredOverload
    public init(_ values: [String: SheafDocument.Value]) {
        // Hardly any value is nested too deeply.
        guard !values.values.allSatisfy(\.canBeArgument) else {
            self.values = ArgumentValues(values)
            return
        }
        let values = Array(values)
        set(values.count) { (values[$0].key, Argument(values[$0].value)) }
    }

    /// Arguments that are encoded one by one.
    @_disfavoredOverload
    public init(_ sources: [String: any Encodable]) {
        let sources = Array(sources)
        set(sources.count) { (sources[$0].key, Argument(encoding: sources[$0].value)) }
    }

    /// The fields of a type, which is encoded as an object; fields that are nil are NULL.
    public init(encoding source: some Encodable) {
        switch Argument(encoding: source, keepsNil: true) {
        case .value(.object(let object)):
            values = ArgumentValues(object)
        case .value(let value):
            problem = (nil, "the arguments are the fields of an object, and not \(value.kindText)")
        case .unfit(let text):
            problem = (nil, "the arguments cannot be encoded: \(text)")
        }
    }

    /// No name may come twice.
    public init(dictionaryLiteral elements: (String, (any Encodable)?)...) {
        // One alone is the rule.
        guard elements.count == 1, case .value(let value) = Self.argument(elements[0].1) else {
            set(elements.count) { (elements[$0].0, Self.argument(elements[$0].1)) }
            return
        }
        values = ArgumentValues(elements[0].0, value)
    }

    private static func argument(_ source: (any Encodable)?) -> Argument {
        source.map { Argument(encoding: $0) } ?? .value(.null)
    }

    private mutating func set(_ count: Int, _ argument: (Int) -> (name: String, Argument)) {
        var fields: [Object.Field] = []
        fields.reserveCapacity(count)
        for number in 0..<count {
            let (name, argument) = argument(number)
            switch argument {
            case .value(let value): fields.append(Object.Field(name, value))
            case .unfit(let text): note("the argument \(name) cannot be encoded: \(text)", of: name)
            }
        }
        let object = Object(sorting: fields)
        if object.count < fields.count { noteDoubles(fields.map(\.name)) }
        values = ArgumentValues(object)
    }

    private mutating func noteDoubles(_ names: [String]) {
        let names = names.sorted { UTF8Order.compare($0, $1) < 0 }
        for (name, next) in zip(names, names.dropFirst())
        where UTF8Order.compare(name, next) == 0 {
            note("the argument \(name) is given twice", of: name)
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
