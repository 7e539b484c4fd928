import SheafStorage
import SheafTestSupport

/// Rounds of killing on one store.
struct Rounds {
    private(set) var acknowledged = [Int](repeating: 0, count: CrashLoad.writerCount)
    private(set) var total = 0
    private static let maximumUnread = 10_000
    /// How many commits of each writer may have come through without a word, so that the next
    /// child goes on behind them.
    private var unheard = [Int](repeating: 0, count: CrashLoad.writerCount)

    /// Starts a child on the store at `path`.
    static func start(_ kind: String, _ path: String, _ more: String...) throws -> ChildProcess {
        try ChildProcess(try OwnProgram.path(), ["child", kind, path] + more)
    }

    /// Notes what a child has printed; true once it has opened the store.
    mutating func note(_ lines: [String]) throws -> Bool {
        var isOpen = false
        for line in lines {
            let words = line.split(separator: " ")
            if words == ["open"] {
                isOpen = true
            } else if words.count == 2, let writer = Int(words[0]), let count = Int(words[1]),
                acknowledged.indices.contains(writer)
            {
                let next = acknowledged[writer] + 1
                guard (next...next + unheard[writer]).contains(count) else {
                    throw CrashFailure(
                        "writer \(writer) goes on with \(count) after \(acknowledged[writer])")
                }
                acknowledged[writer] = count
                unheard[writer] = 0
                total += 1
            } else {
                throw CrashFailure("a child says: \(line)")
            }
        }
        return isOpen
    }

    /// Reads what a child prints until a random moment of its life; returns whether it was open.
    mutating func watch(_ child: ChildProcess, _ random: inout SeededRandom) throws -> Bool {
        let started = Clock.system.monotonicNanoseconds()
        var isOpen = false
        if random.chance(1, in: 5) {
            // In the middle of the opening, or before it.
            let deadline = started + UInt64(random.below(25_000_000))
            while let lines = child.lines(until: deadline), !lines.isEmpty {
                isOpen = try note(lines) || isOpen
            }
            return isOpen
        }
        while !isOpen {
            guard let lines = child.lines() else { throw CrashFailure("a child ended by itself") }
            isOpen = try note(lines)
        }
        let deadline = Clock.system.monotonicNanoseconds() + UInt64(random.below(40_000_000))
        while Clock.system.monotonicNanoseconds() < deadline {
            guard let lines = child.lines(until: deadline) else {
                throw CrashFailure("a child ended by itself")
            }
            _ = try note(lines)
        }
        return true
    }

    /// Leaves what a child wrote to the next child.
    mutating func skipCheck() {
        // A writer waits for each commit, so at most one more may have come through.
        for writer in unheard.indices { unheard[writer] += 1 }
    }

    /// Lets go of what children printed and nobody read in time.
    mutating func skipUnread() {
        // The pipe may hold as many acknowledgments as fit in it.
        for writer in unheard.indices { unheard[writer] = Self.maximumUnread }
    }

    /// Opens the store, expects everything that was acknowledged, and closes it.
    mutating func check(_ path: String) throws {
        let store = try LogStore.open(at: path, options: CrashLoad.options)
        acknowledged = try CrashLoad.check(
            store.snapshot(), acknowledged: acknowledged, unheard: unheard.map { $0 + 1 })
        unheard = unheard.map { _ in 0 }
        try store.close()
    }
}

/// Where this program is.
enum OwnProgram {
    static func path() throws -> String {
        #if os(Linux)
            return "/proc/self/exe"
        #else
            guard let path = CommandLine.arguments.first else {
                throw CrashFailure("the program does not know its own path")
            }
            return path
        #endif
    }
}
