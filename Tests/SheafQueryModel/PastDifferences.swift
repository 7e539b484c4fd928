import SheafDocument
import SheafEngine
import SheafStatements
import SheafStorage
import SheafTestSupport

/// Random histories of a store; AS OF must return the results recorded after each commit.
package struct PastDifferences {
    package struct Tally: Sendable {
        package var histories = 0
        package var commits = 0
        package var statements = 0
        /// Statements about states that compaction has removed.
        package var forgotten = 0
    }

    package private(set) var tally = Tally()
    private let seed: UInt64

    package init(seed: UInt64) {
        self.seed = seed
    }

    package mutating func run(histories: Int) throws {
        for number in 0..<histories {
            var history = try PastHistory(seed: seed &+ UInt64(number))
            try history.run()
            tally.histories += 1
            tally.commits += history.states.count
            tally.statements += history.statementCount
            tally.forgotten += history.forgottenCount
        }
    }
}

/// One history, with the results of some statements after each commit.
private struct PastHistory {
    struct State {
        let commit: UInt64
        let time: UInt64
        let results: [String]
    }

    private let simulation: QuerySimulation
    private let seed: UInt64
    private var random: SeededRandom
    private(set) var states: [State] = []
    private(set) var statementCount = 0
    private(set) var forgottenCount = 0

    /// Statements with a placeholder for AS OF, and whether they have an order.
    private static let panel: [(text: String, isOrdered: Bool)] = [
        ("SELECT * FROM cars{}", false),
        ("SELECT COUNT(*) AS n FROM cars{}", true),
        ("SELECT * FROM cars{} AS c WHERE c.a = 2", false),
        ("SELECT * FROM cars{} WHERE a > 1 ORDER BY a DESC, _id LIMIT 3", true),
        ("SELECT b, COUNT(*) AS n, SUM(a) AS s FROM cars{} GROUP BY b", false),
        ("SELECT * FROM cars{} WHERE _id = 3", true), ("SELECT * FROM vans{} WHERE 1 = _id", true),
        ("SELECT * FROM cars{} USE IDS 1, 2, 3 WHERE b IS NOT MISSING", false),
        ("SELECT c._id AS c, v._id AS v FROM cars{} c JOIN vans{} v ON v._id = c.a", false),
        ("SELECT * FROM vans{} v RIGHT JOIN cars{} c ON c._id = v.a ORDER BY c._id, v._id", true),
    ]

    init(seed: UInt64) throws {
        simulation = try QuerySimulation(seed: seed)
        self.seed = seed
        random = SeededRandom(seed: seed, "past")
    }

    mutating func run() throws {
        try record()
        for _ in 0..<20 + random.below(60) {
            try step()
            try record()
            if random.chance(1, in: 4) { try check(states[random.below(states.count)]) }
        }
        for state in states.shuffled(using: &random) { try check(state) }
        for index in states.indices.dropFirst() {
            try checkHistory(from: states[index - 1], to: states[index])
        }
        try checkOrder()
    }

    /// Checks that `system:history` has each visible change of a commit.
    private mutating func checkHistory(from before: State, to after: State) throws {
        let oldest = simulation.queries.snapshot().log.compactedThrough
        guard after.commit == before.commit + 1, after.commit > oldest else { return }
        let rows = try simulation.rows(
            "SELECT * FROM system:history WHERE commit = \(after.commit) AND collection = 'cars'")
        var found: [String: Object] = [:]
        for case .object(let row) in rows { found[row["document"]?.json ?? ""] = row }
        guard found.count == rows.count else {
            throw difference("a repeated row", "\(after.commit)")
        }
        let (old, new) = (try Self.documents(before), try Self.documents(after))
        for id in Set(old.keys).union(new.keys) where old[id] != new[id] {
            let fields = Self.differingFields(old[id], new[id]).map { Value.string($0) }
            let row = found[id]
            let action = row?["action"]
            let isRight =
                switch (old[id], new[id]) {
                case (nil, _): action == "insert"
                case (_, nil): action == "delete" || action == "evict"
                default: action == "update"
                }
            guard case .array(let listed)? = row?["fields"], isRight,
                new[id] == nil || Set(fields).isSubset(of: listed)
            else {
                throw difference(
                    "\(id) from \(String(describing: old[id])) to \(String(describing: new[id])) has "
                        + "the row \(row.map { Value.object($0).json } ?? "none")",
                    "commit \(after.commit)")
            }
        }
    }

    /// Checks the order and the bounds of the rows.
    private mutating func checkOrder() throws {
        let all = try simulation.rows("SELECT commit, document FROM system:history")
        let backward = try simulation.rows(
            "SELECT commit, document FROM system:history ORDER BY commit DESC")
        func commit(_ row: Value) -> Value? {
            if case .object(let row) = row { row["commit"] } else { nil }
        }
        guard all.map(commit) == backward.map(commit).reversed(),
            Set(all.map(\.json)) == Set(backward.map(\.json))
        else { throw difference("another order in reverse", "system:history") }
        let (low, high) = (random.below(20), random.below(60))
        let some = try simulation.rows(
            "SELECT commit, document FROM system:history WHERE \(low) < commit AND commit <= \(high)"
        )
        let expected = all.filter { row in
            guard case .integer(let number)? = commit(row) else { return false }
            return number > low && number <= high
        }
        guard some == expected else { throw difference("other rows in bounds", "\(low) \(high)") }
    }

    private static func documents(_ state: State) throws -> [String: Object] {
        var documents: [String: Object] = [:]
        for line in state.results[0].split(separator: "\n") {
            guard case .object(let object) = try Value(json: String(line)) else { continue }
            documents[object["_id"]?.json ?? ""] = object
        }
        return documents
    }

    private static func differingFields(_ old: Object?, _ new: Object?) -> [String] {
        let (old, new) = (old ?? Object(), new ?? Object())
        let names = Set(old.map(\.name)).union(new.map(\.name)).subtracting(["_id"])
        return names.filter { old[$0] != new[$0] }
    }

    /// Changes the store at random; some steps write nothing, or several commits.
    private mutating func step() throws {
        switch random.below(20) {
        case 0: try simulation.compact()
        case 1: try simulation.reopen()
        case 2: try attempt("CREATE INDEX IF NOT EXISTS i\(random.below(3)) ON cars (\(fields()))")
        case 3: try attempt("DROP INDEX IF EXISTS i\(random.below(3)) ON cars")
        case 4...6:
            let count = 1 + random.below(3)
            var texts: [String] = []
            for _ in 0..<count { texts.append(write()) }
            try simulation.transaction(isKept: random.chance(4, in: 5)) {
                for text in texts { _ = try? simulation.execute(text) }
            }
            try simulation.flush()
        default: try attempt(write())
        }
    }

    private mutating func fields() -> String { ["a", "b, a", "a DESC"][random.below(3)] }

    private mutating func write() -> String {
        let collection = random.chance(1, in: 4) ? "vans" : "cars"
        let id = 1 + random.below(8)
        let (a, b) = (random.below(5), random.below(4))
        return switch random.below(10) {
        case 0...3:
            "INSERT INTO \(collection) DOCUMENTS ({'_id': \(id), 'a': \(a), 'b': \(b)}) "
                + "ON ID CONFLICT DO UPDATE"
        case 4, 5:
            "UPDATE \(collection) SET a = \(a), \(["b", "c\(b)"][random.below(2)]) = \(b) "
                + "WHERE _id > \(id)"
        case 6: "UPDATE \(collection) UNSET b WHERE a = \(a)"
        case 7: "DELETE FROM \(collection) WHERE _id = \(id)"
        case 8: "EVICT FROM \(collection) WHERE a = \(a)"
        default: "INSERT INTO \(collection) DOCUMENTS ({'a': \(a)})"
        }
    }

    private func attempt(_ text: String) throws {
        do throws(StoreError) { _ = try simulation.execute(text) } catch {
            guard error.reason == .conflict else { throw error }
        }
    }

    /// Records the results after the last commit.
    private mutating func record() throws {
        try simulation.flush()
        let snapshot = simulation.queries.snapshot()
        guard states.last?.commit != snapshot.log.commit else { return }
        var results: [String] = []
        for (number, _) in Self.panel.enumerated() { results.append(try result(number, "")) }
        states.append(
            State(commit: snapshot.log.commit, time: snapshot.log.commitAt, results: results))
    }

    private func result(_ number: Int, _ asOf: String) throws -> String {
        let (text, isOrdered) = Self.panel[number]
        let rows = try simulation.rows(text.replacing("{}", with: asOf)).map(\.json)
        return (isOrdered ? rows : rows.sorted()).joined(separator: "\n")
    }

    /// Compares the results AS OF a state with those recorded then.
    private mutating func check(_ state: State) throws {
        try check(state, " AS OF COMMIT \(state.commit)", of: state.commit)
        // Of several commits of a millisecond, the last one has the state at that time.
        guard state.commit > 0 else { return }
        let time = state.time + UInt64(random.below(2))
        guard let last = states.last(where: { $0.time <= time }) else { return }
        try check(last, " AS OF (\(time))", of: last.commit)
    }

    private mutating func check(_ state: State, _ asOf: String, of commit: UInt64) throws {
        let newest = simulation.queries.snapshot().log.commit
        for number in Self.panel.indices where random.chance(1, in: 2) {
            statementCount += 1
            let found: String
            do {
                found = try result(number, asOf)
            } catch let error as StoreError {
                let isForgotten = error.message.hasPrefix("the log does not have the state of ")
                // The store keeps ten commits.
                guard isForgotten, commit + 10 < newest else { throw difference("\(error)", asOf) }
                forgottenCount += 1
                continue
            }
            guard found == state.results[number] else {
                throw difference(
                    "\(Self.panel[number].text) returns\n\(found)\n instead of\n"
                        + state.results[number], asOf)
            }
        }
    }

    private func difference(_ problem: String, _ asOf: String) -> QueryDifference {
        QueryDifference(
            problem, asOf, [:],
            "seed \(seed), newest \(states.last?.commit ?? 0), all \((try? result(0, asOf)) ?? "") now \((try? result(0, "")) ?? "") then \(states.map { "\($0.commit): \($0.results[0])" }), \(simulation.indexText())"
        )
    }
}
