package import BenchHarness

/// Opaque entries: durable commits, loads, reads, and the latency and space of compaction.
package enum StorageWorkload {
    package static var workload: Workload {
        Workload(
            "storage", "250-byte payloads under 24-byte keys, on the disk",
            cases: [durable(writers: 1), durable(writers: 8), durable(writers: 64)]
                + [load(.random), load(.rising), get, compaction, space])
    }

    private static func durable(writers: Int) -> Case {
        let engine = System(SheafStore.peer.name) {
            try TaskCommitTrial(SheafStore.peer, $0, writers: writers)
        }
        var systems =
            [engine]
            + BenchmarkPeers.all.map { peer in
                System(peer.name) { try ThreadedCommitTrial(peer, $0, writers: writers) }
            }
        if writers == 1 {
            systems.append(System("limit") { try LimitTrial($0, size: 320, unitsPerSync: 1) })
        }
        return Case(
            "durable-\(writers)", "one entry per commit, \(writers) concurrent writers",
            unit: "commits/s", .higher, hasLatencies: true, systems: systems)
    }

    private static func load(_ order: Entries.Order) -> Case {
        let entries = Entries(order)
        var systems = BenchmarkPeers.engineAndAll.map { peer in
            System(peer.name) { LoadTrial(peer, $0, entries) }
        }
        systems.append(
            System("limit") {
                try LimitTrial($0, size: 320 * LoadTrial.batch, unitsPerSync: LoadTrial.batch)
            })
        return Case(
            order == .random ? "load-1000" : "load-1000-sequential",
            "durable commits of 1,000 new entries, \(order) keys",
            unit: "entries/s", .higher, systems: systems)
    }

    private static var get: Case {
        Case(
            "get-random", "get payloads of random keys, in one snapshot", unit: "gets/s", .higher,
            systems: BenchmarkPeers.engineAndAll.map { peer in
                System(peer.name) { try await ReadTrial(peer, $0) }
            })
    }

    private static var compaction: Case {
        Case(
            stem: "compaction", .p99, "durable commits of 100 entries that replace older ones",
            systems: (BenchmarkPeers.engineAndAll + [SheafStore.uncompactedPeer]).map { peer in
                System(peer.name) { try await OverwriteTrial(peer, $0) }
            })
    }

    private static var space: Case {
        Case(
            "overwrite-space", "largest directory size while all entries are replaced 20 times",
            unit: "× live", .lower,
            systems: BenchmarkPeers.sweeping.map { peer in
                System(peer.name) { try await SpaceTrial(peer, $0) }
            })
    }
}
