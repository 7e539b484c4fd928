import Sheaf
import SheafDocument
import SheafReplication
import SheafStatements
import SheafStorage
import SheafTestSupport
import Synchronization
import Testing

/// Tests of the status of other peers, as system collections and waiting callers see it.
struct ReplicationRegistryTests {
    private let key = [UInt8](repeating: 1, count: 32)
    private let other = [UInt8](repeating: 2, count: 32)

    private func status(_ change: (inout ReplicationStatus) -> Void) -> ReplicationStatus {
        var status = ReplicationStatus()
        change(&status)
        return status
    }

    /// Returns the refusals of documents whose ids are the commits that they lack.
    private func refusals(of key: [UInt8], _ commits: [[UInt64]]) throws -> PeerRefusals {
        var table = RefusalTable()
        for commits in commits {
            let id = try DocumentID.key(of: .string("\(commits)"))
            table.add(
                DocumentAddress(collection: "cars", id: id), commits, .document, of: key,
                milliseconds: 3)
        }
        return table.refusals(of: key)
    }

    // MARK: System collections

    @Test func `the row of a peer has its status, its clock and its progress`() {
        let registry = ReplicationRegistry()
        registry.recordSyncing(true)
        let known = status { status in
            (status.isConnected, status.isServer) = (true, true)
            (status.syncedUpTo, status.deliveredUpTo) = (12, 9)
            status.lastCloseReason = "reset"
            status.updates = 1
            status.attachmentQuotaReason = "too many"
            status.receiving = SyncProgress(of: 7)
            status.receiving?.advance(by: 2)
            status.sending = SyncProgress(of: nil)
            status.sending?.advance(by: 3)
            status.clock.offsetMilliseconds = -5
        }
        registry.update([key: known], [:], at: 40)
        let expected: Object = [
            "_id": .string("pk:" + String(repeating: "01", count: 32)),
            "is_ditto_server": true,
            "clock": [
                "about_ahead_milliseconds": .integer(-5), "quarantined_documents": 0,
                "quarantined_by_peer": 0, "reasons": .array([]),
            ],
            "attachments": ["quota_reason": "too many"],
            "documents": [
                "sync_session_status": "Connected", "last_close_reason": "reset",
                "synced_up_to_local_commit_id": 12, "delivered_up_to_local_commit_id": 9,
                "receiving": ["documents": 2, "remaining": 5],
                "sending": ["documents": 3, "remaining": .null],
                "last_update_received_time": 40,
            ],
        ]
        #expect(registry.rows == [expected])
        #expect(registry.status(of: key) == known && registry.status(of: other) == nil)
    }

    /// Returns the fields of the documents in the row of a peer.
    private func documents(_ registry: ReplicationRegistry, _ row: Int = 0) throws -> Object {
        guard case .object(let documents)? = registry.rows[row]["documents"] else {
            throw NoRow()
        }
        return documents
    }

    private struct NoRow: Error {}

    @Test func `the time of an update is that of the last change of its number`() throws {
        let registry = ReplicationRegistry()
        var times: [Value?] = []
        for (milliseconds, updates) in [(5, 0), (7, 1), (9, 1), (11, 3)] as [(UInt64, Int)] {
            registry.update([key: status { $0.updates = updates }], [:], at: milliseconds)
            times.append(try documents(registry)["last_update_received_time"])
        }
        let expected: [Value?] = [Value.null, 7, 7, 11]
        #expect(times == expected)
    }

    @Test func `peers are in the order of their keys, connected or not`() throws {
        let registry = ReplicationRegistry()
        registry.update(
            [other: status { $0.isConnected = true }, key: status { $0.name = "one" }], [:], at: 0)
        func sessions() throws -> [Value?] {
            try (0..<2).map { try documents(registry, $0)["sync_session_status"] }
        }
        #expect(try sessions() == ["Disabled", "Disabled"])
        registry.recordSyncing(true)
        #expect(try sessions() == ["Not Connected", "Connected"])
        #expect(registry.connected.map(\.key) == [other])
        registry.update(
            [key: status { ($0.name, $0.isConnected) = ("one", true) }], [:], at: 0)
        #expect(registry.connected.map(\.key) == [key, other])
        #expect(registry.connected.map(\.status.name) == ["one", ""])
        registry.close()
        #expect(try sessions() == ["Disabled", "Disabled"])
        #expect(registry.connected.isEmpty && registry.status(of: key)?.name == "one")
    }

    @Test func `delivered commits precede the first one that the peer refuses`() throws {
        let registry = ReplicationRegistry()
        let known = status { $0.deliveredUpTo = 9 }
        func delivered(_ refusals: PeerRefusals) throws -> Value? {
            registry.update([key: known], [key: refusals], at: 0)
            return try documents(registry)["delivered_up_to_local_commit_id"]
        }
        #expect(try delivered(PeerRefusals()) == 9)
        #expect(try delivered(try refusals(of: key, [[7, 8], [6, 12]])) == 5)
        #expect(try delivered(try refusals(of: key, [[20]])) == 9)
        #expect(try delivered(try refusals(of: key, [[]])) == 9)
        var counted = try refusals(of: key, [[20]])
        (counted.omitted, counted.omittedThrough) = (1, 30)
        #expect(try delivered(counted) == 0)
        #expect(try delivered(PeerRefusals()) == 9)
    }

    @Test func `transports and refused writes are system collections`() throws {
        let store = try SceneStore(SimulatedVolume(seed: 1), LogStoreOptions())
        let registry = ReplicationRegistry()
        registry.register(in: store.queries)
        registry.recordTransports(["TCP", "memory"])
        let transports = try store.rows("SELECT * FROM system:transports_info ORDER BY _id")
        #expect(
            transports == [
                #"{"_id":"0","is_active":false,"transport":"TCP"}"#,
                #"{"_id":"1","is_active":false,"transport":"memory"}"#,
            ])
        registry.recordSyncing(true)
        let active = try store.rows("SELECT is_active FROM system:transports_info")
        #expect(active == [#"{"is_active":true}"#, #"{"is_active":true}"#])
        #expect(try store.rows("SELECT * FROM system:data_sync_info").isEmpty)
        registry.update(
            [other: status { _ in }],
            [other: try refusals(of: other, [[4]]), key: try refusals(of: key, [[5, 6]])], at: 0)
        #expect(try store.rows("SELECT * FROM system:data_sync_info").count == 1)
        #expect(registry.refusedWrites.map(\.commitIDs) == [[5, 6], [4]])
        let name = "pk:" + String(repeating: "02", count: 32)
        let refused = try store.rows(
            "SELECT * FROM system:refused_writes WHERE document_id = '[4]'")
        #expect(
            refused == [
                #"{"_id":"\#(name)/\"cars\"/\"[4]\"","collection":"cars","commit_ids":[4],"#
                    + #""document_id":"[4]","message":"the rules of the peer do not allow the "#
                    + #"local state of the document","peer":"\#(name)","reason":"document","#
                    + #""refused_at":3}"#
            ])
    }

    // MARK: Connections

    @Test func `the traffic of a peer is that of its newest connection`() {
        let registry = ReplicationRegistry()
        let traffic = (0..<3).map { ConnectionTraffic(with: $0 == 2 ? other : key) }
        for (number, one) in zip([3, 9, 11] as [UInt64], traffic) {
            one.recordSent(Int(number))
            one.recordSent(1)
            one.recordReceived(Int(number))
            registry.record(one, ofConnection: number)
        }
        #expect(registry.traffic(with: key)?.bytesSent == 10)
        #expect(registry.traffic(with: key)?.bytesReceived == 9)
        #expect(registry.traffic(with: other)?.bytesSent == 12)
        registry.record(nil, ofConnection: 9)
        #expect(registry.traffic(with: key)?.bytesSent == 4)
        registry.close()
        #expect(registry.traffic(with: key) == nil && registry.traffic(with: other) == nil)
    }

    @Test func `a listener receives the known refused writes, and new ones until the peer closes`()
        throws
    {
        let registry = ReplicationRegistry()
        let received = Mutex<[[[Int64]]]>([])
        let listener: @Sendable ([RefusedWrite]) -> Void = { writes in
            received.withLock { $0.append(writes.map(\.commitIDs)) }
        }
        registry.onRefusedWrites(listener)
        #expect(received.withLock { $0 } == [])
        let known = try refusals(of: key, [[5]])
        registry.update([:], [key: known], at: 0)
        registry.onRefusedWrites(nil)
        registry.announce(known.writes)
        #expect(received.withLock { $0 } == [])
        registry.onRefusedWrites(listener)
        registry.announce(try refusals(of: key, [[7]]).writes)
        registry.close()
        registry.announce(known.writes)
        #expect(received.withLock { $0 } == [[[5]], [[7]]])
    }

    // MARK: Waiting

    /// Returns how a wait ends; before that, the peer is closed, so that each wait ends.
    private func end(
        of commit: UInt64, _ synced: UInt64?, _ refusals: PeerRefusals
    ) async throws -> String {
        let registry = ReplicationRegistry()
        let key = key
        // The wait may begin before or after the update, with the same result.
        let waiting = Task { try await registry.wait(for: commit, on: key) }
        registry.update([key: status { $0.syncedUpTo = synced }], [key: refusals], at: 0)
        registry.close()
        switch try await waiting.value {
        case .reached: return "reached"
        case .refused(let write): return "refused \(write.commitIDs)"
        case .refusedUnnamed(let count): return "\(count) refused"
        case .ended: return "ended"
        }
    }

    @Test func `a wait ends when the peer has the commit, or when this peer closes`() async throws {
        let none = PeerRefusals()
        #expect(try await end(of: 7, 7, none) == "reached")
        #expect(try await end(of: 7, 8, none) == "reached")
        #expect(try await end(of: 7, 6, none) == "ended")
        #expect(try await end(of: 1, nil, none) == "ended")
        #expect(try await end(of: 0, nil, none) == "reached")
    }

    @Test func `a wait ends when the peer refuses documents that the commit may have`() async throws
    {
        let named = try refusals(of: key, [[5, 7]])
        #expect(try await end(of: 7, 9, named) == "refused [5, 7]")
        #expect(try await end(of: 6, 9, named) == "reached")
        let counted = PeerRefusals(writes: [], omitted: 2, omittedThrough: 7)
        #expect(try await end(of: 7, 9, counted) == "2 refused")
        #expect(try await end(of: 8, 9, counted) == "reached")
        #expect(try await end(of: 8, 7, counted) == "ended")
    }

    @Test func `a canceled wait throws, and others go on`() async throws {
        let registry = ReplicationRegistry()
        let key = key
        let canceled = Task { try await registry.wait(for: 7, on: key) }
        let waiting = Task { try await registry.wait(for: 7, on: key) }
        canceled.cancel()
        await #expect(throws: CancellationError.self) { _ = try await canceled.value }
        registry.update([key: status { $0.syncedUpTo = 7 }], [:], at: 0)
        let end = try await waiting.value
        guard case .reached = end else {
            Issue.record("the other wait has ended otherwise")
            return
        }
    }
}
