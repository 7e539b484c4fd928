import SheafStorage
import SheafStore
import SheafSystem
import SheafTestSupport
import Synchronization

/// The speed of backups, compared with `cp`, and their effect on a writer.
enum CopySpeed {
    private static let payloadLength = 4_000
    private static let batchCount = 250
    private static let seconds: UInt64 = 1_000_000_000

    /// Measures a store of `megabytes`; returns the figures.
    static func run(megabytes: Int) throws -> String {
        let directory = TemporaryDirectory()
        let path = directory.path("store")
        let store = try LogStore.open(at: path, options: LogStoreOptions())
        var random = SeededRandom(seed: 1, "speed")
        for number in 0..<megabytes {
            var batch = WriteBatch()
            for index in 0..<batchCount {
                let key = Array("key\(number * batchCount + index)".utf8)
                try batch.put(key, random.bytes(16) + [UInt8](repeating: 7, count: payloadLength))
            }
            _ = try store.engine.append(batch)
            try store.flush()
        }
        var lines: [String] = []
        func measure(_ name: String, _ body: () throws -> Int) throws {
            let start = Clock.system.monotonicNanoseconds()
            let bytes = try body()
            let time = Double(Clock.system.monotonicNanoseconds() - start) / Double(seconds)
            let speed = Int(Double(bytes) / time / 1e6)
            lines.append("\(name): \(Int(time * 1_000)) ms, \(speed) MB/s")
        }
        func backUp(_ name: String, since earlier: String? = nil) throws -> CopyReport {
            try BackupWriter.write(
                BackupSource(volume: store.engine.volume) { store.snapshot() }, at: path,
                to: directory.path(name), since: earlier.map { directory.path($0) },
                BackupWriter.Options(
                    random: { OperatingSystem.randomInteger() },
                    attachments: .ofDocuments))
        }
        for round in 1...3 {
            try measure("cp and sync \(round)") {
                _ = try ChildProcess.run(
                    "sh", ["-c", "cp -r \(path) \(directory.path)/cp\(round) && sync -f \(path)"])
                return megabytes * batchCount * payloadLength
            }
            try measure("backup \(round)") { try backUp("backup\(round)").copiedBytes }
            try measure("incremental backup \(round)") {
                let report = try backUp("more\(round)", since: "backup\(round)")
                return report.copiedBytes + report.sharedBytes
            }
            _ = try ChildProcess.run(
                "sh", ["-c", "cd \(directory.path) && rm -r cp* more* && sync -f ."])
        }
        lines.append("writer alone: \(try commitsPerSecond(store) { _ in })")
        var count = 0
        let beside = try commitsPerSecond(store) { isOver in
            while !isOver() {
                count += 1
                _ = try backUp("beside\(count)")
            }
        }
        lines.append("writer beside \(count) backups: \(beside)")
        try store.close()
        return lines.joined(separator: "\n")
    }

    /// Runs `body` while another thread commits for ten seconds; returns its commits per second.
    private static func commitsPerSecond(
        _ store: LogStore, _ body: (() -> Bool) throws -> Void
    ) throws -> String {
        let state = Counters()
        let end = Clock.system.monotonicNanoseconds() + 10 * seconds
        let thread = try Thread(name: "writer") {
            var last = Clock.system.monotonicNanoseconds()
            while last < end {
                var batch = WriteBatch()
                let payload = [UInt8](repeating: 1, count: 250)
                guard (try? batch.put(Array("w\(last % 1_000)".utf8), payload)) != nil,
                    (try? store.engine.append(batch)) != nil, (try? store.flush()) != nil
                else { return }
                let now = Clock.system.monotonicNanoseconds()
                state.add(now - last)
                last = now
            }
        }
        try body { Clock.system.monotonicNanoseconds() >= end }
        thread.join()
        return state.text
    }

    /// The durations of the commits of a writer.
    private final class Counters: Sendable {
        private let durations = Mutex<[UInt64]>([])

        func add(_ duration: UInt64) {
            durations.withLock { $0.append(duration) }
        }

        var text: String {
            let sorted = durations.withLock { $0.sorted() }
            guard let last = sorted.last else { return "no commits" }
            let (half, most) = (sorted[sorted.count / 2], sorted[sorted.count * 99 / 100])
            return "\(sorted.count / 10) commits/s, median \(half / 1_000) us, 99 % "
                + "\(most / 1_000) us, longest \(last / 1_000_000) ms"
        }
    }
}
