import Sheaf
import SheafDocument
import SheafStatements
import Testing

/// Transactions, and peers that subscribe to all of their documents or to a part.
struct PartialSubscriptionTests {
    private let all = "SELECT _id, n FROM cars ORDER BY _id"
    private let onlyA = #"{"_id":"a","n":1}"#
    private let both = [#"{"_id":"a","n":1}"#, #"{"_id":"b","n":1}"#]

    private func items(_ peer: Peer) async throws -> [String] {
        try await peer.store.execute(DQL(verbatim: all)).items.map { try $0.jsonString }
    }

    /// Writes two documents in one transaction, and returns its commit.
    private func writeBoth(on peer: Peer) async throws -> Int64 {
        let results = try await peer.store.transaction { transaction in
            var results: [QueryResult] = []
            for id in ["a", "b"] {
                results.append(
                    try await transaction.execute(
                        "INSERT INTO cars DOCUMENTS (:car)",
                        ["car": ["_id": .string(id), "n": 1] as Value]))
            }
            return results
        }
        let commits = Set(results.compactMap(\.commitID))
        #expect(commits.count == 1, "one transaction is one commit")
        return try #require(commits.first)
    }

    @Test func `the rest of a transaction arrives after a second subscription`() async throws {
        let scene = try await PeerScene(2)
        let (one, two) = (scene.peers[0], scene.peers[1])
        try two.sync.registerSubscription("SELECT * FROM cars WHERE _id = 'a'")
        scene.connect(0, 1)
        let commit = try await writeBoth(on: one)
        try await one.sync.wait(for: commit, on: two.key)
        let part = try await items(two)
        #expect(part == [onlyA])
        try two.sync.registerSubscription("SELECT * FROM cars WHERE _id = 'b'")
        try await two.items(of: DQL(verbatim: all)) { $0 == both }
        try await scene.close()
    }

    @Test
    func `a relay passes on only documents of its subscriptions; other ones need another route`()
        async throws
    {
        let scene = try await PeerScene(3)
        let (one, two, three) = (scene.peers[0], scene.peers[1], scene.peers[2])
        try two.sync.registerSubscription("SELECT * FROM cars WHERE _id = 'a'")
        try three.sync.registerSubscription("SELECT * FROM cars")
        scene.connect(0, 1)
        scene.connect(1, 2)
        let commit = try await writeBoth(on: one)
        try await one.sync.wait(for: commit, on: two.key)
        // Once the marker is synced, the third peer has all earlier commits of the second.
        let marker = try await two.store.execute("INSERT INTO notes DOCUMENTS ({'_id': 'marker'})")
        try await two.sync.wait(for: try #require(marker.commitID), on: three.key)
        for peer in [two, three] {
            let part = try await items(peer)
            #expect(part == [onlyA])
        }
        scene.connect(0, 2)
        try await three.items(of: DQL(verbatim: all)) { $0 == both }
        let part = try await items(two)
        #expect(part == [onlyA])
        try await scene.close()
    }

    @Test func `peers with equal subscriptions see each transaction atomically over several hops`()
        async throws
    {
        let scene = try await PeerScene(4)
        for peer in scene.peers { try peer.sync.registerSubscription("SELECT * FROM accounts") }
        for number in 1..<4 { scene.connect(number - 1, number) }
        let (first, last) = (scene.peers[0], scene.peers[3])
        try await first.store.execute(
            "INSERT INTO accounts DOCUMENTS ({'_id': 'a', 'n': 100}), ({'_id': 'b', 'n': 0})")
        let seen = try last.store.observe("SELECT SUM(n) AS sum, MAX(n) AS most FROM accounts")
        for _ in 0..<50 {
            try await first.store.transaction { transaction in
                try await transaction.execute("UPDATE accounts SET n = n - 1 WHERE _id = 'a'")
                try await transaction.execute("UPDATE accounts SET n = n + 1 WHERE _id = 'b'")
                return .commit
            }
        }
        for try await result in seen {
            let item = try result.items[0].jsonString
            #expect(item == "{}" || item.hasSuffix(#""sum":100}"#), "\(item)")
            if item == #"{"most":50,"sum":100}"# { break }
        }
        try await scene.close()
    }

    @Test func `an answer is never visible without its question`() async throws {
        let scene = try await PeerScene(3)
        for peer in scene.peers { try peer.sync.registerSubscription("SELECT * FROM notes") }
        // The third peer receives from both directly.
        for (one, other) in [(0, 1), (1, 2), (0, 2)] { scene.connect(one, other) }
        let (questioner, answerer, reader) = (scene.peers[0], scene.peers[1], scene.peers[2])
        let count = 40
        async let answers: Void = {
            for number in 0..<count {
                try await answerer.items(
                    of: DQL(verbatim: "SELECT _id FROM notes WHERE _id = 'q\(number)'")
                ) { $0.count == 1 }
                try await answerer.store.execute(
                    "INSERT INTO notes DOCUMENTS (:note)",
                    ["note": ["_id": .string("a\(number)"), "kind": "answer"] as Value])
            }
        }()
        let seen = try reader.store.observe("SELECT _id FROM notes")
        for number in 0..<count {
            try await questioner.store.execute(
                "INSERT INTO notes DOCUMENTS (:note)",
                ["note": ["_id": .string("q\(number)"), "kind": "question"] as Value])
        }
        for try await result in seen {
            let ids = Set(try result.items.map { try $0.jsonString })
            for number in 0..<count where ids.contains(#"{"_id":"a\#(number)"}"#) {
                #expect(ids.contains(#"{"_id":"q\#(number)"}"#))
            }
            if ids.count == 2 * count { break }
        }
        try await answers
        try await scene.close()
    }
}
