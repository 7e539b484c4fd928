import SheafBytes
import SheafDocument
import SheafSync
import Testing

/// Tests of the first and the last frames of a session, and of the order of its effects.
struct SessionGreetingTests {
    /// Returns the effects of a session that receives a frame first.
    private func start(
        with frame: Frame, expecting key: [UInt8]? = nil
    ) -> (session: SyncSession, effects: [SyncSession.Effect]) {
        let hello = OpenSession.hello(1)
        var session = SyncSession(hello, expecting: key, at: 0)
        let first = OpenSession.frames(in: session.drainEffects())
        #expect(first == [Frame(.hello, hello.bytes)])
        var writer = FrameWriter()
        writer.bytes(of: frame).withUnsafeBytes { session.receive($0, at: 1) }
        let effects = session.drainEffects()
        return (session, effects)
    }

    /// Expects that a session ends with a message, which it sends.
    private func expectEnd(
        _ code: CloseMessage.Code, _ text: String,
        of result: (session: SyncSession, effects: [SyncSession.Effect]),
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        let message = CloseMessage(code, text)
        #expect(result.effects.count == 2, sourceLocation: sourceLocation)
        #expect(result.effects.last == .end(message), sourceLocation: sourceLocation)
        #expect(
            OpenSession.frames(in: result.effects) == [Frame(.close, message.bytes)],
            sourceLocation: sourceLocation)
        #expect(!result.session.isOpen && !result.session.isEndedRemotely)
        #expect(result.session.remote == nil, sourceLocation: sourceLocation)
    }

    private func hello(
        _ number: UInt8, database: UInt64 = 1, _ versions: ClosedRange<UInt64> = 3...4
    ) -> Hello {
        let id = Hello.DatabaseID(low: database, high: 2)
        return Hello(
            versions: versions, database: id, peerKey: [UInt8](repeating: number, count: 32),
            site: Site(rawValue: 9), log: id, nonce: 1, wallMilliseconds: 1, isServer: false,
            name: "")
    }

    @Test func `a hello opens the session with the version that both support`() {
        let cases: [(ClosedRange<UInt64>, UInt64)] = [(3...4, 4), (1...3, 3), (4...9, 4)]
        for (versions, version) in cases {
            let other = hello(2, versions)
            let (session, effects) = start(with: Frame(.hello, other.bytes))
            #expect(effects == [.greeted(other)])
            #expect(session.isOpen && session.remote == other && session.version == version)
            #expect(session.hasAllCollections == (version >= 4))
        }
        let other = hello(2)
        let (session, effects) = start(
            with: Frame(.hello, other.bytes), expecting: other.peerKey)
        #expect(effects == [.greeted(other)] && session.isOpen)
    }

    @Test func `a hello of another kind of peer ends the session`() {
        let text = "this peer supports protocol versions 3...4"
        for versions: ClosedRange<UInt64> in [1...2, 5...6] {
            expectEnd(
                .version, text, of: start(with: Frame(.hello, hello(2, versions).bytes)))
        }
        expectEnd(
            .database, "this peer has a different database",
            of: start(with: Frame(.hello, hello(2, database: 7).bytes)))
        expectEnd(
            .sameKey, "both peers have the same key",
            of: start(with: Frame(.hello, hello(1).bytes)))
        expectEnd(
            .refused, "the key in the hello differs from that of the connection",
            of: start(
                with: Frame(.hello, hello(2).bytes), expecting: [UInt8](repeating: 3, count: 32)))
    }

    @Test func `frames before the hello end the session`() {
        expectEnd(
            .protocolBroken, "protocol violation: `ping` before `hello`",
            of: start(with: Frame(.ping, [])))
        expectEnd(
            .protocolBroken, "malformed frame body: the bytes end inside the value at offset 0",
            of: start(with: Frame(.hello, [])))
        let length = 4_097
        expectEnd(
            .protocolBroken, "a frame of 4097 bytes; maximum is 4096",
            of: start(with: Frame(.hello, [UInt8](repeating: 1, count: length - 1))))
    }

    @Test func `a close message ends the session without an answer`() {
        let message = CloseMessage(.limit, "too many")
        let (early, effects) = start(with: Frame(.close, message.bytes))
        #expect(effects == [.end(message)])
        #expect(!early.isOpen && early.isEndedRemotely)
        var peer = OpenSession()
        let received = peer.receive(.close, message.bytes)
        #expect(received == [.end(message)] && peer.session.isEndedRemotely)
        peer.session.end(CloseMessage(.done))
        peer.session.seek(Seek(id: [UInt8](repeating: 7, count: 32), hops: 1))
        peer.session.report(NewSite(site: Site(rawValue: 7)))
        peer.session.tick(at: .max)
        #expect(!peer.session.hasEffects && peer.session.fetchRoom == 0)
    }

    @Test func `a session that has ended sends nothing more`() {
        var peer = OpenSession()
        let part = AttachmentPart(id: [UInt8](repeating: 7, count: 32), .chunk, 1)
        _ = peer.receive(.fetch, part.bytes)
        peer.session.end(CloseMessage(.done, "over"))
        peer.session.end(CloseMessage(.done, "again"))
        let ended = peer.session.drainEffects()
        #expect(ended.count == 2 && ended.last == .end(CloseMessage(.done, "over")))
        #expect(!peer.session.isEndedRemotely && peer.session.nextServed == nil)
        peer.session.offer(Offer(id: part.id, length: 1))
        peer.session.announceOnly()
        peer.session.announce([], of: 1)
        peer.session.grant(1 << 20)
        peer.session.serve(nil)
        peer.session.restart()
        let hasRoom = peer.session.hasRoom()
        #expect(!hasRoom && !peer.session.hasEffects)
    }

    @Test func `effects are returned in order, one by one or together`() {
        var peer = OpenSession()
        for number in 1...3 as ClosedRange<UInt64> {
            peer.session.report(NewSite(site: Site(rawValue: number)))
        }
        #expect(peer.session.hasEffects)
        let first = peer.session.nextEffect()
        let rest = peer.session.drainEffects()
        let frames = OpenSession.frames(in: (first.map { [$0] } ?? []) + rest)
        #expect(frames.map { $0.body[0] } == [1, 2, 3] && rest.count == 2)
        #expect(!peer.session.hasEffects)
        let none = peer.session.nextEffect()
        #expect(none == nil)
        peer.session.report(NewSite(site: Site(rawValue: 4)))
        let last = peer.session.nextEffect().map { [$0] } ?? []
        #expect(OpenSession.frames(in: last).map { $0.body[0] } == [4])
        #expect(!peer.session.hasEffects)
    }

    @Test func `a ping is answered, and other messages reach the host`() {
        var peer = OpenSession()
        let ping = peer.receive(.ping, [])
        #expect(OpenSession.frames(in: ping) == [Frame(.pong, [])])
        let pong = peer.receive(.pong, [])
        #expect(pong.isEmpty)
        let notice = QuarantineNotice(count: 3, latestMilliseconds: 4, wallMilliseconds: 5)
        let write = LostWrite(site: Site(rawValue: 6), time: HybridTime(rawValue: 7))
        let offer = Offer(id: [UInt8](repeating: 7, count: 32), length: 8)
        let frames = [
            Frame(.quarantine, notice.bytes), Frame(.lostWrite, write.bytes),
            Frame(.site, NewSite(site: Site(rawValue: 9)).bytes), Frame(.offer, offer.bytes),
        ]
        let effects = peer.receive(frames)
        #expect(
            effects == [
                .quarantine(notice), .lostWrite(write), .changedSite(Site(rawValue: 9)),
                .offered(offer),
            ])
    }

    @Test func `parts of attachments are served and received in the order of the requests`() {
        var peer = OpenSession()
        let id = [UInt8](repeating: 7, count: 32)
        let parts = (0..<3).map { AttachmentPart(id: id, .hashes, $0) }
        for part in parts {
            _ = peer.receive(.fetch, part.bytes)
            peer.session.fetch(part)
        }
        #expect(peer.session.fetchRoom == 1 && peer.session.nextServed == parts[0])
        _ = peer.session.drainEffects()
        peer.session.serve([1, 2])
        peer.session.serve(nil)
        #expect(peer.session.nextServed == parts[2])
        let served = OpenSession.frames(in: peer.session.drainEffects())
        #expect(
            served == [
                Frame(.part, AttachmentBytes(parts[0], [1, 2]).bytes),
                Frame(.lacking, parts[1].bytes),
            ])
        let fetched = peer.receive(.part, AttachmentBytes(parts[0], [3]).bytes)
        #expect(fetched == [.fetched(parts[0], [3])])
        let lacking = peer.receive(.lacking, parts[1].bytes)
        #expect(lacking == [.fetched(parts[1], nil)] && peer.session.fetchRoom == 3)
    }
}
