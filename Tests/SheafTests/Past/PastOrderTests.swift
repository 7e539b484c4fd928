import SheafDocument
import SheafTestSupport
import Testing

/// Earlier states of a collection that is large enough for scans in the order of the log.
@Suite struct PastOrderTests {
    /// The collection after each commit: the number of each document.
    private struct Model {
        var numbers: [Int64: Int64] = [:]
        var states: [(commit: UInt64, numbers: [Int64: Int64])] = []
    }

    private static let count: Int64 = 5_000
    /// The most documents of a statement.
    private static let limit = 4_096

    @Test func `an earlier state has its own documents, whatever was scanned before`() throws {
        let seed = UInt64.random(in: 0..<1_000_000_000)
        print("earlier states of a large collection, seed \(seed)")
        var random = SeededRandom(seed: seed, "large collection")
        let scene = try PastScene(seed: seed)
        var model = Model()
        try insert(0..<Self.count, scene, &model)
        try scene.commit("CREATE INDEX n ON cars (n)")
        model.states.append((scene.newest, model.numbers))
        for step in 0..<10 {
            let first = Int64(random.next() % UInt64(Self.count))
            let ids = (0..<300).map { (first + $0 * 7) % (Self.count + 500) }
            switch step % 5 {
            case 0, 3: try update(ids, to: Int64(step + 1), scene, &model)
            case 1: try remove("DELETE", ids, scene, &model)
            case 2: try remove("EVICT", ids, scene, &model)
            default:
                try insert(ids.filter { model.numbers[$0] == nil }, scene, &model)
            }
            // Both scans leave their orders with the newest state.
            try expect(model.numbers, "", [:], scene)
        }
        for _ in 0..<30 {
            let state = model.states[Int(random.next() % UInt64(model.states.count))]
            try expect(
                state.numbers, "AS OF COMMIT :commit",
                ["commit": .integer(Int64(state.commit))], scene)
        }
    }

    private func expect(
        _ numbers: [Int64: Int64], _ clause: String, _ arguments: [String: Value],
        _ scene: PastScene
    ) throws {
        for condition in [
            "WHERE color = 'blue'", "USE INDEX 'n' WHERE n >= 0", "WHERE n >= 0", "WHERE n = 1",
        ] {
            let rows = try scene.rows(
                "SELECT _id AS id, n FROM cars \(clause) \(condition)", arguments)
            var found: [Int64: Int64] = [:]
            for row in rows {
                guard case .object(let row) = row, case .integer(let id)? = row["id"],
                    case .integer(let n)? = row["n"]
                else { throw Unexpected(row: row) }
                #expect(found.updateValue(n, forKey: id) == nil, "\(id) is there twice")
            }
            let wanted = condition == "WHERE n = 1" ? numbers.filter { $0.value == 1 } : numbers
            #expect(found == wanted, "\(condition) \(clause) \(arguments)")
        }
        let counted = try scene.rows("SELECT COUNT(*) AS n FROM cars \(clause)", arguments)
        #expect(counted == [["n": .integer(Int64(numbers.count))]])
    }

    private struct Unexpected: Error {
        let row: Value
    }

    private func insert(
        _ ids: some Sequence<Int64>, _ scene: PastScene, _ model: inout Model
    ) throws {
        let documents = ids.map { "({'_id': \($0), 'n': 0, 'color': 'blue'})" }
        for start in stride(from: 0, to: documents.count, by: Self.limit) {
            let some = documents[start..<min(start + Self.limit, documents.count)]
            try scene.commit("INSERT INTO cars DOCUMENTS " + some.joined(separator: ", "))
        }
        for id in ids { model.numbers[id] = 0 }
        model.states.append((scene.newest, model.numbers))
    }

    private func update(
        _ ids: [Int64], to n: Int64, _ scene: PastScene, _ model: inout Model
    ) throws {
        try scene.commit("UPDATE cars SET n = \(n) WHERE _id IN \(Self.list(ids))")
        for id in ids where model.numbers[id] != nil { model.numbers[id] = n }
        model.states.append((scene.newest, model.numbers))
    }

    private func remove(
        _ word: String, _ ids: [Int64], _ scene: PastScene, _ model: inout Model
    ) throws {
        try scene.commit("\(word) FROM cars WHERE _id IN \(Self.list(ids))")
        for id in ids { model.numbers[id] = nil }
        model.states.append((scene.newest, model.numbers))
    }

    private static func list(_ ids: [Int64]) -> String {
        "(" + ids.map(String.init).joined(separator: ", ") + ")"
    }
}
