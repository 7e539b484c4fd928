import SheafBytes
import SheafDocument
import SheafText

/// The earlier states that sources read.
extension PlanEnvironment {
    /// Finds the state of a source with AS OF; throws if the store does not have it any more.
    func resolvePast(_ source: Source, _ compiler: ExpressionCompiler) throws(StoreError) {
        guard let asOf = source.asOf, pastStores[source.name.range.lower] == nil else { return }
        guard !isVirtual(source) else {
            throw StoreError(
                .meaning, "\(source.name.text) has no earlier states",
                hint: "AS OF reads collections of documents", page: "asof",
                at: source.name.range, in: text)
        }
        let (point, expression) = try Self.point(asOf, compiler)
        do throws(StoreError) {
            pastStores[source.name.range.lower] = try store.past(point)
        } catch {
            throw error.located(at: expression.range, in: text)
        }
    }

    /// Returns the store in the state that a source reads.
    func store(of source: Source) -> any QueryStore {
        pastStores[source.name.range.lower] ?? store
    }

    private static func point(
        _ asOf: AsOf, _ compiler: ExpressionCompiler
    ) throws(StoreError) -> (PastPoint, Expression) {
        switch asOf {
        case .commit(let expression):
            let value = try compiler.constant(expression, for: "AS OF COMMIT")
            guard let point = PastPoint(commit: value) else {
                throw compiler.error(
                    .argument,
                    "AS OF COMMIT takes the number of a commit, not "
                        + "\(value?.json.shortened ?? "MISSING")", expression)
            }
            return (point, expression)
        case .time(let expression):
            let value = try compiler.constant(expression, for: "AS OF")
            guard let point = PastPoint(time: value) else {
                throw compiler.error(
                    .argument,
                    "AS OF takes a time such as '2026-11-20T10:00:00Z', or milliseconds since "
                        + "1970, not \(value?.json.shortened ?? "MISSING")",
                    hint: "for the state after a commit, write AS OF COMMIT and its number",
                    expression)
            }
            return (point, expression)
        }
    }
}
