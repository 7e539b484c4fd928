import SheafBytes
import SheafDocument
import SheafSync
import SheafTestSupport
import Testing

/// Tests of the credit for segments that a session returns to its peer, and of batches.
struct SessionCreditTests {
    private var peer = OpenSession()
    private var segments = ShippedSegmentWriter()

    init() {
        let cursor = Cursor(log: Hello.DatabaseID(low: 1, high: 2), commit: 5)
        peer.session.subscribe(Subscribe(generation: 1, [], at: 0, from: cursor))
        _ = peer.session.drainEffects()
    }

    /// Returns the amounts of credit that effects send.
    private func credits(_ effects: [SyncSession.Effect]) -> [[UInt8]] {
        OpenSession.frames(in: effects).filter { $0.type == .credit }.map(\.body)
    }

    /// Receives a part of a segment, with a number of bytes in its frame.
    private mutating func receivePart(_ length: Int) -> [SyncSession.Effect] {
        peer.receive(.segment, [1, 1] + [UInt8](repeating: 7, count: length - 2))
    }

    /// Returns the body of a segment with a document in each commit.
    private mutating func segment(_ commits: [(number: UInt64, isContinued: Bool)]) -> [UInt8] {
        var writer = CommitWriter()
        for commit in commits {
            writer.begin(commit.number, stamp: nil)
            let (id, document): ([UInt8], [UInt8]) = ([0x40, 1, 0], [7, 7, 7, 7])
            id.withUnsafeBytes { id in
                document.withUnsafeBytes { writer.add("c", id: id, .state, $0) }
            }
            writer.end(isContinued: commit.isContinued)
        }
        return [1, 0] + segments.bytes(of: [0] + writer.bytes)
    }

    @Test mutating func `credit is sent once it has 65,536 bytes`() {
        for length in [0, -1, 65_535] { peer.session.grant(length) }
        #expect(!peer.session.hasEffects)
        peer.session.grant(2)
        let first = peer.session.drainEffects()
        #expect(credits(first) == [varint(65_537)])
        peer.session.grant(65_535)
        #expect(!peer.session.hasEffects)
    }

    @Test mutating func `withheld credit is sent when it is not withheld any more`() {
        peer.session.withholdCredit(true)
        peer.session.grant(65_536)
        peer.session.grant(10)
        #expect(!peer.session.hasEffects)
        peer.session.withholdCredit(false)
        let effects = peer.session.drainEffects()
        #expect(credits(effects) == [varint(65_546)])
    }

    @Test mutating func `credit within a long batch returns unless it is withheld`() {
        let early = receivePart(65_535)
        #expect(early.isEmpty)
        let full = receivePart(3)
        #expect(credits(full) == [varint(65_538)])
        peer.session.withholdLongCredit(true)
        let held = receivePart(70_000)
        #expect(held.isEmpty)
        peer.session.withholdLongCredit(false)
        let released = peer.session.drainEffects()
        #expect(credits(released) == [varint(70_000)])
        peer.session.withholdLongCredit(false)
        #expect(!peer.session.hasEffects)
    }

    @Test mutating func `segments may have as many bytes as the peer has credit for`() {
        peer.session.withholdLongCredit(true)
        for _ in 0..<4 {
            let effects = receivePart(1_048_000)
            #expect(effects.isEmpty)
        }
        // 2,304 bytes are left.
        let last = receivePart(2_304)
        #expect(last.isEmpty && peer.session.isOpen)
        peer.session.grant(65_536)
        _ = peer.session.drainEffects()
        let more = receivePart(65_536)
        #expect(more.isEmpty && peer.session.isOpen)
        let excess = receivePart(2)
        let text = "protocol violation: a segment of 2 bytes exceeds the credit"
        #expect(excess.last == .end(CloseMessage(.protocolBroken, text)))
    }

    @Test mutating func `the last part of a batch has the credit for all of it`() {
        var lengths: [Int] = []
        var steps: [ShippedStep] = []
        for (number, isContinued) in [(7, true), (7, true), (7, false), (8, false)] {
            let body = segment([(UInt64(number), isContinued)])
            lengths.append(body.count)
            for case .apply(let step) in peer.receive(.segment, body) { steps.append(step) }
        }
        #expect(
            steps.map(\.length) == [0, 0, lengths[0] + lengths[1] + lengths[2], lengths[3]])
        #expect(steps.map(\.isContinued) == [true, true, false, false])
        #expect(steps.map(\.generation) == [1, 1, 1, 1])
        #expect(steps.map(\.commit) == [7, 7, 7, 8])
        // The id has three bytes, and the document four.
        #expect(steps.map(\.documentLength) == [7, 7, 7, 7])
    }

    @Test mutating func `each complete batch of a segment is applied alone`() {
        let body = segment([(7, false), (8, false), (9, true)])
        var steps: [ShippedStep] = []
        for case .apply(let step) in peer.receive(.segment, body) { steps.append(step) }
        #expect(steps.map(\.commit) == [7, 8, 9])
        #expect(steps.map(\.commits.count) == [1, 1, 1])
        #expect(steps.map(\.isContinued) == [false, false, true])
        // The first batch returns the credit of the segment.
        #expect(steps.map(\.length) == [body.count, 0, 0])
    }

    @Test(arguments: [false, true])
    mutating func `the credit of an abandoned batch returns`(_ restarts: Bool) {
        let body = segment([(7, true)])
        _ = peer.receive(.segment, body)
        if restarts {
            _ = peer.receive(.restart, [1])
        } else {
            peer.session.subscribe(Subscribe(generation: 2, [], at: 0))
            _ = peer.session.drainEffects()
        }
        peer.session.grant(65_535 - body.count)
        let early = peer.session.drainEffects()
        #expect(credits(early) == [])
        peer.session.grant(1)
        let late = peer.session.drainEffects()
        #expect(credits(late) == [varint(65_536)])
    }
}
