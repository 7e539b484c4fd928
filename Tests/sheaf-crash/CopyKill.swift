import Sheaf
import SheafStorage
import SheafStore
import SheafSystem
import SheafTestSupport

/// Process kills during backups of a store that is written and compacted at the same time.
enum CopyKill {
    private static let patience: UInt64 = 60_000_000_000

    /// Writes to a store and backs it up forever, each time since the previous backup.
    ///
    /// Prints each backup before and after it is made.
    static func load(_ path: String, from first: Int) async throws {
        let store = try LogStore.open(at: path + "/store", options: CrashLoad.options)
        ChildCommand.print("open", to: 1)
        let writers = try Thread(name: "writer") {
            var number = 0
            while true {
                number += 1
                var batch = WriteBatch()
                let payload = [UInt8](repeating: UInt8(truncatingIfNeeded: number), count: 900)
                guard (try? batch.put(Array("key\(number % 500)".utf8), payload)) != nil,
                    (try? store.engine.append(batch)) != nil, (try? store.flush()) != nil
                else { return }
                if number.isMultiple(of: 300) { store.engine.compactEverything() }
            }
        }
        _ = writers
        var number = first
        while true {
            ChildCommand.print("begin \(number)", to: 1)
            let earlier = try PosixVolume(path: path, creatingDirectory: false).names()
                .filter { $0.hasPrefix("backup") && !$0.contains(".") }.max()
            let report = try BackupWriter.write(
                BackupSource(volume: store.engine.volume) { store.snapshot() },
                at: path + "/store", to: path + "/" + name(number),
                since: earlier.map { path + "/" + $0 },
                BackupWriter.Options(
                    random: { OperatingSystem.randomInteger() },
                    attachments: .ofDocuments))
            ChildCommand.print("done \(number) \(report.commit)", to: 1)
            number += 1
        }
    }

    private static func name(_ number: Int) -> String {
        "backup" + String(repeating: "0", count: 6 - "\(number)".utf8.count) + "\(number)"
    }

    static func run(rounds: Int, seed: UInt64) throws -> String {
        let directory = TemporaryDirectory()
        var random = SeededRandom(seed: seed, "copies")
        var next = 0
        var verified = 0
        for round in 0..<rounds {
            do {
                let child = try KillRounds.start("copy", directory.path, "\(next)")
                var lines: [String] = []
                // Most children are killed some time after a backup has begun.
                while !lines.contains(where: { $0.hasPrefix("begin") }) {
                    guard let more = child.lines() else {
                        throw CrashFailure("a child exited early")
                    }
                    lines += more
                }
                let deadline =
                    Clock.system.monotonicNanoseconds() + UInt64(random.below(120_000_000))
                while Clock.system.monotonicNanoseconds() < deadline {
                    guard let more = child.lines(until: deadline) else {
                        throw CrashFailure("a child exited early")
                    }
                    lines += more
                }
                child.kill()
                lines += child.remainingLines()
                guard child.wait() == 128 + 9 else {
                    throw CrashFailure("the child ended with \(child.wait())")
                }
                verified += try check(directory.path, lines, from: next)
                next += lines.count { $0.hasPrefix("begin") }
            } catch {
                throw CrashFailure("seed \(seed), round \(round): \(error)")
            }
        }
        return "\(rounds) kills; \(verified) complete backups, 0 incomplete ones"
    }

    /// Verifies the new backups of a round, and removes all but the newest one.
    private static func check(_ path: String, _ lines: [String], from first: Int) throws -> Int {
        let volume = try PosixVolume(path: path, creatingDirectory: false)
        let names = try volume.names()
        let backups = names.filter { $0.hasPrefix("backup") && !$0.contains(".") }.sorted()
        for line in lines where line.hasPrefix("done") {
            let words = line.split(separator: " ")
            guard words.count == 3, let number = Int(words[1]), let commit = UInt64(words[2]) else {
                throw CrashFailure("unexpected output of a child: \(line)")
            }
            guard backups.contains(name(number)) else {
                throw CrashFailure("the complete backup \(number) is missing")
            }
            let found = try verify(path + "/" + name(number))
            guard found.lastCommit == commit else {
                throw CrashFailure("backup \(number) has commit \(found.lastCommit), not \(commit)")
            }
        }
        let unfinished = names.count { $0.hasSuffix(".unfinished") }
        guard unfinished <= 1 else { throw CrashFailure("\(unfinished) unfinished backups remain") }
        for backup in backups { _ = try verify(path + "/" + backup) }
        for backup in backups.dropLast() {
            let (code, _) = try ChildProcess.run("rm", ["-r", path + "/" + backup])
            guard code == 0 else { throw CrashFailure("cannot remove \(backup)") }
        }
        // The files that removed backups shared with the newest one must remain intact.
        if let newest = backups.last { _ = try verify(path + "/" + newest) }
        return backups.count
    }

    private static func verify(_ path: String) throws -> Verification {
        let result = try Verifier.verify(try ReadOnlyVolume.open(at: path))
        guard !result.isDamaged else { throw CrashFailure("\(path): \(result.findings)") }
        return result
    }
}
