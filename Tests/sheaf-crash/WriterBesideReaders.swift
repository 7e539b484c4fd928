import SheafStorage
import SheafSystem
import SheafTestSupport
import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// The speed of a writer beside processes that read each of its commits.
enum WriterBesideReaders {
    private static let writerCount = 4
    private static let keyCount = 10_000
    private static let payload = [UInt8](repeating: 1, count: 250)
    private static let phaseNanoseconds: UInt64 = 1_000_000_000

    /// Measures a writer alone and beside readers in alternation; returns the figures.
    ///
    /// The writer should have the first processor, since readers use the others: its costs then do
    /// not include those of sharing a processor.
    static func run(pairs: Int) async throws -> String {
        let directory = TemporaryDirectory()
        let path = directory.path("store")
        let store = try LogStore.open(at: path, options: LogStoreOptions())
        let commits = Commits()
        let writers = (0..<writerCount).map { writer in
            Task { try await write(writer, to: store, commits) }
        }
        var rates: [(alone: Double, beside: Double)] = []
        // The first commits fill a small tree, and are faster.
        _ = try rate(of: commits)
        for pair in 0..<max(pairs, 1) {
            // The order alternates, since the speed of a disk drifts.
            if pair % 2 == 0 {
                let alone = try rate(of: commits)
                rates.append((alone, try beside(path, commits)))
            } else {
                let beside = try beside(path, commits)
                rates.append((try rate(of: commits), beside))
            }
        }
        commits.stop()
        for writer in writers { try await writer.value }
        try store.close()
        let ratios = rates.map { $0.beside / $0.alone }.sorted()
        let lines = rates.map {
            "alone \(Int($0.alone)) commits/s, beside \(Readers.processCount) readers "
                + "\(Int($0.beside)): \(rounded($0.beside / $0.alone))"
        }
        return (lines + ["median \(rounded(ratios[ratios.count / 2]))"]).joined(separator: "\n")
    }

    /// Restricts this thread, and those it starts, to some processors if the system has them.
    static func restrict(to processors: String) {
        _ = try? ChildProcess.run("taskset", ["-cp", processors, "\(getpid())"])
    }

    private static func rounded(_ ratio: Double) -> Double { (ratio * 1_000).rounded() / 1_000 }

    private static func beside(_ path: String, _ commits: Commits) throws -> Double {
        let readers = try (0..<Readers.processCount).map { _ in
            try KillRounds.start("refresh", path)
        }
        defer { for reader in readers { reader.kill() } }
        for reader in readers where reader.lines()?.first != "open" {
            throw CrashFailure("a reader cannot open the store")
        }
        let before = commits.count
        let rate = try rate(of: commits)
        for reader in readers {
            let last = reader.lines(until: 0)?.last.flatMap { Int($0) } ?? 0
            guard last > before else {
                throw CrashFailure("a reader has seen commit \(last); the writer had \(before)")
            }
        }
        return rate
    }

    /// Returns the commits per second of one phase.
    private static func rate(of commits: Commits) throws -> Double {
        let (start, before) = (Clock.system.monotonicNanoseconds(), commits.count)
        Monitor(()).wait(until: start + phaseNanoseconds, while: { true })
        let elapsed = Clock.system.monotonicNanoseconds() - start
        guard commits.count > before else { throw CrashFailure("the writer has stopped") }
        return Double(commits.count - before) * 1e9 / Double(elapsed)
    }

    private static func write(_ writer: Int, to store: LogStore, _ commits: Commits) async throws {
        var number = writer
        while !commits.isStopped {
            number += writerCount
            var batch = WriteBatch()
            try batch.put(Array("key \(number * 7_919 % keyCount)".utf8), payload)
            try await store.waitForDurability(of: store.append(batch))
            commits.add()
        }
    }

    private final class Commits: Sendable {
        private let number = Atomic(0)
        private let stopped = Atomic(false)

        var count: Int { number.load(ordering: .relaxed) }
        var isStopped: Bool { stopped.load(ordering: .relaxed) }
        func add() { number.add(1, ordering: .relaxed) }
        func stop() { stopped.store(true, ordering: .relaxed) }
    }
}

extension ChildCommand {
    /// Time between two reports of a reader.
    private static let reportNanoseconds: UInt64 = 100_000_000

    /// Reads each commit of a store that another process writes, and prints the last one at times.
    static func refresh(_ path: String) throws {
        WriterBesideReaders.restrict(to: "1-63")
        let follower = try LogFollower(try LogReader.open(at: path))
        let watch = follower.watch()
        print("open", to: 1)
        var reported: UInt64 = 0
        while true {
            watch?.wait(milliseconds: 100)
            _ = try follower.advance()
            let now = Clock.system.monotonicNanoseconds()
            guard now - reported >= reportNanoseconds else { continue }
            reported = now
            print("\(follower.snapshot.commit)", to: 1)
        }
    }
}
