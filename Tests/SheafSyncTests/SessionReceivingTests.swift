import SheafBytes
import SheafDocument
import SheafSync
import SheafTestSupport
import Testing

/// Tests of the half of a session that receives documents: its frames, batches and credit.
struct SessionReceivingTests {
    private static let cursor = Cursor(log: Hello.DatabaseID(low: 1, high: 2), commit: 5)

    private var peer = OpenSession()
    private var segments = ShippedSegmentWriter()

    /// Subscribes from the fifth commit of the peer, or without a cursor.
    private mutating func subscribe(_ generation: UInt64 = 1, from cursor: Cursor? = Self.cursor) {
        peer.session.subscribe(Subscribe(generation: generation, [], at: 0, from: cursor))
        _ = peer.session.drainEffects()
    }

    /// Returns a segment of commits without documents.
    private mutating func segment(_ generation: UInt64, _ commits: [ShippedCommit]) -> [UInt8] {
        var writer = CommitWriter()
        for commit in commits { commit.write(into: &writer) }
        return varint(generation) + [0] + segments.bytes(of: [0] + writer.bytes)
    }

    /// Receives a segment of commits; returns the effects.
    private mutating func receive(_ commits: ShippedCommit...) -> [SyncSession.Effect] {
        let body = segment(1, commits)
        return peer.receive(.segment, body)
    }

    private func commit(
        _ number: UInt64, isContinued: Bool = false, isCut: Bool = false, endsPart: Bool = false
    ) -> ShippedCommit {
        ShippedCommit(
            commit: number, stamp: nil, [], isContinued: isContinued, isCut: isCut,
            endsPart: endsPart)
    }

    /// Returns the batches in effects.
    private func batches(_ effects: [SyncSession.Effect]) -> [ShippedStep] {
        effects.compactMap { if case .apply(let step) = $0 { step } else { nil } }
    }

    /// Returns the text of a violation that ends the session.
    private func violation(_ effects: [SyncSession.Effect]) -> String? {
        guard case .end(let message)? = effects.last else { return nil }
        return message.text.replacing("protocol violation: ", with: "")
    }

    /// Expects that a number of bytes of credit waits to be sent with others.
    private mutating func expectUnsent(
        _ length: Int, sourceLocation: SourceLocation = #_sourceLocation
    ) {
        peer.session.grant(65_535 - length)
        let early = peer.session.drainEffects()
        #expect(early.isEmpty, sourceLocation: sourceLocation)
        peer.session.grant(1)
        let frames = OpenSession.frames(in: peer.session.drainEffects())
        #expect(frames == [Frame(.credit, varint(65_536))], sourceLocation: sourceLocation)
    }

    // MARK: Subscriptions

    @Test func `a subscription without a cursor begins a reconciliation, and one with it does not`()
    {
        var peer = OpenSession()
        let first = Subscribe(generation: 1, [], at: 3)
        peer.session.subscribe(first)
        var effects = peer.session.drainEffects()
        #expect(OpenSession.frames(in: effects) == [Frame(.subscribe, first.parts[0].bytes)])
        #expect(effects.count == 2 && effects.last == .listOwn(generation: 1))
        #expect(peer.session.requestedGeneration == 1)
        peer.session.compare(with: VersionList())
        effects = peer.session.drainEffects()
        #expect(OpenSession.frames(in: effects) == [Frame(.want, Want(generation: 1, .all).bytes)])
        // The reconciliation has ended.
        peer.session.compare(with: VersionList())
        let again = peer.session.drainEffects()
        #expect(again.isEmpty)
        let second = Subscribe(generation: 2, [], at: 3, from: Self.cursor)
        peer.session.subscribe(second)
        effects = peer.session.drainEffects()
        #expect(effects.count == 1)
        #expect(OpenSession.frames(in: effects) == [Frame(.subscribe, second.parts[0].bytes)])
        #expect(peer.session.requestedGeneration == 2)
    }

    @Test mutating func `a list that is not empty is compared with that of the peer`() {
        subscribe(from: nil)
        let id = DocumentAddress(collection: "c", id: [0x40, 1, 0]).bytes
        let list = VersionList(sorted: [DocumentVersion(id: id, version: 1)])
        let isAnnounced = peer.session.announceOnly()
        #expect(!isAnnounced)
        peer.session.compare(with: list)
        let frames = OpenSession.frames(in: peer.session.drainEffects())
        #expect(frames == [Frame(.ask, [1, 0])])
        let isAnnouncedLater = peer.session.announceOnly()
        #expect(!isAnnouncedLater && !peer.session.hasEffects)
    }

    @Test mutating func `notices are sent for the current generation only`() {
        subscribe()
        subscribe(2)
        let address = DocumentAddress(collection: "c", id: [1])
        for generation: UInt64 in 1...3 {
            peer.session.acknowledge(commit: 9, of: generation)
            peer.session.report(
                RefusedNotice(generation: generation, commit: 9, .result, [address]))
        }
        let isAnnounced = peer.session.announceOnly()
        #expect(isAnnounced)
        let frames = OpenSession.frames(in: peer.session.drainEffects())
        let notice = RefusedNotice(generation: 2, commit: 9, .result, [address])
        #expect(
            frames == [
                Frame(.acknowledge, [2, 9]), Frame(.refused, notice.bytes),
                Frame(.announceOnly, [2]),
            ])
    }

    @Test mutating func `a restart of a former generation is ignored`() {
        subscribe()
        subscribe(2)
        let past = peer.receive(.restart, [1])
        #expect(past.isEmpty)
        let restarted = peer.receive(.restart, [2])
        #expect(restarted == [.listOwn(generation: 2)])
        let repeated = peer.receive(.restart, [2])
        #expect(violation(repeated) == "a restart during reconciliation")
    }

    @Test(arguments: [.restart, .announce, .answer, .segment] as [FrameType])
    mutating func `a frame of a later generation ends the session`(_ type: FrameType) {
        subscribe()
        let commits = [commit(9)]
        let body: [UInt8] =
            switch type {
            case .restart: [2]
            case .announce: Announce(generation: 2, commit: 9, []).bytes
            case .answer: [2] + RangeAnswer([.documents([])]).bytes
            default: segment(2, commits)
            }
        let effects = peer.receive(type, body)
        #expect(violation(effects) == "unexpected generation 2")
    }

    @Test mutating func `frames of a former generation are ignored, and their credit returns`() {
        subscribe()
        subscribe(2)
        let announced = peer.receive(.announce, Announce(generation: 1, commit: 9, []).bytes)
        let answered = peer.receive(.answer, [1] + RangeAnswer([.documents([])]).bytes)
        #expect(announced.isEmpty && answered.isEmpty)
        let body = segment(1, [commit(9)])
        let received = peer.receive(.segment, body)
        #expect(received.isEmpty)
        expectUnsent(body.count)
        // A part of a segment, too.
        let part = peer.receive(.segment, [1, 1, 9, 9, 9])
        #expect(part.isEmpty)
        expectUnsent(5)
    }

    // MARK: The order of commits

    @Test mutating func `commits and announcements never go back`() {
        subscribe()
        let early = Announce(generation: 1, commit: 5, [])
        let announced = peer.receive(.announce, early.bytes)
        #expect(announced == [.announced(early)])
        let first = receive(commit(7), commit(7), commit(9))
        #expect(batches(first).map(\.commit) == [7, 7, 9])
        let same = peer.receive(.announce, Announce(generation: 1, commit: 9, []).bytes)
        #expect(same == [.announced(Announce(generation: 1, commit: 9, []))])
        let late = receive(commit(8))
        #expect(violation(late) == "unexpected commit 8")
    }

    @Test(arguments: [4, 5] as [UInt64])
    mutating func `the first commit or announcement is not before the cursor`(_ number: UInt64) {
        subscribe()
        let effects = receive(commit(number))
        #expect(violation(effects) == (number < 5 ? "unexpected commit 4" : nil))
        peer = OpenSession()
        subscribe()
        let notice = Announce(generation: 1, commit: number, [])
        let announced = peer.receive(.announce, notice.bytes)
        #expect(violation(announced) == (number < 5 ? "an announcement of commit 4" : nil))
    }

    @Test mutating func `a restart lets commits begin anew`() {
        subscribe()
        _ = receive(commit(7))
        _ = peer.receive(.restart, [1])
        peer.session.compare(with: VersionList())
        _ = peer.session.drainEffects()
        let effects = receive(commit(1))
        #expect(batches(effects).map(\.commit) == [1])
    }

    @Test mutating func `a commit within the batch of another one ends the session`() {
        subscribe()
        let first = receive(commit(7, isContinued: true))
        #expect(batches(first).map(\.isContinued) == [true])
        let other = receive(commit(8))
        #expect(violation(other) == "unexpected commit 8")
    }

    @Test mutating func `an announcement within a batch ends the session`() {
        subscribe()
        _ = receive(commit(7, isContinued: true))
        let effects = peer.receive(.announce, Announce(generation: 1, commit: 7, []).bytes)
        #expect(violation(effects) == "an announcement of commit 7")
    }

    /// The limit of a batch is 1,000 bytes, and each segment has 500.
    @Test func `segments of a former generation do not count in the length of a batch`() {
        var peer = OpenSession(stagedLength: 1_000)
        for generation: UInt64 in 1...2 {
            peer.session.subscribe(
                Subscribe(generation: generation, [], at: 0, from: Self.cursor))
        }
        _ = peer.session.drainEffects()
        var segments = ShippedSegmentWriter()
        for (generation, isContinued) in [(1, false), (2, true), (2, false)] as [(UInt8, Bool)] {
            var commits = CommitWriter()
            commits.begin(7, stamp: nil)
            [1 as UInt8].withUnsafeBytes { id in
                [UInt8](repeating: 7, count: 489).withUnsafeBytes {
                    commits.add("c", id: id, .state, $0)
                }
            }
            commits.end(isContinued: isContinued)
            let raw = [0] + commits.bytes
            #expect(raw.count == 500)
            let effects = peer.receive(.segment, [generation, 0] + segments.bytes(of: raw))
            #expect(batches(effects).count == (generation == 1 ? 0 : 1))
        }
        #expect(peer.session.isOpen)
    }

    @Test mutating func `segments and announcements during the comparison end the session`() {
        subscribe(from: nil)
        let effects = receive(commit(7))
        #expect(violation(effects) == "a segment before `want` or a cursor")
        peer = OpenSession()
        subscribe(from: nil)
        let announced = peer.receive(.announce, Announce(generation: 1, commit: 7, []).bytes)
        #expect(violation(announced) == "an announcement of commit 7")
    }

    @Test mutating func `the end of a part that was not requested ends the session`() {
        subscribe()
        let effects = receive(commit(7, isCut: true, endsPart: true))
        #expect(violation(effects) == "the end of a part that was not requested")
    }

    @Test mutating func `a segment with an unknown flag ends the session`() {
        subscribe()
        let effects = peer.receive(.segment, [1, 2])
        #expect(
            violation(effects)
                == "malformed frame body: the byte 2 at offset 1 is not allowed here")
    }
}
