public import SheafDocument
import SheafEngine
import SheafQuery

/// The values of a statement's parameters, by name: `"color"` for `:color`.
///
///     let arguments: QueryArguments = ["color": color, "year": 2020, "note": nil]
///     let arguments = QueryArguments(encoding: CarFilter(color: color, year: 2020))
///
/// A value can be any `Encodable`; nil is NULL. A value that cannot be encoded is an error when a
/// query is run with it. Arguments without a parameter in the statement are ignored.
public struct QueryArguments: Sendable, ExpressibleByDictionaryLiteral {
    private(set) var values = ArgumentValues()

    /// The error of the named argument, or of all arguments if the name is nil.
    private var problem: (name: String?, text: String)?

    /// Creates empty arguments.
    public init() {}

    /// Creates arguments from a literal of values; a duplicate name fails when a query is run.
    ///
    ///     let arguments = QueryArguments(["color": .string(color)])
    public init(_ values: KeyValuePairs<String, SheafDocument.Value>) {
        if values.count == 1 {
            let (name, value) = values[0]
            if value.canBeArgument {
                self.values = ArgumentValues(name, value)
                return
            }
        }
        set(values.count) { (values[$0].key, Argument(values[$0].value)) }
    }

    /// Creates an argument that is an encoded document.
    package init(_ name: String, _ document: UnstampedDocument) {
        values = ArgumentValues(name, document)
    }

    // `Value` is qualified: it may resolve to `ExpressibleByDictionaryLiteral.Value`, depending on
    // the order of compilation.

    // Literals become pairs: building a dictionary takes longer than a point lookup.

    /// Creates arguments from values.
    @_disfavoredOverload
    public init(_ values: [String: SheafDocument.Value]) {
        // Usually no value is nested too deeply.
        guard !values.values.allSatisfy(\.canBeArgument) else {
            self.values = ArgumentValues(values)
            return
        }
        let values = Array(values)
        set(values.count) { (values[$0].key, Argument(values[$0].value)) }
    }

    /// Creates arguments by encoding each value.
    @_disfavoredOverload
    public init(_ sources: [String: any Encodable]) {
        let sources = Array(sources)
        set(sources.count) { (sources[$0].key, Argument(encoding: sources[$0].value)) }
    }

    /// Creates arguments from the fields of an encoded object; fields that are nil are NULL.
    public init(encoding source: some Encodable) {
        switch Argument(encoding: source, keepsNil: true) {
        case .value(.object(let object)):
            values = ArgumentValues(object)
        case .value(let value):
            problem = (nil, "the arguments must be encoded as an object, not as \(value.kindText)")
        case .invalid(let text):
            problem = (nil, "the arguments cannot be encoded: \(text)")
        }
    }

    /// Creates arguments from a literal; a duplicate name fails when a query is run.
    public init(dictionaryLiteral elements: (String, (any Encodable)?)...) {
        // A single argument is the most frequent case.
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
            case .invalid(let text):
                recordProblem("the argument \(name) cannot be encoded: \(text)", of: name)
            }
        }
        let object = Object(sorting: fields)
        if object.count < fields.count { recordDuplicates(fields.map(\.name)) }
        values = ArgumentValues(object)
    }

    private mutating func recordDuplicates(_ names: [String]) {
        let names = names.sorted { UTF8Order.compare($0, $1) < 0 }
        for (name, next) in zip(names, names.dropFirst())
        where UTF8Order.compare(name, next) == 0 {
            recordProblem("the argument \(name) is given twice", of: name)
        }
    }

    /// Keeps the error of the first name in sort order, independent of the order of arguments.
    private mutating func recordProblem(_ text: String, of name: String) {
        if let other = problem?.name, other < name { return }
        problem = (name, text)
    }

    /// Throws the error of the arguments, if any, located at the parameter in the statement.
    func check(for text: String) throws(StoreError) {
        guard let problem else { return }
        let error = StoreError(.argument, problem.text)
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
