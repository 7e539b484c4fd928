import Sheaf
import SheafDocument
import SheafHubLog
import SheafMesh
import SheafReplication
import SheafSync
import SheafTestSupport
import Testing

/// How the documents of commits are divided into groups.
@Suite struct HubGroupLengthTests {
    /// Returns the number of documents in each group of a log, after decoding it.
    private func groups(_ log: LogDouble, ofLength most: Int = .max) throws -> [Int] {
        var counts: [Int] = []
        var reader: HubGroupReader?
        for bytes in log.entries[0] ?? [] {
            let message = try (bytes ?? []).withUnsafeBytes {
                try HubMessage(decoding: $0, log: DocumentScene.logID, shard: 0)
            }
            guard message.kind == .documents else { continue }
            if !message.flags.contains(.continues) {
                counts.append(0)
                reader = HubGroupReader(
                    commit: message.extent.commit, shard: 0, in: .single, groupLength: most)
            }
            let isLast = !message.flags.contains(.isContinued)
            counts[counts.count - 1] +=
                try reader?.read(message.payload, isLast: isLast).count ?? 0
        }
        return counts
    }

    /// Returns two hubs with limits.
    private func scene(_ log: LogDouble, _ limits: HubFeedLimits) throws -> DocumentScene {
        let scene = try DocumentScene(2)
        try scene.share(log, among: [0, 1], limits: limits)
        try scene.run(seconds: 3)
        return scene
    }

    /// Returns documents with random texts, which are not compressed much.
    private func texts(_ count: Int) -> String {
        var random = SeededRandom(seed: 1, "texts")
        return (0..<count).map { number in
            let text = random.bytes(3_000).map { String($0, radix: 16) }.joined()
            return "({'_id': 'car \(number)', 'text': '\(text)'})"
        }
        .joined(separator: ", ")
    }

    /// Inserts four short documents in one commit.
    private func insertFour(_ scene: DocumentScene) throws {
        let list = ["a", "b", "c", "d"].map { "({'_id': '\($0)'})" }.joined(separator: ", ")
        try scene.execute(0, DQL(verbatim: "INSERT INTO cars DOCUMENTS \(list)"))
        try scene.run()
    }

    /// Returns the expanded length of a group of these four documents after each of them.
    private func lengthsOfFour() throws -> [Int] {
        let log = LogDouble(seed: 1)
        try insertFour(try scene(log, HubFeedLimits()))
        for bytes in log.entries[0] ?? [] {
            let message = try (bytes ?? []).withUnsafeBytes {
                try HubMessage(decoding: $0, log: DocumentScene.logID, shard: 0)
            }
            guard message.kind == .documents else { continue }
            var reader = HubGroupReader(commit: message.extent.commit, shard: 0, in: .single)
            var writer = HubGroupWriter(commit: message.extent.commit)
            var lengths: [Int] = []
            for document in try reader.read(message.payload, isLast: true) {
                let address = DocumentAddress(collection: document.collection, id: document.id)
                document.bytes.withUnsafeBytes { writer.add(address, $0) }
                lengths.append(writer.expandedLength)
            }
            return lengths
        }
        return []
    }

    @Test(arguments: [(-1, [2, 2]), (0, [2, 2]), (1, [3, 1])])
    func `a group ends with the document that makes it as long as the limit`(
        _ difference: Int, _ counts: [Int]
    ) throws {
        let log = LogDouble(seed: 1)
        let lengths = try lengthsOfFour()
        try #require(lengths.count == 4)
        var limits = HubFeedLimits()
        limits.groupLength = lengths[1] + difference
        let scene = try scene(log, limits)
        try insertFour(scene)
        #expect(try groups(log) == counts)
        #expect(try scene.content(of: 1) == scene.content(of: 0))
    }

    @Test(arguments: [0, 1])
    func `lost documents are replaced if one group has room for them`(_ room: Int) throws {
        let log = LogDouble(seed: 1)
        let lengths = try lengthsOfFour()
        try #require(lengths.count == 4)
        var limits = HubFeedLimits()
        // The last document is in the group if the others are shorter than the limit.
        limits.replacedLength = lengths[2] + room
        let scene = try scene(log, limits)
        log.faults.losesEntry = 1_000
        try insertFour(scene)
        log.faults.losesEntry = 0
        try scene.execute(0, DQL(verbatim: "INSERT INTO cars DOCUMENTS ({'_id': 'later'})"))
        try scene.run(seconds: 8)
        #expect(try scene.rows(1, "SELECT _id FROM cars").count == (room == 1 ? 5 : 1))
        let errors = scene.nodes[1].store.errors
        #expect(errors.contains { $0.contains("what another hub has read") } == (room == 0))
    }

    @Test func `a commit that is too long for a group is divided`() throws {
        let log = LogDouble(seed: 1)
        var limits = HubFeedLimits()
        limits.groupLength = 100_000
        let scene = try scene(log, limits)
        try scene.execute(0, DQL(verbatim: "INSERT INTO cars DOCUMENTS \(texts(40))"))
        try scene.run(seconds: 5)
        let groups = try groups(log, ofLength: 110_000)
        #expect(groups.count >= 2 && groups.reduce(0, +) == 40)
        #expect(try scene.content(of: 1) == scene.content(of: 0))
        let status = scene.nodes[0].replicator.hubStatus
        #expect(status?.durable == scene.nodes[0].newestCommit)
    }

    @Test func `entries are not requested again while they arrive`() throws {
        let log = LogDouble(seed: 1)
        var limits = HubFeedLimits()
        limits.reader.stagedLength = 70_000
        let scene = try scene(log, limits)
        log.holdsRereads = true
        try scene.execute(0, DQL(verbatim: "INSERT INTO cars DOCUMENTS \(texts(170))"))
        try scene.run(seconds: 1)
        let requested = log.rereads
        #expect(!requested.isEmpty)
        for _ in 0..<8 {
            log.deliverReread()
            try scene.run()
            for _ in 0..<2 { try scene.advance(milliseconds: 250) }
        }
        #expect(log.rereads == requested)
        // An engine that returns nothing is asked again.
        try scene.run(seconds: 3)
        #expect(log.rereads.count > requested.count)
        log.holdsRereads = false
        try scene.run(seconds: 5)
        #expect(try scene.content(of: 1) == scene.content(of: 0))
    }

    @Test func `entries that do not arrive are requested again after one second`() throws {
        let log = LogDouble(seed: 1)
        var limits = HubFeedLimits()
        // No payload is kept, and a hub is due whenever time passes.
        limits.reader.stagedLength = 0
        (limits.beatNanoseconds, limits.fastBeatNanoseconds) = (1_000_000, 1_000_000)
        let scene = try scene(log, limits)
        log.holdsRereads = true
        try insertFour(scene)
        #expect(log.rereads.count == 1)
        for count in 1...3 {
            try scene.advance(milliseconds: 999)
            #expect(log.rereads.count == count)
            try scene.advance(milliseconds: 1)
            #expect(log.rereads.count == count + 1)
        }
        log.deliverReread()
        try scene.run()
        #expect(try scene.content(of: 1) == scene.content(of: 0))
    }

    @Test func `entries are requested again in time, also between two beats`() throws {
        let log = LogDouble(seed: 1)
        var limits = HubFeedLimits()
        limits.reader.stagedLength = 0
        limits.rereadNanoseconds = 1_500_000_000
        let scene = try scene(log, limits)
        log.holdsRereads = true
        try insertFour(scene)
        for count in 1...3 {
            // The hubs send beats, and the next ones a second later.
            try scene.advance(milliseconds: 1_499)
            #expect(log.rereads.count == count)
            try scene.advance(milliseconds: 1)
            #expect(log.rereads.count == count + 1)
        }
    }

    @Test func `commits that wait are not all merged into one group`() throws {
        let log = LogDouble(seed: 1)
        var limits = HubFeedLimits()
        limits.mergedChanges = 10
        let scene = try scene(log, limits)
        log.isStopped = true
        for number in 0..<100 {
            try scene.execute(
                0, DQL(verbatim: "INSERT INTO cars DOCUMENTS ({'_id': 'car \(number)'})"))
        }
        try scene.run()
        log.isStopped = false
        try scene.run(seconds: 5)
        let groups = try groups(log)
        #expect(groups.reduce(0, +) == 100)
        #expect(groups.allSatisfy { $0 <= 10 }, "\(groups)")
        #expect(groups.contains(10))
        #expect(try scene.content(of: 1) == scene.content(of: 0))
    }

    @Test func `commits that change the same document are atomic in other hubs`() throws {
        let log = LogDouble(seed: 1)
        var limits = HubFeedLimits()
        limits.mergedChanges = 10
        let scene = try scene(log, limits)
        log.isStopped = true
        for number in 1...40 {
            try scene.execute(
                0,
                DQL(
                    verbatim: "INSERT INTO cars DOCUMENTS ({'_id': 'last', 'n': \(number)}), "
                        + "({'_id': 'car \(number)'}) ON ID CONFLICT DO UPDATE"))
        }
        log.isStopped = false
        for _ in 0..<1_000 {
            try scene.run(steps: 1)
            let count = try scene.rows(1, "SELECT _id FROM cars").count
            let last = try scene.rows(1, "SELECT n FROM cars WHERE _id = 'last'")
            #expect(last == (count == 0 ? [] : ["{\"n\":\(count - 1)}"]))
        }
        try scene.run(seconds: 5)
        #expect(try scene.rows(1, "SELECT _id FROM cars").count == 41)
    }
}
