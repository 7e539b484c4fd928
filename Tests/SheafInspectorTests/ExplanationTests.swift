import Sheaf
import SheafDocument
import SheafInspector
import SheafReplication
import SheafStatements
import SheafStore
import Testing

extension InspectorTests {
    /// The path of a document to a peer, and the step that blocks it.
    @Suite(.serialized) struct ExplanationTests {
        private let reds: DQL = "SELECT * FROM cars WHERE color = 'red'"
        private let blues: DQL = "SELECT * FROM cars WHERE color = 'blue'"
        private let cars: DQL = "SELECT * FROM cars"

        private func insert(_ peer: Peer) async throws {
            try await peer.store.execute(
                "INSERT INTO cars DOCUMENTS ({'_id': 1, 'color': 'red'}), ({'_id': 2, 'color': 'blue'})"
            )
        }

        @Test func `a step is ok, or names the missing subscription`() async throws {
            let mesh = try await MeshFixture([[], [reds], [], [reds, "SELECT * FROM owners"]])
            try await insert(mesh.peers[0])
            for other in 1...3 { mesh.connect(0, other) }
            let arrived = try #require(try mesh.explanation(1, on: 1, until: ["ok"]))
            #expect(arrived.status == 200 && arrived.blocking == nil)
            #expect(arrived.document == "present")
            #expect(arrived.steps[0].from == 0 && arrived.steps[0].to == 1)
            let missing = try mesh.explanation(2, on: 1)
            #expect(missing.states == ["noSubscription"] && missing.blocking == 0)
            #expect(
                missing.steps[0].reason
                    == "the subscription of the peer does not select the document")
            let silent = try mesh.explanation(2, on: 2, until: ["noSubscription"])
            #expect(silent?.steps[0].reason == "the peer has no subscription")
            _ = try mesh.explanation(1, on: 3, until: ["ok"])
            #expect(
                try mesh.explanation(2, on: 3).steps[0].reason
                    == "none of the 2 subscriptions of the peer selects the document")
            try await mesh.close()
        }

        @Test func `a step that a right forbids names the grant or the sync scope`() async throws {
            let own = PeerRights(read: ["cars": "color = 'red'"], write: [:])
            let mesh = try await MeshFixture([[], [cars], [cars]], rights: [1: own])
            try await insert(mesh.peers[0])
            mesh.connect(0, 1)
            mesh.connect(0, 2)
            _ = try mesh.explanation(1, on: 1, until: ["ok"])
            let unread = try mesh.explanation(2, on: 1)
            #expect(unread.states == ["noRight"] && unread.blocking == 0)
            #expect(
                unread.steps[0].reason
                    == "the grant of the peer does not permit reading the document")
            _ = try mesh.explanation(2, on: 2, until: ["ok"])
            try await mesh.peers[0].store.execute(
                "ALTER SYSTEM SET user_collection_sync_scopes = {'cars': 'LocalPeerOnly'}")
            let scope = try mesh.explanation(1, on: 2, until: ["noRight"])
            #expect(
                scope?.steps[0].reason
                    == "the sync scope of the collection is LocalPeerOnly, which excludes the peer")
            try await mesh.close()
            // The rights of the inspected peer forbid sending, and reading.
            let none = PeerRights(read: [:], write: [:])
            let other = try await MeshFixture([[cars], [cars]], rights: [0: none])
            try await insert(other.peers[0])
            try await other.peers[1].store.execute("INSERT INTO cars DOCUMENTS ({'_id': 3})")
            other.connect(0, 1)
            let unsent = try other.explanation(1, on: 1, until: ["noRight"])
            #expect(
                unsent?.steps[0].reason
                    == "the grant of this peer does not permit writing the document")
            let here = try other.explanation(3, on: 0, until: ["noRight"])
            #expect(here?.steps[0].from == 1 && here?.steps[0].to == 0)
            #expect(
                here?.steps[0].reason
                    == "the grant of this peer does not permit reading 'cars'")
            #expect(here?.document == "missing")
            try await other.close()
        }

        @Test func `a document that the inspected peer evicted is not sent`() async throws {
            let mesh = try await MeshFixture([[], [cars]])
            try await insert(mesh.peers[0])
            mesh.connect(0, 1)
            _ = try mesh.explanation(1, on: 1, until: ["ok"])
            try await mesh.peers[0].store.execute("EVICT FROM cars WHERE _id = 1")
            let sent = try mesh.explanation(1, on: 1, until: ["evicted"])
            #expect(sent?.document == "evicted" && sent?.blocking == 0)
            let here = try mesh.explanation(1, on: 0)
            #expect(here.states == ["evicted"] && here.steps[0].to == 0)
            let commit = try #require(try mesh.peers[0].sync.documentStatus(of: "cars", 1).commit)
            #expect(
                here.steps[0].reason == "this peer has evicted the document, by commit \(commit)")
            #expect(
                sent?.steps[0].reason
                    == "this peer has evicted the document, so it does not send it")
            // A document of another peer leaves no remnant.
            try await mesh.close()
            let other = try await MeshFixture([[cars], [cars]])
            try await insert(other.peers[1])
            other.connect(0, 1)
            _ = try other.explanation(2, on: 1, until: ["ok"])
            for subscription in other.peers[0].sync.subscriptions { subscription.cancel() }
            try await other.peers[0].store.execute("EVICT FROM cars WHERE _id = 2")
            _ = try other.explanation(2, on: 1, until: ["evicted"])
            #expect(try other.explanation(1, on: 1).states == ["ok"])
            try await other.close()
        }

        @Test func `the step to an unreachable peer has the close reason of its last connection`()
            async throws
        {
            let mesh = try await MeshFixture([[], [cars]])
            try await insert(mesh.peers[0])
            let before = try mesh.explanation(1, on: 1)
            #expect(before.states == ["notConnected"] && before.blocking == 0)
            #expect(before.steps[0].from == 0 && before.steps[0].to == 1)
            #expect(
                before.steps[0].reason
                    == "no connection has led to the peer since this one was started")
            mesh.connect(0, 1)
            _ = try mesh.explanation(1, on: 1, until: ["ok"])
            mesh.network.disconnect(mesh.peers[0].key, mesh.peers[1].key)
            let after = try #require(try mesh.explanation(1, on: 1, until: ["notConnected"]))
            #expect(after.steps[0].reason.hasPrefix("no connection leads to the peer: "))
            #expect(try mesh.explanation(3, on: 1).states == ["notConnected"])
            try await mesh.close()
        }

        @Test func `a document lags until the peer has written it, and a deletion, too`()
            async throws
        {
            let mesh = try await MeshFixture([[], [cars]])
            try await insert(mesh.peers[0])
            mesh.connect(0, 1)
            _ = try mesh.explanation(1, on: 1, until: ["ok"])
            let receiver = mesh.peers[1].store
            // The transaction keeps the peer from writing what it receives.
            try await receiver.transaction { transaction in
                try await transaction.execute("INSERT INTO other DOCUMENTS ({'_id': 1})")
                try await mesh.peers[0].store.execute("UPDATE cars SET n = 1 WHERE _id = 1")
                let lagging = try mesh.explanation(1, on: 1)
                #expect(lagging.states == ["lagging"] && lagging.blocking == 0)
                #expect(lagging.steps[0].reason.contains("the peer has acknowledged commit "))
                // The other document has not changed.
                #expect(try mesh.explanation(2, on: 1).states == ["ok"])
                try await mesh.peers[0].store.execute("DELETE FROM cars WHERE _id = 2")
                #expect(try mesh.explanation(2, on: 1).states == ["lagging"])
                return TransactionCompletion.commit
            }
            _ = try mesh.explanation(1, on: 1, until: ["ok"])
            let deleted = try mesh.explanation(2, on: 1, until: ["deleted"])
            #expect(deleted?.document == "deleted" && deleted?.blocking == 0)
            let here = try mesh.explanation(2, on: 0)
            #expect(here.states == ["deleted"] && here.blocking == 0)
            let commit = try #require(try mesh.peers[0].sync.documentStatus(of: "cars", 2).commit)
            #expect(here.steps[0].reason == "the document was deleted, by commit \(commit)")
            #expect(
                deleted?.steps[0].reason
                    == "commit \(commit) deleted the document, and the peer has acknowledged it")
            try await mesh.close()
        }

        @Test func `a route leads over the relay that has the document`() async throws {
            // The peers 1 and 2 both lead to 3, and then to 4; each subscribes to one document.
            let mesh = try await MeshFixture([[], [reds], [blues], [cars], [cars]])
            try await insert(mesh.peers[0])
            for (one, other) in [(0, 1), (0, 2), (1, 3), (2, 3), (3, 4)] {
                mesh.connect(one, other)
            }
            let far = try #require(
                try mesh.explanation(2, on: 4, until: ["ok", "unknown", "unknown"]))
            #expect(far.steps.map(\.from) == [0, 2, 3] && far.steps.map(\.to) == [2, 3, 4])
            #expect(far.blocking == 1)
            // One of the two routes is the second one.
            let other = try #require(
                try mesh.explanation(1, on: 4, until: ["ok", "unknown", "unknown"]))
            #expect(other.steps.map(\.to) == [1, 3, 4])
            // Without the relay, the other one remains, and stops it.
            mesh.network.disconnect(mesh.peers[0].key, mesh.peers[2].key)
            let blocked = try #require(
                try mesh.explanation(2, on: 4, until: ["noSubscription", "unknown", "unknown"]))
            #expect(blocked.steps.map(\.to) == [1, 3, 4] && blocked.blocking == 0)
            let missing = try mesh.explanation(9, on: 4)
            #expect(missing.states == ["unknown", "unknown", "unknown"] && missing.blocking == 0)
            #expect(missing.document == "missing")
            let (first, rest) = (missing.steps[0], missing.steps.dropFirst())
            #expect(
                first.reason
                    == "this peer does not have the document, so it does not know which peers do")
            #expect(
                rest.allSatisfy {
                    $0.reason == "this peer does not know what other peers send to each other"
                })
            try await mesh.close()
        }

        @Test func `a step to the inspected peer explains why it lacks a document`() async throws {
            let mesh = try await MeshFixture([[reds], [cars]])
            try await insert(mesh.peers[1])
            let alone = try mesh.explanation(1, on: 0)
            #expect(alone.states == ["notConnected"] && alone.steps[0].from == nil)
            #expect(alone.steps[0].reason == "this peer has no connection")
            mesh.connect(0, 1)
            #expect(try mesh.explanation(1, on: 0, until: [])?.document == "present")
            let unsent = try mesh.explanation(2, on: 0, until: ["unknown"])
            #expect(unsent?.document == "missing")
            #expect(
                unsent?.steps[0].reason
                    == "no connected peer has sent the document: none has it, or the subscriptions "
                    + "of this peer do not select it")
            for subscription in mesh.peers[0].sync.subscriptions { subscription.cancel() }
            let unselected = try mesh.explanation(2, on: 0, until: ["noSubscription"])
            #expect(
                unselected?.steps[0].reason
                    == "no subscription of this peer selects documents of 'cars'")
            try await mesh.close()
            // The transaction keeps the inspected peer from writing what it receives.
            let late = try await MeshFixture([[cars], []])
            try await insert(late.peers[1])
            try await late.peers[0].store.transaction { transaction in
                try await transaction.execute("INSERT INTO other DOCUMENTS ({'_id': 1})")
                late.connect(0, 1)
                let lagging = try late.explanation(1, on: 0, until: ["lagging"])
                #expect(lagging?.steps[0].from == 1)
                return TransactionCompletion.commit
            }
            _ = try late.explanation(1, on: 0, until: [])
            try await late.close()
        }

        @Test func `a request without a peer, an id or a key is an error`() async throws {
            let mesh = try await MeshFixture([[]])
            let key = mesh.peers[0].key
            let refusals: [(target: String, message: String)] = [
                ("", "the parameter 'collection' is missing"),
                ("?collection=cars&id=1", "the parameter 'peer' is missing"),
                ("?collection=cars&peer=\(key)", "the parameter 'id' is missing"),
                ("?id=1&peer=\(key)", "the parameter 'collection' is missing"),
                ("?collection=cars&id=a&peer=\(key)", "the id 'a' is not JSON: "),
                ("?collection=cars&id=%7B&peer=\(key)", "the id '{' is not JSON: "),
                ("?collection=cars&id=1&peer=pk:0", "'pk:0' is not the public key of a peer"),
                ("?collection=cars&id=1&peer=a", "'a' is not the public key of a peer"),
            ]
            for (target, expected) in refusals {
                let (status, answer) = try mesh.fixture.object("GET", "/explain" + target)
                guard case .object(let error)? = answer["error"],
                    case .string(let message)? = error["message"]
                else { return #expect(Bool(false), "\(target)") }
                #expect(status == 400 && message.hasPrefix(expected), "\(target): \(message)")
                #expect(message.count == expected.count || expected.hasSuffix(": "), "\(target)")
                let hint: Value =
                    if expected.hasPrefix("the parameter") {
                        "the parameters are collection, id (JSON) and peer (a public key)"
                    } else if expected.hasPrefix("the id") {
                        "an id that is a string needs quotes, such as \"a\""
                    } else {
                        "a key is pk: and 64 hexadecimal digits"
                    }
                #expect(error["hint"] == hint, "\(target)")
            }
            let text = "/explain?collection=cars&id=%22a%22&peer=\(key)"
            #expect(try mesh.fixture.object("GET", text).0 == 200)
            try await mesh.close()
            let fixture = try await InspectorFixture()
            let (status, answer) = try fixture.object("GET", text)
            let hint =
                "'sheaf inspect' on the store of a running 'sheaf peer serve' shows the peer"
            #expect(status == 404)
            #expect(
                answer == [
                    "error": [
                        "message": "the inspector shows a store without a running peer",
                        "hint": .string(hint),
                    ]
                ])
            await fixture.inspector.stop()
        }

        /// Returns the rows of an answer with the keys in their connections alone.
        private static func presence(_ answer: Object) -> [Object] {
            guard case .array(let rows)? = answer["rows"] else { return [] }
            return rows.compactMap { row in
                guard case .object(var row) = row, case .array(let all)? = row["connections"] else {
                    return nil
                }
                row["connections"] = nil
                let keys = all.map { connection -> Value in
                    guard case .object(let connection) = connection else { return .null }
                    return connection["peer"] ?? .null
                }
                row["others"] = .array(keys)
                return row
            }
        }

        @Test func `an embedded peer shows presence and subscriptions`() async throws {
            let mesh = try await MeshFixture([[reds], [cars]])
            mesh.connect(0, 1)
            _ = try mesh.explanation(1, on: 0, until: ["unknown"])
            #expect(try mesh.fixture.object("GET", "/about").1["hasPeer"] == true)
            let statement = "SELECT kind, name, distance, connections FROM system:presence"
            var rows: [Object] = []
            // Its neighbor sends its name and connections after the connection has begun.
            for _ in 0..<10_000 {
                rows = try Self.presence(mesh.fixture.query(statement).1)
                if rows.count == 2, rows[0]["others"] != [] { break }
            }
            func key(_ number: Int) -> Value { .string("\(mesh.peers[number].key)") }
            #expect(
                rows == [
                    ["kind": "local", "name": "peer 0", "distance": 0, "others": [key(1)]],
                    ["kind": "remote", "name": "peer 1", "distance": 1, "others": [key(0)]],
                ])
            let subscriptions = try mesh.fixture.query("SELECT statement FROM system:subscriptions")
            #expect(
                subscriptions.1["rows"]
                    == [["statement": "SELECT * FROM cars WHERE color = 'red'"]])
            try await mesh.close()
        }
    }
}
