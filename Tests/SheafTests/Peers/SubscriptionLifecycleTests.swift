import Sheaf
import SheafDocument
import SheafStatements
import Testing

/// The documents of a device while subscriptions begin and end, and after evictions.
struct SubscriptionLifecycleTests {
    private func insert(_ id: String, _ status: String, into peer: Peer) async throws {
        try await peer.store.execute(
            "INSERT INTO orders DOCUMENTS (:order)",
            ["order": ["_id": .string(id), "status": .string(status)] as Value])
    }

    private func ids(_ peer: Peer, _ collection: String = "orders") async throws -> String {
        try await peer.store.execute(
            DQL(verbatim: "SELECT _id FROM \(collection) ORDER BY _id")
        ).items.map { try $0.value["_id"]?.json ?? "" }.joined(separator: " ")
    }

    /// Waits until a peer has all documents of another one that match its subscriptions.
    private func settle(_ peer: Peer, from other: Peer) async throws {
        // The request for reports makes the replicator process new commits first, which may trigger
        // a subscription.
        _ = try peer.sync.surveys()
        let marker = try await other.store.execute("INSERT INTO markers DOCUMENTS ({'n': 1})")
        try await other.sync.wait(for: try #require(marker.commitID), on: peer.key)
    }

    @Test func `a peer without subscriptions receives nothing, and relays nothing`() async throws {
        let scene = try await PeerScene(3)
        try scene.peers[2].sync.registerSubscription("SELECT * FROM orders")
        scene.connect(0, 1)
        scene.connect(1, 2)
        try await insert("a", "OPEN", into: scene.peers[0])
        try await insert("b", "OPEN", into: scene.peers[1])
        // The marker is in a subscription of the second peer, and can be waited for.
        try scene.peers[1].sync.registerSubscription("SELECT * FROM markers")
        try await scene.peers[0].store.execute("INSERT INTO markers DOCUMENTS ({'_id': 'm'})")
        try await scene.peers[1].items(of: "SELECT * FROM markers") { $0.count == 1 }
        try await settle(scene.peers[2], from: scene.peers[1])
        let (middle, last) = (try await ids(scene.peers[1]), try await ids(scene.peers[2]))
        #expect(middle == #""b""#)
        #expect(last == #""b""#)
        try await scene.close()
    }

    @Test func `a canceled subscription receives nothing more and evicts nothing`() async throws {
        let scene = try await PeerScene(2)
        let (device, server) = (scene.peers[0], scene.peers[1])
        let open = try device.sync.registerSubscription(
            "SELECT * FROM orders WHERE status = 'OPEN'")
        try device.sync.registerSubscription("SELECT * FROM orders WHERE status = 'NEW'")
        #expect(device.sync.subscriptions.count == 2)
        scene.connect(0, 1)
        try await insert("a", "OPEN", into: server)
        try await insert("b", "NEW", into: server)
        try await insert("c", "COMPLETE", into: server)
        try await device.items(of: "SELECT * FROM orders") { $0.count == 2 }
        open.cancel()
        #expect(open.isCancelled && device.sync.subscriptions.count == 1)
        try await insert("d", "OPEN", into: server)
        try await insert("e", "NEW", into: server)
        try await device.items(of: "SELECT * FROM orders WHERE _id = 'e'") { $0.count == 1 }
        let kept = try await ids(device)
        // A document sent before the other side received the cancellation may have arrived.
        #expect([#""a" "b" "e""#, #""a" "b" "d" "e""#].contains(kept))
        try await settle(device, from: server)
        try await insert("f", "OPEN", into: server)
        try await settle(device, from: server)
        let later = try await ids(device)
        #expect(later == kept)
        try await scene.close()
    }

    /// Follows the pattern of states: completed orders match no subscription, and are evicted.
    @Test func `a completed order disappears from the device that evicts it, and from no other`()
        async throws
    {
        let scene = try await PeerScene(2)
        let (device, server) = (scene.peers[0], scene.peers[1])
        try server.sync.registerSubscription("SELECT * FROM orders")
        try device.sync.registerSubscription("SELECT * FROM orders WHERE status != 'COMPLETE'")
        scene.connect(0, 1)
        for id in ["a", "b", "c"] { try await insert(id, "OPEN", into: server) }
        try await insert("d", "COMPLETE", into: server)
        try await device.items(of: "SELECT * FROM orders") { $0.count == 3 }
        let completed = try await device.store.execute(
            """
            INSERT INTO orders DOCUMENTS ({'_id': 'a', 'status': 'COMPLETE'})
            ON ID CONFLICT DO UPDATE
            """)
        try await device.sync.wait(for: try #require(completed.commitID), on: server.key)
        let evicted = try await device.store.execute(
            "EVICT FROM orders WHERE status = 'COMPLETE'")
        #expect(evicted.mutatedDocumentIDs == ["a"])
        // The reconciliation after the eviction may deliver an order that is completed meanwhile.
        try await settle(device, from: server)
        // An order completed elsewhere is sent once more, so that the device can evict it.
        try await server.store.execute("UPDATE orders SET status = 'COMPLETE' WHERE _id = 'b'")
        try await device.items(of: "SELECT _id FROM orders WHERE status = 'COMPLETE'") {
            $0 == [#"{"_id":"b"}"#]
        }
        try await device.store.execute("EVICT FROM orders WHERE status = 'COMPLETE'")
        // A new order arrives after all documents that the eviction could bring back.
        try await insert("e", "OPEN", into: server)
        try await device.items(of: "SELECT * FROM orders WHERE _id = 'e'") { $0.count == 1 }
        try await settle(device, from: server)
        let (local, remote) = (try await ids(device), try await ids(server))
        #expect(local == #""c" "e""#)
        #expect(remote == #""a" "b" "c" "d" "e""#)
        // An order that matches again is sent completely.
        try await server.store.execute(
            "UPDATE orders SET status = 'OPEN', note = 'again' WHERE _id = 'a'")
        try await device.items(of: "SELECT note, status FROM orders WHERE _id = 'a'") {
            $0 == [#"{"note":"again","status":"OPEN"}"#]
        }
        try await scene.close()
    }

    /// Sets a flag on the documents that all devices may evict.
    @Test func `a document marked as safe to evict is sent once more, and not again`()
        async throws
    {
        let scene = try await PeerScene(3)
        let (one, two, server) = (scene.peers[0], scene.peers[1], scene.peers[2])
        for device in [one, two] {
            try device.sync.registerSubscription(
                "SELECT * FROM orders WHERE isSafeToEvict = false")
        }
        try server.sync.registerSubscription("SELECT * FROM orders")
        for (left, right) in [(0, 1), (1, 2), (0, 2)] { scene.connect(left, right) }
        for id in ["a", "b"] {
            try await server.store.execute(
                "INSERT INTO orders DOCUMENTS (:order)",
                ["order": ["_id": .string(id), "isSafeToEvict": false] as Value])
        }
        for device in [one, two] {
            try await device.items(of: "SELECT * FROM orders") { $0.count == 2 }
        }
        try await server.store.execute(
            "UPDATE orders SET isSafeToEvict = true WHERE _id = 'a'")
        for device in [one, two] {
            try await device.items(of: "SELECT * FROM orders WHERE isSafeToEvict = true") {
                $0.count == 1
            }
        }
        // While one of the devices has an unmarked state, or has yet to send the mark, the document
        // may reappear.
        for (peer, other) in [(one, two), (two, one), (one, server), (two, server)] {
            try await settle(peer, from: other)
        }
        for device in [one, two] {
            try await device.store.execute("EVICT FROM orders WHERE isSafeToEvict = true")
        }
        try await server.store.execute("UPDATE orders SET n = 1 WHERE _id = 'b'")
        for device in [one, two] {
            try await device.items(of: "SELECT * FROM orders WHERE n = 1") { $0.count == 1 }
        }
        for device in [one, two] { try await settle(device, from: server) }
        for device in [one, two] {
            let kept = try await ids(device)
            #expect(kept == #""b""#)
        }
        let remote = try await ids(server)
        #expect(remote == #""a" "b""#)
        try await scene.close()
    }

    @Test
    func `a document marked as deleted can be restored, and a deleted one disappears everywhere`()
        async throws
    {
        let scene = try await PeerScene(2)
        let (device, server) = (scene.peers[0], scene.peers[1])
        try device.sync.registerSubscription("SELECT * FROM notes WHERE isDeleted = false")
        try server.sync.registerSubscription("SELECT * FROM notes")
        scene.connect(0, 1)
        for id in ["a", "b"] {
            try await server.store.execute(
                "INSERT INTO notes DOCUMENTS (:note)",
                ["note": ["_id": .string(id), "text": "t", "isDeleted": false] as Value])
        }
        try await device.items(of: "SELECT * FROM notes") { $0.count == 2 }
        let marked = try await device.store.execute(
            "UPDATE notes SET isDeleted = true WHERE _id = 'a'")
        try await device.sync.wait(for: try #require(marked.commitID), on: server.key)
        try await device.store.execute("EVICT FROM notes WHERE isDeleted = true")
        try await server.store.execute(
            "UPDATE notes SET isDeleted = false, text = 'u' WHERE _id = 'a'")
        try await device.items(of: "SELECT text FROM notes WHERE _id = 'a'") {
            $0 == [#"{"text":"u"}"#]
        }
        try await device.store.execute("DELETE FROM notes WHERE _id = 'b'")
        try await server.items(of: "SELECT _id FROM notes") { $0 == [#"{"_id":"a"}"#] }
        try await scene.close()
    }

    /// Inserts an object on one peer, and an array on the other.
    @Test func `peers that insert a field with different types agree on its value`() async throws {
        let scene = try await PeerScene(2)
        for peer in scene.peers { try peer.sync.registerSubscription("SELECT * FROM people") }
        try await scene.peers[0].store.execute(
            """
            INSERT INTO people DOCUMENTS
            ({'_id': 'bob', 'left': 1, 'address': {'street': 'Long Road', 'zip': '90210'}})
            """)
        try await scene.peers[1].store.execute(
            """
            INSERT INTO people DOCUMENTS
            ({'_id': 'bob', 'right': 1, 'address': [10298, 'Long Road']})
            """)
        scene.connect(0, 1)
        var addresses: Set<[String]> = []
        for peer in scene.peers {
            try await peer.items(of: "SELECT _id FROM people WHERE left = 1 AND right = 1") {
                $0.count == 1
            }
            let rows = try await peer.store.execute("SELECT address FROM people")
            addresses.insert(try rows.items.map { try $0.jsonString })
        }
        // The writes are concurrent; within one millisecond the random site decides.
        let written = [
            [#"{"address":{"street":"Long Road","zip":"90210"}}"#],
            [#"{"address":[10298,"Long Road"]}"#],
        ]
        #expect(addresses.count == 1 && addresses.isSubset(of: written), "\(addresses)")
        try await scene.peers[0].store.execute(
            "UPDATE people SET address = 'nowhere' WHERE _id = 'bob'")
        try await scene.peers[1].items(of: "SELECT address FROM people") {
            $0 == [#"{"address":"nowhere"}"#]
        }
        let sums = try scene.peers.map { try $0.sync.checksum(of: "SELECT * FROM people") }
        #expect(sums[0] == sums[1])
        try await scene.close()
    }

    @Test func `pending commits are synced in order, and reported`() async throws {
        let scene = try await PeerScene(2)
        let (device, server) = (scene.peers[0], scene.peers[1])
        try server.sync.registerSubscription("SELECT * FROM orders")
        try await device.store.execute(
            "ALTER SYSTEM SET live_query_system_collection_refresh_interval = 10")
        var pending: [Int64] = []
        for number in 0..<5 {
            let result = try await device.store.execute(
                "INSERT INTO orders DOCUMENTS (:order)",
                ["order": ["_id": .integer(Int64(number))] as Value])
            pending.append(try #require(result.commitID))
        }
        #expect(pending == pending.sorted() && Set(pending).count == 5)
        scene.connect(0, 1)
        var last: Int64 = 0
        let rows = try device.store.observe(
            DQL(verbatim: "SELECT * FROM system:data_sync_info"))
        for try await result in rows {
            guard let item = result.items.first,
                case .object(let documents)? = try item.value["documents"],
                case .integer(let synced)? = documents["synced_up_to_local_commit_id"]
            else { continue }
            #expect(synced >= last)
            last = synced
            let remote = try await server.store.execute("SELECT * FROM orders").items.count
            #expect(remote >= pending.prefix { $0 <= synced }.count)
            if synced >= pending[4] { break }
        }
        try await scene.close()
    }

    @Test func `a subscription is not limited by the statement timeout`() throws {
        let scene = try FileScene(2)
        for number in 0..<2 {
            try scene.execute(number, "ALTER SYSTEM SET dql_request_timeout_seconds = 1")
        }
        try scene.subscribe(
            1, ["SELECT * FROM orders WHERE ANY v IN numbers SATISFIES v = 4999 END"])
        try scene.connect(0, 1)
        try scene.run()
        for id in ["a", "b"] {
            // The evaluation takes enough steps for a check of the timeout.
            let numbers = Value.array((0..<5_000).map { .integer($0) })
            try scene.execute(
                0, "INSERT INTO orders DOCUMENTS (:order)",
                ["order": ["_id": .string(id), "numbers": numbers] as Value])
            try scene.run()
            try scene.advance(seconds: 5)
        }
        #expect(scene.isConnected)
        let ids = try scene.nodes[1].rows("SELECT _id FROM orders ORDER BY _id")
        #expect(ids == [#"{"_id":"a"}"#, #"{"_id":"b"}"#])
    }
}
