import SheafStorage
import SheafSystem
import SheafTestSupport

/// Processes that read a store, beside one that writes, compacts and is killed.
enum Readers {
    static let processCount = 8

    /// Runs readers beside a writer for a time, and kills both kinds at random moments.
    ///
    /// Each reader checks all that it sees; this process checks that nothing is taken back.
    static func run(seconds: Int, seed: UInt64) throws -> String {
        let directory = TemporaryDirectory()
        let path = directory.path("store")
        var random = SeededRandom(seed: seed, "readers")
        try LogStore.open(at: path, options: CrashLoad.options).close()
        var rounds = ReaderRounds(path: path)
        let end = Clock.system.monotonicNanoseconds() + UInt64(seconds) * 1_000_000_000
        do {
            try rounds.startWriter()
            for index in 0..<processCount { try rounds.startReader(index) }
            while Clock.system.monotonicNanoseconds() < end {
                let pause = UInt64(5 + random.below(60)) * 1_000_000
                try rounds.readOutput(until: Clock.system.monotonicNanoseconds() + pause)
                switch random.below(30) {
                case 0: try rounds.restartWriter()
                case 1..<4: try rounds.restartReader(random.below(processCount))
                default: break
                }
            }
            try rounds.finish()
        } catch {
            throw CrashFailure("seed \(seed): \(error)")
        }
        return "\(seconds) s with \(processCount) readers: \(rounds.summary)"
    }
}

/// The processes on one store, and what each of them has reported.
struct ReaderRounds {
    let path: String
    private var writer: ChildProcess?
    private var readers: [ChildProcess?] = Array(repeating: nil, count: Readers.processCount)
    /// The commits of each writing task that are acknowledged.
    private var acknowledged = [Int](repeating: 0, count: CrashLoad.writerCount)
    /// The most commits of each writing task that a reader has seen.
    private var seen = [Int](repeating: 0, count: CrashLoad.writerCount)
    private var states = 0
    private var writerKills = 0
    private var readerKills = 0

    init(path: String) {
        self.path = path
    }

    var summary: String {
        "\(acknowledged.reduce(0, +)) commits, \(states) states read, \(writerKills) writers and "
            + "\(readerKills) readers killed; nothing wrong or taken back"
    }

    mutating func startWriter() throws {
        writer = try KillRounds.start("load", path)
    }

    mutating func startReader(_ index: Int) throws {
        readers[index] = try KillRounds.start("follow", path, "\(index % 2)")
    }

    mutating func restartWriter() throws {
        guard let child = writer else { return }
        child.kill()
        try record(writer: child.remainingLines())
        try checkKilled(child)
        writerKills += 1
        try startWriter()
    }

    mutating func restartReader(_ index: Int) throws {
        guard let child = readers[index] else { return }
        child.kill()
        try record(reader: child.remainingLines())
        try checkKilled(child)
        readerKills += 1
        try startReader(index)
    }

    private func checkKilled(_ child: ChildProcess) throws {
        let status = child.wait()
        guard status == 128 + 9 else { throw CrashFailure("a child ended with \(status)") }
    }

    mutating func readOutput(until deadline: UInt64) throws {
        if let child = writer {
            guard let lines = child.lines(until: deadline) else {
                throw CrashFailure("the writer ended with \(child.wait())")
            }
            try record(writer: lines)
        }
        for child in readers {
            guard let child else { continue }
            guard let lines = child.lines(until: 0) else {
                throw CrashFailure("a reader ended with \(child.wait())")
            }
            try record(reader: lines)
        }
    }

    /// Kills all processes, and checks that a new writer finds everything that readers have seen.
    mutating func finish() throws {
        for index in readers.indices {
            guard let child = readers[index] else { continue }
            child.kill()
            try record(reader: child.remainingLines())
        }
        guard let child = writer else { return }
        child.kill()
        try record(writer: child.remainingLines())
        let store = try LogStore.open(at: path, options: CrashLoad.options)
        for index in seen.indices {
            let count = try CrashLoad.count(of: index, in: store.snapshot())
            guard count >= max(seen[index], acknowledged[index]) else {
                throw CrashFailure(
                    "readers saw \(seen[index]) commits of writer \(index), \(acknowledged[index]) "
                        + "were acknowledged, but the store has \(count)")
            }
        }
        try store.close()
        guard states > 0 else { throw CrashFailure("no reader has read anything") }
    }

    private mutating func record(writer lines: [String]) throws {
        for line in lines where line != "open" {
            let words = line.split(separator: " ").compactMap { Int($0) }
            guard words.count == 2, acknowledged.indices.contains(words[0]) else {
                throw CrashFailure("unexpected output of the writer: \(line)")
            }
            let (index, count) = (words[0], words[1])
            // A restarted writer continues after all that readers have seen.
            guard count > acknowledged[index] else {
                throw CrashFailure("writer \(index) commits \(count) once more")
            }
            acknowledged[index] = count
        }
    }

    private mutating func record(reader lines: [String]) throws {
        for line in lines {
            let words = line.split(separator: " ").compactMap { Int($0) }
            guard words.count == seen.count else {
                throw CrashFailure("unexpected output of a reader: \(line)")
            }
            for index in seen.indices { seen[index] = max(seen[index], words[index]) }
            states += 1
        }
    }
}

extension ChildCommand {
    /// The number of refreshes after which a reader opens the store again.
    private static let refreshesPerOpening = 400

    /// Reads a store that another process writes, checks each state, and prints its counts.
    static func follow(_ path: String, isWatching: Bool) throws {
        var seen = [Int](repeating: 0, count: CrashLoad.writerCount)
        while true {
            let follower = try LogFollower(try LogReader.open(at: path))
            let watch = isWatching ? follower.watch() : nil
            try report(follower.snapshot, &seen)
            for _ in 0..<refreshesPerOpening {
                watch?.wait(milliseconds: 100)
                guard let advance = try follower.advance() else { continue }
                try report(advance.snapshot, &seen)
            }
        }
    }

    private static func report(_ snapshot: LogSnapshot, _ seen: inout [Int]) throws {
        seen = try CrashLoad.check(
            snapshot, acknowledged: seen, unreported: seen.map { _ in Int(UInt32.max) })
        print(seen.map { "\($0)" }.joined(separator: " "), to: 1)
    }
}
