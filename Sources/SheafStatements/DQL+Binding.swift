package import SheafDocument
import SheafEngine
package import SheafQuery

extension DQL {
    /// Returns all arguments of a run: the interpolated and the named ones.
    package func bind(_ named: QueryArguments) throws(StoreError) -> ArgumentValues {
        try named.check(for: text)
        guard !arguments.isEmpty else { return named.values }
        var fields = Array(named.values.fields)
        fields.reserveCapacity(fields.count + arguments.count)
        let ranges = interpolations.lazy.filter { $0.kind == .value }.map(\.range)
        for (index, (argument, range)) in zip(arguments, ranges).enumerated() {
            let name = Self.name(ofArgument: index + 1)
            switch argument.argument(ValueCoding()) {
            case .invalid(let problem):
                throw StoreError(
                    .argument, "the interpolated value :\(name) cannot be encoded: \(problem)",
                    at: range, in: text)
            case .value(let value):
                guard named.values[name] == nil else {
                    throw StoreError(
                        .argument, "the argument \(name) has the name of an interpolated value",
                        hint: "rename the argument", at: range, in: text)
                }
                fields.append(Object.Field(name, value))
            }
        }
        return ArgumentValues(Object(sorting: fields))
    }

    /// Returns the query with its dates, decimals and durations in a coding.
    package func coded(_ coding: ValueCoding) -> DQL {
        guard coding != ValueCoding() else { return self }
        var query = self
        query.arguments = arguments.map { .fixed($0.argument(coding)) }
        return query
    }
}
