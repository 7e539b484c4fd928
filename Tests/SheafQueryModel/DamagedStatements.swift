import SheafDocument
import SheafQuery
import SheafStatements
import SheafStorage
import SheafStore
import SheafSystem
import SheafTestSupport

/// Corrupted statements, run against a store; each must end within a time limit.
package struct DamagedStatements {
    package struct Tally {
        package internal(set) var statements = 0
        package internal(set) var run = 0
        package internal(set) var refused = 0
        package internal(set) var longestMilliseconds: UInt64 = 0
        /// The slowest statements relative to their length.
        package internal(set) var slowest: [StatementTiming] = []
    }

    /// The number of slowest statements kept.
    private static let slowestCount = 40
    /// The number of characters kept of each slowest statement.
    private static let shownLength = 400

    package private(set) var tally = Tally()
    private let seed: UInt64
    private var random: SeededRandom
    private var selects: RandomSelects
    private var writes: RandomWrites

    /// The run time beyond which a statement is reported as hanging.
    private static let maximumMilliseconds: UInt64 = 5_000

    package init(seed: UInt64) {
        self.seed = seed
        random = SeededRandom(seed: seed, "damage")
        selects = RandomSelects(seed: seed &+ 1)
        writes = RandomWrites(seed: seed &+ 1)
    }

    /// Runs `count` statements, with a new store every 500.
    package mutating func run(_ count: Int) throws {
        while tally.statements < count {
            let simulation = try QuerySimulation(seed: seed &+ UInt64(tally.statements))
            for _ in 0..<4 { execute(.insert(writes.insert(isLong: true)), on: simulation) }
            for _ in 0..<3 { execute(writes.index(), on: simulation) }
            for number in 0..<min(500, count - tally.statements) {
                if number % 50 == 0 { try simulation.flush() }
                try runOne(on: simulation)
            }
        }
    }

    private mutating func execute(_ body: Statement.Body, on simulation: QuerySimulation) {
        let text = Statement(text: "", body: body, directives: [], parameters: []).description
        _ = try? simulation.execute(text, writes.selects.expressions.arguments)
    }

    private mutating func runOne(on simulation: QuerySimulation) throws {
        var body: Statement.Body
        var arguments: [String: Value]
        switch random.below(10) {
        case 0, 1:
            body = writes.body(isLong: true)
            arguments = writes.selects.expressions.arguments
        case 2:
            (body, arguments) = (writes.index(), [:])
        default:
            body = .select(selects.select())
            arguments = selects.expressions.arguments
        }
        switch random.below(20) {
        case 0: body = .explain(body)
        case 1: body = .profile(body)
        case 2: body = .advise(body, isProvisioning: random.chance(1, in: 2))
        default: break
        }
        var text = Statement(text: "", body: body, directives: [], parameters: []).description
        for _ in 0...random.below(5) / 2 { text = damaged(text) }
        let started = Clock.system.monotonicNanoseconds()
        let workBefore = ThreadTime.microseconds()
        var isRun = true
        tally.statements += 1
        do throws(StoreError) {
            let outcome = try simulation.execute(text, arguments)
            for item in outcome.items { _ = try item.object(outcome.names) }
            tally.run += 1
        } catch {
            tally.refused += 1
            isRun = false
        }
        record(
            StatementTiming(
                name: String(text.prefix(Self.shownLength)), length: text.utf8.count,
                microseconds: ThreadTime.microseconds() - workBefore, isRun: isRun))
        let milliseconds = (Clock.system.monotonicNanoseconds() - started) / 1_000_000
        tally.longestMilliseconds = max(tally.longestMilliseconds, milliseconds)
        guard milliseconds < Self.maximumMilliseconds else {
            throw QueryDifference(
                "it took \(milliseconds) ms", String(text.prefix(4_000)), arguments, "seed \(seed)")
        }
    }

    private mutating func record(_ timing: StatementTiming) {
        if tally.slowest.count == Self.slowestCount {
            guard let last = tally.slowest.last,
                timing.microsecondsPerKiB > last.microsecondsPerKiB
            else { return }
        }
        tally.slowest = Array((tally.slowest + [timing]).slowest(Self.slowestCount))
    }

    private mutating func damaged(_ text: String) -> String {
        // Earlier damage may have removed the complete text.
        var bytes = text.isEmpty ? [0x3B] : Array(text.utf8)
        switch random.below(12) {
        case 0, 1:
            bytes[random.below(bytes.count)] ^= UInt8(1 << random.below(8))
        case 2: bytes.removeSubrange(random.below(bytes.count)...)
        case 3: bytes.insert(UInt8(random.below(256)), at: random.below(bytes.count))
        case 4, 5, 6, 7: return swapped(text)
        case 8: return nested(text)
        case 9: return chained(text)
        default: break
        }
        if bytes.isEmpty { bytes = [0x3B] }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Swaps, duplicates or removes words.
    private mutating func swapped(_ text: String) -> String {
        var words = text.split(separator: " ", omittingEmptySubsequences: false)
        let (left, right) = (random.below(words.count), random.below(words.count))
        switch random.below(3) {
        case 0: words.swapAt(left, right)
        case 1: words[left] = words[right]
        default: words.remove(at: left)
        }
        return words.isEmpty ? ";" : words.joined(separator: " ")
    }

    /// Replaces a word by a deeply nested expression.
    private mutating func nested(_ text: String) -> String {
        var words = text.split(separator: " ").map(String.init)
        guard !words.isEmpty else { return text }
        let index = random.below(words.count)
        let depth = [3, 20, 100, 126, 130, 5_000][random.below(6)]
        let (opening, closing) = [
            ("(", ")"), ("[", "]"), ("NOT ", ""), ("- ", ""), ("{'a': ", "}"),
            ("ARRAY [v, v] FOR v IN ", " END"), ("coalesce(", ")"),
            ("CASE WHEN TRUE THEN ", " END"), ("ANY v IN l SATISFIES ", " END"),
        ][random.below(9)]
        words[index] =
            String(repeating: opening, count: depth) + words[index]
            + String(repeating: closing, count: depth)
        return words.joined(separator: " ")
    }

    /// Repeats a word many times, joined by an operator.
    private mutating func chained(_ text: String) -> String {
        var words = text.split(separator: " ").map(String.init)
        guard !words.isEmpty else { return text }
        let index = random.below(words.count)
        let count = [2, 30, 1_000, 4_096, 4_097, 20_000][random.below(6)]
        let separator = [" OR ", " AND ", " + ", " || ", ", ", ".", " = "][random.below(7)]
        words[index] = Array(repeating: words[index], count: count).joined(separator: separator)
        return words.joined(separator: " ")
    }
}
