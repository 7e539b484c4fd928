import BenchHarness

/// From the call that opens a store to the first payload in hand.
enum OpenWorkload {
    static var workload: Workload {
        Workload(
            "open", "opening a store of a million entries and reading one; the files are warm",
            cases: [
                Case(
                    "open-checkpoint", "closed in order before", unit: "ms", .lower,
                    systems: Peers.engineAndAll.map { peer in
                        System(peer.name) { try await OpenTrial(peer, $0, replays: false) }
                    }),
                Case(
                    "open-replay", "all entries only in the log", unit: "ms", .lower,
                    systems: ([SheafStore.peer] + Peers.withLog).map { peer in
                        System(peer.name) { try await OpenTrial(peer, $0, replays: true) }
                    }),
            ])
    }
}
