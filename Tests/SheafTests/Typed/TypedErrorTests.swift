import Sheaf
import SheafDocument
import SheafStatements
import SheafStore
import Testing

/// The errors of typed calls, with their messages and hints.
@Suite struct TypedErrorTests {
    private func refusal(
        _ body: nonisolated(nonsending) () async throws -> Void
    ) async -> StoreError? {
        do { try await body() } catch { return error as? StoreError }
        return nil
    }

    @Test func `a document is saved only over one that exists and has its id`() async throws {
        let store = try await Store.inMemory()
        let cars = store.collection("cars", of: Value.self)
        for (new, old, ids) in [
            (["_id": 2], ["_id": 1], "2 over 1"),
            (["_id": "b"], [:], "\"b\" over one without _id"),
            ([:], ["_id": 1], "one without _id over 1"),
            ([:], [:], "one without _id over one without _id"),
        ] as [(Value, Value, String)] {
            let found = await refusal { try await cars.save(new, over: old) }
            let expected = StoreError(
                .argument,
                "a document can be saved only over one with the same _id, not \(ids)",
                hint: "insert the document, and delete the other one")
            #expect(found == expected)
        }
        let missing = StoreError(
            .notFound, "cars has no document with the _id 1",
            hint: "insert it, or use upsert if it may be new")
        let (old, new): (Value, Value) = (["_id": 1], ["_id": 1, "n": 2])
        let saved = await refusal { try await cars.save(new, over: old) }
        let updated = await refusal { try await cars.update(1) { _ in } }
        #expect(saved == missing && updated == missing)
        try await store.close()
    }

    @Test
    func `a collection in the transaction of another store, and its observation, are refused`()
        async throws
    {
        let (one, other) = (try await Store.inMemory(), try await Store.inMemory())
        let document: Value = ["_id": 1]
        let sequence = [document]
        try await other.transaction { transaction in
            let cars = one.collection("cars", of: Value.self).within(transaction)
            let found = [
                await refusal { try await cars.insert(document) },
                await refusal { try await cars.insert(sequence) },
                await refusal { try await cars.upsert(document) },
                await refusal { try await cars.save(document, over: document) },
                await refusal { try await cars.delete(1) },
                await refusal { _ = try await cars.get("a") },
                await refusal { _ = try await cars.count() },
            ]
            let expected = StoreError(
                .meaning, "the transaction is one of another store than the collection",
                hint: "use a collection of the store of the transaction")
            #expect(found == Array(repeating: expected, count: 7))
            let own = transaction.collection("cars", of: Value.self)
            for observed in [cars, own] {
                let refused = await refusal { for try await _ in observed.observe() {} }
                let expected = StoreError(
                    .meaning, "a collection of a transaction cannot be observed",
                    hint: "observe Store.collection, outside of the transaction")
                #expect(refused == expected)
            }
        }
        try await one.close()
        try await other.close()
    }

    @Test func `a value that cannot be fetched is reported with the statement`() async throws {
        let store = try await Store.inMemory()
        try await store.execute("INSERT INTO t DOCUMENTS ({'_id': 1, 'n': 2, 'none': null})")
        let optional = "fetch an optional, such as Int?, if there may be none"
        let columns = "a value can be fetched only from a statement with one column; "
        let other = "select one column, or use fetchOne"
        for (query, reason, message, hint) in [
            (
                "SELECT n FROM t WHERE _id = 9", .notFound,
                "SELECT n FROM t WHERE _id = 9 returned no row", optional
            ),
            (
                "SELECT x FROM t", .notFound, "the first row of SELECT x FROM t has no value",
                optional
            ),
            (
                "SELECT none FROM t", .notFound,
                "the first row of SELECT none FROM t has no value", optional
            ),
            (
                "SELECT _id, n FROM t", .meaning,
                columns + "SELECT _id, n FROM t returns 2 columns", other
            ),
            (
                "SELECT * FROM t", .meaning, columns + "SELECT * FROM t returns complete documents",
                other
            ),
        ] as [(DQL, StoreError.Reason, String, String)] {
            let expected = StoreError(reason, message, hint: hint)
            let found = await refusal { let _: Int = try await store.fetchValue(query) }
            #expect(found == expected)
            try await store.transaction { transaction in
                let within = await refusal {
                    let _: Int = try await transaction.fetchValue(query)
                }
                #expect(within == expected)
            }
        }
        try await store.close()
    }

    /// A document whose decoding fails in the way that it names.
    private struct Failing: Codable, Sendable {
        enum CodingKeys: String, CodingKey { case _id, way }
        struct Cause: Error {}

        var _id: String
        var way: Int

        init(way: Int) { (_id, self.way) = ("d\(way)", way) }

        init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: CodingKeys.self)
            _id = try container.decode(String.self, forKey: ._id)
            way = try container.decode(Int.self, forKey: .way)
            let context = DecodingError.Context(
                codingPath: [CodingKeys.way], debugDescription: "way \(way)",
                underlyingError: Cause())
            switch way {
            case 0: throw DecodingError.typeMismatch(Int.self, context)
            case 1: throw DecodingError.valueNotFound(Int.self, context)
            case 2: throw DecodingError.keyNotFound(CodingKeys.way, context)
            default: throw DecodingError.dataCorrupted(context)
            }
        }
    }

    /// Returns the kind, the path and the text of the error that a read throws.
    private func decodingFailure(
        _ body: nonisolated(nonsending) () async throws -> Void
    ) async -> String {
        do { try await body() } catch let error as DecodingError {
            let (kind, context) =
                switch error {
                case .typeMismatch(_, let context): (0, context)
                case .valueNotFound(_, let context): (1, context)
                case .keyNotFound(_, let context): (2, context)
                case .dataCorrupted(let context): (3, context)
                @unknown default: (4, DecodingError.Context(codingPath: [], debugDescription: ""))
                }
            let path = context.codingPath.map { $0.stringValue }.joined(separator: ".")
            let hasCause = context.underlyingError is Failing.Cause
            return "\(kind) at \(path), \(hasCause): \(context.debugDescription)"
        } catch {
            return "\(error)"
        }
        return "none"
    }

    @Test func `an error of decoding has the document, and all else that it had`() async throws {
        let store = try await Store.inMemory()
        let documents = store.collection("t", of: Failing.self)
        try await documents.insert((0..<4).map { Failing(way: $0) })
        for way in 0..<4 {
            let id = "d\(way)"
            let expected = "\(way) at way, true: the document \"\(id)\" of t: way \(way)"
            let found = await decodingFailure { _ = try await documents.get(id) }
            #expect(found == expected)
            let fetched = await decodingFailure {
                _ = try await documents.fetchAll(where: "_id = \(id)")
            }
            #expect(fetched == expected)
        }
        try await store.close()
    }
}
