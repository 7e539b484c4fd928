import SheafDocument
import SheafQuery
import SheafStatements
import SheafStore
import SheafTestSupport

/// Time measurements of statements with one very long or deeply nested part.
package struct LongStatementTiming {
    package private(set) var timings: [StatementTiming] = []
    private let simulation: QuerySimulation

    /// Creates a store with a few documents and indexes.
    package init() throws {
        simulation = try QuerySimulation(seed: 1)
        for number in 0..<8 {
            try simulation.execute(
                "INSERT INTO t DOCUMENTS ({'_id': \(number), 'a': \(number), 'b': 'text \(number)', "
                    + "'l': [1, 2, 3], 'c': {'d': \(number % 2)}})")
        }
        for index in ["by_a ON t (a)", "by_b ON t (b, a)", "by_d ON t (c.d DESC)"] {
            try simulation.execute("CREATE INDEX \(index)")
        }
        try simulation.flush()
    }

    /// Runs each form with `terms` terms, or `depth` levels if nested; also under EXPLAIN, PROFILE
    /// and ADVISE.
    package mutating func run(terms: Int, depth: Int = 60) {
        for form in Self.chains + Self.lists + Self.clauses { run(form, terms) }
        for form in Self.nests { run(form, depth) }
    }

    private mutating func run(_ form: Form, _ count: Int) {
        let text = form.text(count)
        for prefix in ["", "EXPLAIN ", "PROFILE ", "ADVISE "] {
            measure("\(prefix)\(form.name) \(count)", prefix + text)
        }
    }

    /// Measures a statement from parsing to its last row, and records the time.
    @discardableResult
    package mutating func measure(_ name: String, _ text: String) -> StatementTiming {
        let started = ThreadTime.microseconds()
        var isRun = true
        do throws(StoreError) {
            let outcome = try simulation.execute(text)
            for item in outcome.items { _ = try item.object(outcome.names) }
        } catch {
            isRun = false
        }
        let microseconds = ThreadTime.microseconds() - started
        let timing = StatementTiming(
            name: name, length: text.utf8.count, microseconds: microseconds, isRun: isRun)
        timings.append(timing)
        return timing
    }

    /// A statement that grows with a number.
    package struct Form: Sendable {
        package let name: String
        package let text: @Sendable (Int) -> String
    }
}
