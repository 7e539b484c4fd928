import Sheaf
import SheafAttachments
import SheafStorage
import SheafSystem
import SheafTestSupport

/// Process kills during additions and fetches of attachments.
enum AttachmentKill {
    /// Returns the test data of an attachment; one in four has several chunks.
    private static func bytes(_ number: Int) -> [UInt8] {
        let length = number % 4 == 0 ? 3 * ChunkList.chunkLength + number : 1_000 + number
        var word = UInt64(number) &* 0x9E37_79B9_7F4A_7C15
        return (0..<length).map { _ in
            word = word &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return UInt8(truncatingIfNeeded: word >> 56)
        }
    }

    /// Adds and fetches attachments forever, starting with number `first`.
    ///
    /// Prints each complete attachment and each durable chunk of a fetch.
    static func load(_ path: String, from first: Int) async throws {
        let store = try await Store.open(at: path)
        ChildCommand.print("open", to: 1)
        var number = first
        while true {
            let bytes = bytes(number)
            if number % 4 == 0 {
                try fetch(bytes, number, into: store.attachments)
            } else {
                _ = try await store.newAttachment(data: bytes)
            }
            ChildCommand.print("here \(number)", to: 1)
            number += 1
        }
    }

    private static func fetch(
        _ bytes: [UInt8], _ number: Int, into store: AttachmentStore
    ) throws {
        let source = AttachmentStore(in: MemoryVolume())
        let id = try source.add(bytes)
        guard let list = try source.chunkList(of: id) else { return }
        let state = try store.beginFetch(id, length: list.length, hashes: list.hashes)
        guard case .incoming(let incoming) = state else { return }
        let missing = incoming.missingChunks().flatMap { Array($0) }
        ChildCommand.print("missing \(number) \(missing.count)", to: 1)
        for chunk in missing {
            try Array(bytes[list.range(of: chunk)]).withUnsafeBytes { bytes in
                _ = try incoming.put(bytes, at: chunk)
            }
            try incoming.flush()
            ChildCommand.print("durable \(number) \(chunk)", to: 1)
        }
    }

    /// The progress that child processes have reported.
    private struct ReportedFiles {
        var storedCount = 0
        /// The durable chunks of the current fetch.
        var durable = Set<Int>()
        var resumed = 0

        mutating func record(_ lines: [String]) throws {
            for line in lines where line != "open" {
                let words = line.split(separator: " ")
                guard words.count >= 2, let number = Int(words[1]) else {
                    throw CrashFailure("unexpected output of a child: \(line)")
                }
                switch words[0] {
                case "here":
                    guard number == storedCount else {
                        throw CrashFailure("attachment \(number) was reported after \(storedCount)")
                    }
                    storedCount += 1
                    durable = []
                case "durable":
                    durable.insert(words.last.flatMap { Int($0) } ?? 0)
                case "missing":
                    // The child may have died after the write and before the report.
                    let count = words.last.flatMap { Int($0) } ?? 0
                    guard count <= 4 - durable.count else {
                        throw CrashFailure("attachment \(number) lacks \(count) chunks")
                    }
                    if !durable.isEmpty { resumed += 1 }
                default: throw CrashFailure("unexpected output of a child: \(line)")
                }
            }
        }
    }

    static func run(rounds: Int, seed: UInt64) async throws -> String {
        let directory = TemporaryDirectory()
        let path = directory.path("store")
        var random = SeededRandom(seed: seed, "attachments")
        var progress = ReportedFiles()
        for round in 0..<rounds {
            do {
                let child = try KillRounds.start("attach", path, "\(progress.storedCount)")
                // One child in four may be killed before it adds an attachment.
                if !random.chance(1, in: 4) {
                    var lines: [String] = []
                    while !lines.contains(where: { $0 != "open" }) {
                        guard let more = child.lines() else {
                            throw CrashFailure("a child exited early")
                        }
                        lines += more
                    }
                    try progress.record(lines)
                }
                let deadline =
                    Clock.system.monotonicNanoseconds() + UInt64(random.below(150_000_000))
                while Clock.system.monotonicNanoseconds() < deadline {
                    guard let lines = child.lines(until: deadline) else {
                        throw CrashFailure("a child exited early")
                    }
                    try progress.record(lines)
                }
                child.kill()
                try progress.record(child.remainingLines())
                guard child.wait() == 128 + 9 else {
                    throw CrashFailure("the child ended with \(child.wait())")
                }
                if round % 8 == 7 || round == rounds - 1 {
                    try await check(path, progress.storedCount)
                }
            } catch {
                throw CrashFailure("seed \(seed), round \(round): \(error)")
            }
        }
        return "\(rounds) kills; \(progress.storedCount) acknowledged attachments, 0 lost, "
            + "\(progress.resumed) fetches resumed"
    }

    /// Verifies that all acknowledged attachments are present and intact.
    private static func check(_ path: String, _ count: Int) async throws {
        let store = try await Store.open(at: path)
        var ids = Set(try store.attachments.ids)
        for number in 0..<count {
            let bytes = bytes(number)
            let id = try AttachmentStore(in: MemoryVolume()).add(bytes)
            ids.remove(id)
            guard let file = try store.attachments.file(id),
                try file.read(0..<file.length) == bytes
            else { throw CrashFailure("attachment \(number) is missing or differs") }
        }
        guard ids.count <= 1 else { throw CrashFailure("\(ids.count) unexpected attachments") }
        let names = try PosixVolume(path: path + "/attachments", creatingDirectory: true).names()
        guard !names.contains(where: { $0.hasSuffix(".tmp") }) else {
            throw CrashFailure("a temporary file remains")
        }
        try await store.close()
    }
}
