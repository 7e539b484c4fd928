import BenchHarness
import Glibc

/// Opening a store and reading one payload; closing it is not measured.
package final class OpenTrial: Trial {
    private let peer: BenchmarkPeer
    private let directory: String
    private let options: BenchmarkStoreOptions
    private let entries = Entries(.random)
    private let count: Int

    /// Fills the store; with `replays`, its entries are only in the log.
    init(_ peer: BenchmarkPeer, _ stage: Stage, replays: Bool) async throws {
        self.peer = peer
        directory = stage.disk.path
        options = BenchmarkStoreOptions(staysInLog: replays)
        count = stage.scale.pick(1_000_000, quick: 100_000)
        let loading = try peer.open(
            directory, BenchmarkStoreOptions(isDurable: false, staysInLog: replays))
        try await loading.load(entries, count: count)
        if !replays { try loading.settle() }
        try loading.close()
    }

    func run(round: Int) async throws -> Sample {
        // SQLite's WAL index would survive the process, but not a reboot.
        unlink("\(directory)/store.sqlite-shm")
        let key = entries.key(UInt64(round * 7_919 % count))
        let start = now()
        let store = try peer.open(directory, options)
        let session = try store.session()
        sink(try session.read(key))
        let elapsed = seconds(since: start)
        session.close()
        try store.close()
        return Sample(elapsed * 1_000)
    }

    func finish() {}
}
