import SheafStorage
import SheafSystem
import SheafTestSupport

/// Rounds of starting and killing a child on one store.
struct KillRounds {
    private(set) var acknowledged = [Int](repeating: 0, count: CrashLoad.writerCount)
    private(set) var total = 0
    private static let maximumUnread = 10_000
    /// The number of commits of each writer that may be durable although they were not reported.
    ///
    /// The next child continues after them.
    private var unreported = [Int](repeating: 0, count: CrashLoad.writerCount)

    /// Starts a child on the store at `path`.
    static func start(_ kind: String, _ path: String, _ more: String...) throws -> ChildProcess {
        try ChildProcess(try OwnProgram.path(), ["child", kind, path] + more)
    }

    /// Records the output of a child; returns whether it has opened the store.
    mutating func record(_ lines: [String]) throws -> Bool {
        var isOpen = false
        for line in lines {
            let words = line.split(separator: " ")
            if words == ["open"] {
                isOpen = true
            } else if words.count == 2, let writer = Int(words[0]), let count = Int(words[1]),
                acknowledged.indices.contains(writer)
            {
                let next = acknowledged[writer] + 1
                guard (next...next + unreported[writer]).contains(count) else {
                    throw CrashFailure(
                        "writer \(writer) committed \(count) after \(acknowledged[writer])")
                }
                acknowledged[writer] = count
                unreported[writer] = 0
                total += 1
            } else {
                throw CrashFailure("unexpected output of a child: \(line)")
            }
        }
        return isOpen
    }

    /// Reads the output of a child until a random moment; returns whether it has opened the store.
    mutating func readOutput(_ child: ChildProcess, _ random: inout SeededRandom) throws -> Bool {
        let started = Clock.system.monotonicNanoseconds()
        var isOpen = false
        if random.chance(1, in: 5) {
            // The child is killed before or during recovery.
            let deadline = started + UInt64(random.below(25_000_000))
            while let lines = child.lines(until: deadline), !lines.isEmpty {
                isOpen = try record(lines) || isOpen
            }
            return isOpen
        }
        while !isOpen {
            guard let lines = child.lines() else { throw CrashFailure("a child exited early") }
            isOpen = try record(lines)
        }
        let deadline = Clock.system.monotonicNanoseconds() + UInt64(random.below(40_000_000))
        while Clock.system.monotonicNanoseconds() < deadline {
            guard let lines = child.lines(until: deadline) else {
                throw CrashFailure("a child exited early")
            }
            _ = try record(lines)
        }
        return true
    }

    /// Leaves recovery to the next child.
    mutating func skipCheck() {
        // A writer waits for each commit, so at most one commit is unreported.
        for writer in unreported.indices { unreported[writer] += 1 }
    }

    /// Accounts for output that was printed but not read.
    mutating func skipUnread() {
        // The pipe may contain this number of acknowledgments.
        for writer in unreported.indices { unreported[writer] = Self.maximumUnread }
    }

    /// Opens and closes the store, and verifies all acknowledged commits.
    mutating func check(_ path: String) throws {
        let store = try LogStore.open(at: path, options: CrashLoad.options)
        acknowledged = try CrashLoad.check(
            store.snapshot(), acknowledged: acknowledged, unreported: unreported.map { $0 + 1 })
        unreported = unreported.map { _ in 0 }
        try store.close()
    }
}

/// The path of this program.
enum OwnProgram {
    static func path() throws -> String {
        #if os(Linux)
            return "/proc/self/exe"
        #else
            guard let path = CommandLine.arguments.first else {
                throw CrashFailure("missing program path in argument 0")
            }
            return path
        #endif
    }
}
