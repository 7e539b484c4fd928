import Sheaf
import SheafStatements
import SheafStorage
import SheafSystem

/// A mountain hut, one of the documents that the demonstration queries.
private struct Hut: Codable {
    static let count = 10_000
    static let regions = ["Alps", "Dolomites", "Jura", "Pyrenees", "Tatras"]

    var _id: Int
    var region: String
    var beds: Int

    /// Creates the hut of a number; its values only have to differ.
    init(number: Int) {
        _id = number
        region = Self.regions[number * 7 % 23 % Self.regions.count]
        beds = 6 + number * 37 % 115
    }
}

extension Demo {
    /// Writes many documents of a Swift type, then some of a statement.
    mutating func write() async throws {
        add(.title("1. Write: Ann's store is a directory on disk."))
        let huts = store.collection("huts", of: Hut.self)
        let start = Clock.system.monotonicNanoseconds()
        try await huts.insert((1...Hut.count).lazy.map { Hut(number: $0) })
        let end = Clock.system.monotonicNanoseconds()
        add(
            .sentence("10,000 huts, from Swift structs, in one durable transaction"),
            nanoseconds: end - start)
        try await execute(
            """
            INSERT INTO trips DOCUMENTS
            ({'_id': 'alps', 'days': 3, 'place': 'Chamonix', 'bring': {'rope': 1}}),
            ({'_id': 'coast', 'days': 2}), ({'_id': 'fjord', 'days': 7})
            """)
    }

    /// Evaluates a statement over all huts.
    mutating func query() async throws {
        add(.title("2. Query: documents need no schema, and statements look like SQL."))
        try await execute(
            """
            SELECT region, COUNT(*) AS huts, SUM(beds) AS beds FROM huts
            WHERE beds > 20 GROUP BY region ORDER BY beds DESC LIMIT 3
            """)
    }

    /// Follows a list through a transaction, and shows the difference.
    mutating func observe() async throws {
        add(.title("3. Observe: a list that follows the store, and what changed in it."))
        let statement = "SELECT _id, days FROM trips ORDER BY days"
        var lists = try store.observe(DQL(verbatim: statement)).makeAsyncIterator()
        add(.statement(statement))
        try await addRows(of: try await lists.next())
        let edits = [
            "UPDATE trips SET days = 9 WHERE _id = 'coast'",
            "INSERT INTO trips DOCUMENTS ({'_id': 'lake', 'days': 1})",
        ]
        add(.sentence("Ann changes a trip and adds another, in one transaction:"))
        for edit in edits { add(.statement(edit)) }
        let start = Clock.system.monotonicNanoseconds()
        try await store.transaction { transaction in
            for edit in edits { try await transaction.execute(DQL(verbatim: edit)) }
        }
        let list = try await lists.next()
        let end = Clock.system.monotonicNanoseconds()
        add(
            .sentence("From the write to the observer of the new list, which is durable"),
            nanoseconds: end - start)
        try await addRows(of: list)
        if let changes = list?.changes { add(.sentence(Self.text(of: changes))) }
    }

    private mutating func addRows(of result: QueryResult?) async throws {
        guard let result else { return }
        for item in result.items { add(.document(try item.jsonString, peer: nil)) }
    }

    /// Describes a difference by the indexes of its rows.
    private static func text(of changes: Diff) -> String {
        let moves = changes.moves.map { "\($0.from) to \($0.to)" }
        let parts = [
            ("inserted", changes.insertions.map(String.init)),
            ("deleted", changes.deletions.map(String.init)),
            ("updated", changes.updates.map(String.init)), ("moved", moves),
        ]
        let texts = parts.filter { !$0.1.isEmpty }
            .map { "\($0.0) \($0.1.joined(separator: ", "))" }
        return "Changed rows, for animations: \(texts.joined(separator: "; "))."
    }
}
