import SheafBytes
import SheafDocument
import SheafSync
import SheafTestSupport
import Testing

/// The history of segments, which both sides of an idle connection drop.
struct SegmentHistoryTests {
    private static let second: UInt64 = 1_000_000_000

    /// Two sessions: the first one sends documents to the second one.
    private struct Pair {
        var sender: SyncSession
        var receiver: SyncSession
        var now: UInt64 = 0
        /// The types of the frames that the sender has sent.
        var types: [FrameType] = []
        var received: [ShippedDocument] = []
        var ends: [CloseMessage] = []
        /// Whether the receiver returns credit.
        var grants = true

        init(sender: ClosedRange<UInt64> = 3...4, receiver: ClosedRange<UInt64> = 3...4) {
            self.sender = SyncSession(OpenSession.hello(1, sender), at: 0)
            self.receiver = SyncSession(OpenSession.hello(2, receiver), at: 0)
            exchange()
            self.receiver.subscribe(Subscribe(generation: 1, [], at: 0))
            self.receiver.compare(with: VersionList())
            exchange()
        }

        /// Delivers all frames in both directions.
        mutating func exchange() {
            while true {
                let (sent, answers) = (sender.drainEffects(), receiver.drainEffects())
                if sent.isEmpty, answers.isEmpty { return }
                for effect in sent {
                    switch effect {
                    case .send(let bytes):
                        if let type = FrameType(rawValue: bytes[8]) { types.append(type) }
                        bytes.withUnsafeBytes { receiver.receive($0, at: now) }
                    case .end(let message): ends.append(message)
                    default: break
                    }
                }
                for effect in answers {
                    switch effect {
                    case .send(let bytes): bytes.withUnsafeBytes { sender.receive($0, at: now) }
                    case .apply(let step):
                        received += step.commits.flatMap(\.documents)
                        if grants { receiver.grant(step.length) }
                    case .end(let message): ends.append(message)
                    case .listOwn: receiver.compare(with: VersionList())
                    default: break
                    }
                }
            }
        }

        mutating func send(_ commit: UInt64, _ bytes: [UInt8]) {
            sender.advance(to: now)
            sender.beginCommit(commit, stamp: nil)
            [0x40, UInt8(truncatingIfNeeded: commit), 0].withUnsafeBytes { id in
                bytes.withUnsafeBytes { sender.add("c", id: id, .state, $0) }
            }
            sender.endCommit()
            sender.sendSegment()
            exchange()
        }

        /// Lets time pass, with the ticks of both sessions at their deadlines.
        mutating func wait(_ seconds: UInt64) {
            let end = now + seconds * second
            while let next = [sender.deadline, receiver.deadline].compactMap({ $0 }).min(),
                next <= end
            {
                now = max(now, next)
                sender.tick(at: now)
                receiver.tick(at: now)
                exchange()
            }
            now = end
        }
    }

    private let content: [UInt8]

    init() {
        var random = SeededRandom(seed: 1, "segments")
        content = random.bytes(2_000)
    }

    @Test func `an idle connection drops the history once, and continues without it`() {
        var pair = Pair()
        for commit in 1...3 as ClosedRange<UInt64> { pair.send(commit, content) }
        pair.wait(29)
        #expect(!pair.types.contains(.historyDropped))
        pair.wait(1)
        #expect(pair.types.count { $0 == .historyDropped } == 1)
        pair.wait(600)
        #expect(pair.types.count { $0 == .historyDropped } == 1)
        for commit in 4...6 as ClosedRange<UInt64> { pair.send(commit, content) }
        #expect(pair.received.count == 6)
        #expect(pair.received.allSatisfy { $0.bytes == content })
        #expect(pair.ends.isEmpty)
        pair.wait(30)
        #expect(pair.types.count { $0 == .historyDropped } == 2)
    }

    @Test func `a connection with segments keeps the history`() {
        var pair = Pair()
        for commit in 1...10 as ClosedRange<UInt64> {
            pair.send(commit, content)
            pair.wait(20)
        }
        #expect(!pair.types.contains(.historyDropped))
        #expect(pair.received.count == 10)
    }

    @Test(arguments: [false, true])
    func `an older version gets no frame, and understands the next segment`(_ isSender: Bool) {
        var pair = isSender ? Pair(sender: 3...3) : Pair(receiver: 3...3)
        pair.send(1, content)
        pair.wait(100)
        pair.send(2, content)
        pair.send(3, content)
        #expect(!pair.types.contains(.historyDropped))
        #expect(pair.received.map(\.bytes) == [content, content, content])
        #expect(pair.ends.isEmpty)
    }

    @Test func `the history is kept while a part of a segment waits for credit`() {
        var pair = Pair()
        pair.grants = false
        var random = SeededRandom(seed: 2, "long segments")
        for commit in 1...5 as ClosedRange<UInt64> { pair.send(commit, random.bytes(1_000_000)) }
        #expect(pair.received.count < 5)
        pair.wait(100)
        #expect(!pair.types.contains(.historyDropped))
        pair.receiver.grant(2 << 20)
        pair.exchange()
        #expect(pair.received.count == 5)
        pair.wait(30)
        #expect(pair.types.contains(.historyDropped))
        #expect(pair.ends.isEmpty)
    }

    @Test func `frames that arrive together with a dropped history are handled`() {
        var peer = subscribed()
        var writer = ShippedSegmentWriter()
        let effects = peer.receive([
            Frame(.historyDropped, []), Frame(.segment, segment(&writer, isWhole: true)),
        ])
        let isApplied = effects.contains { effect in
            if case .apply = effect { true } else { false }
        }
        #expect(isApplied)
    }

    // MARK: Refused frames

    private func subscribed(_ versions: ClosedRange<UInt64> = 3...4) -> OpenSession {
        var peer = OpenSession(versions)
        peer.session.subscribe(Subscribe(generation: 1, [], at: 0))
        peer.session.compare(with: VersionList())
        _ = peer.session.drainEffects()
        return peer
    }

    private func isRefused(_ effects: [SyncSession.Effect]) -> Bool {
        effects.contains { effect in
            if case .end(let message) = effect { message.code == .protocolBroken } else { false }
        }
    }

    /// Returns the bytes of a segment frame, of its first part or of all.
    private func segment(_ writer: inout ShippedSegmentWriter, isWhole: Bool) -> [UInt8] {
        var commit = CommitWriter()
        commit.begin(7, stamp: nil)
        [0x40, 7, 0].withUnsafeBytes { id in
            content.withUnsafeBytes { commit.add("c", id: id, .state, $0) }
        }
        commit.end(isContinued: false)
        var body = ByteWriter()
        body.writeVarint(1)
        body.write(UInt8(isWhole ? 0 : 1))
        body.write(writer.bytes(of: [0] + commit.bytes))
        return body.bytes
    }

    @Test func `a segment that refers to a dropped history is refused`() {
        var peer = subscribed()
        var writer = ShippedSegmentWriter()
        #expect(!isRefused(peer.receive(.segment, segment(&writer, isWhole: true))))
        #expect(!isRefused(peer.receive(.historyDropped, [])))
        #expect(isRefused(peer.receive(.segment, segment(&writer, isWhole: true))))
    }

    @Test func `the history cannot be dropped within a segment`() {
        var peer = subscribed()
        var writer = ShippedSegmentWriter()
        #expect(!isRefused(peer.receive(.segment, segment(&writer, isWhole: false))))
        #expect(isRefused(peer.receive(.historyDropped, [])))
    }

    @Test func `history dropped with bytes, or in version 3, is refused`() {
        var peer = subscribed()
        #expect(isRefused(peer.receive(.historyDropped, [0])))
        var older = subscribed(3...3)
        #expect(isRefused(older.receive(.historyDropped, [])))
    }
}
