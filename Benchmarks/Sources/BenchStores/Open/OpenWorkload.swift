package import BenchHarness

/// The time from opening a store to the first payload.
package enum OpenWorkload {
    package static var workload: Workload {
        Workload(
            "open", "opening a store of a million entries and reading one; files in the page cache",
            cases: [
                Case(
                    "open-checkpoint", "after a clean close", unit: "ms", .lower,
                    systems: BenchmarkPeers.engineAndAll.map { peer in
                        System(peer.name) { try await OpenTrial(peer, $0, replays: false) }
                    }),
                Case(
                    "open-replay", "with all entries only in the log", unit: "ms", .lower,
                    systems: ([SheafStore.peer] + BenchmarkPeers.withLog).map { peer in
                        System(peer.name) { try await OpenTrial(peer, $0, replays: true) }
                    }),
            ])
    }
}
