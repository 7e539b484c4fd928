import SheafDocument
import SheafQuery
import Testing

/// The plan that a statement keeps for its next run.
@Suite struct PlanCacheTests {
    // The ids belong to the plan, which therefore is not one for other arguments.
    private static let text = "SELECT :v AS v FROM c USE IDS 'a'"
    private let store = EmptyStore(hasCollections: true)

    /// Runs a statement; returns whether the run has planned it.
    private func isPlanned(
        _ statement: Statement, _ argument: Value, isStrict: Bool = false
    ) throws -> Bool {
        let options = QueryOptions(
            arguments: ArgumentValues("v", argument), now: 0, isStrict: isStrict, clock: { 0 },
            newID: { 0 })
        let before = store.lookups
        _ = try QueryRun(statement, on: store, options).rows()
        return store.lookups > before
    }

    private func setCommit(_ commit: UInt64) {
        store.planState = PlanState(store: 1, commit: commit, nameCount: 0, hasIndexes: false)
    }

    @Test func `a statement is planned again only if an input of its plan has changed`() throws {
        let statement = try Parser.parse(Self.text)
        setCommit(1)
        #expect(try isPlanned(statement, 1))
        #expect(try !isPlanned(statement, 1))
        #expect(try isPlanned(statement, .float(1)))
        #expect(try !isPlanned(statement, .float(1)))
        #expect(try isPlanned(statement, .float(1), isStrict: true))
        #expect(try !isPlanned(statement, .float(1), isStrict: true))
        setCommit(2)
        #expect(try isPlanned(statement, .float(1), isStrict: true))
        #expect(try !isPlanned(statement, .float(1), isStrict: true))
    }

    @Test func `a store that is used only once keeps no plans`() throws {
        let statement = try Parser.parse(Self.text)
        for _ in 0..<2 { #expect(try isPlanned(statement, 1)) }
    }

    @Test func `a plan with a large argument is not kept`() throws {
        setCommit(1)
        let arguments: [(Value, isKept: Bool)] = [
            (.string(String(repeating: "x", count: 256)), true),
            (.string(String(repeating: "x", count: 257)), false),
            (.bytes([UInt8](repeating: 0, count: 256)), true),
            (.bytes([UInt8](repeating: 0, count: 257)), false), ([1], false), (["k": 1], false),
            (.null, true), (true, true),
        ]
        for (argument, isKept) in arguments {
            let statement = try Parser.parse(Self.text)
            #expect(try isPlanned(statement, argument))
            #expect(try isPlanned(statement, argument) == !isKept, "\(argument.json.count)")
        }
    }
}
