import SheafDocument
import SheafQuery

extension Query {
    /// All arguments of a run: those that were interpolated, and those that have names.
    func bind(_ named: QueryArguments) throws(QueryError) -> ArgumentValues {
        try named.check(for: text)
        guard !arguments.isEmpty else { return named.values }
        var fields = Array(named.values.fields)
        fields.reserveCapacity(fields.count + arguments.count)
        let places = pieces.lazy.filter { $0.kind == .value }.map(\.range)
        for (index, (argument, range)) in zip(arguments, places).enumerated() {
            let name = Self.name(ofArgument: index + 1)
            switch argument {
            case .unfit(let problem):
                throw QueryError(
                    .argument, "the interpolated value :\(name) cannot be encoded: \(problem)",
                    at: range, in: text)
            case .value(let value):
                guard named.values[name] == nil else {
                    throw QueryError(
                        .argument, "the argument \(name) is given beside the interpolated value",
                        hint: "give it another name", at: range, in: text)
                }
                fields.append(Object.Field(name, value))
            }
        }
        return ArgumentValues(Object(sorting: fields))
    }
}
