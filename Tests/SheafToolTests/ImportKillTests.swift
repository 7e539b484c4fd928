import Foundation
import SheafSystem
import SheafTestSupport
import Testing

/// Imports that are killed, and continue.
@Suite struct ImportKillTests {
    private let directory = TemporaryDirectory()

    /// Number of rows, which several commits write.
    private static let rowCount = 20_000
    private static let killCount = 20

    private func file(_ name: String, _ format: (Int) -> String) throws -> String {
        let path = directory.path(name)
        let text = (1...Self.rowCount).map { format($0) + "\n" }.joined()
        try Data(text.utf8).write(to: URL(fileURLWithPath: path))
        return path
    }

    @Test func `an import killed at random points has each row once`() throws {
        let seed = UInt64.random(in: 0 ... .max)
        print("seed \(seed)")
        var random = SeededRandom(seed: seed, "kills")
        let lines = try file("rows.jsonl") { "{\"n\":\($0),\"text\":\"row \($0)\"}" }
        let table = try file("rows.csv") { $0 == 1 ? "n,text" : "\($0 - 1),\"row\n\($0)\"" }
        var kills = 0
        var round = 0
        while kills < Self.killCount {
            round += 1
            let isTable = round.isMultiple(of: 2)
            let store = directory.path("store\(round)")
            let count = Self.rowCount - (isTable ? 1 : 0)
            kills += try importKilled(isTable ? table : lines, into: store, &random)
            let found = try ToolRun(
                ["query", store, "SELECT n FROM rows ORDER BY n", "--mode=jsonl"])
            #expect(
                found.lines == (1...count).map { "{\"n\":\($0)}" },
                "seed \(seed), round \(round): \(found.lines.count) rows")
            #expect(try ToolRun(["verify", store]).status == 0, "seed \(seed), round \(round)")
        }
    }

    /// Imports a file with kills in between; returns the number of kills.
    private func importKilled(
        _ path: String, into store: String, _ random: inout SeededRandom
    ) throws -> Int {
        var kills = 0
        while true {
            let words = ["import", store, "rows", path] + (kills == 0 ? [] : ["--resume"])
            let child = try ChildProcess(ToolRun.executable.path, words)
            if kills < 6 {
                // Only the last line goes to standard output, so this waits for the deadline.
                let delay = UInt64(random.below(600)) * 1_000_000
                let deadline = Clock.system.monotonicNanoseconds() + delay
                while let some = child.lines(until: deadline), some.isEmpty {
                    guard Clock.system.monotonicNanoseconds() < deadline else { break }
                }
                child.kill()
            }
            _ = child.remainingLines()
            let code = child.wait()
            guard code != 0 else { return kills }
            guard code == 128 + 9 else {
                // The kill came after the last commit: the import is complete.
                #expect(code == 1)
                return kills
            }
            kills += 1
        }
    }
}
