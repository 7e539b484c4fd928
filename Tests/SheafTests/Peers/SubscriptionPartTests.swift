import SheafBytes
import SheafDocument
import SheafSync
import Testing

/// Subscriptions sent in several frames.
struct SubscriptionPartTests {
    /// Returns the subscriptions and the close reason of a session that receives `frames`.
    private func received(
        _ frames: [Frame]
    ) -> (subscribed: [Subscribe], farewell: CloseMessage?) {
        var session = SyncSession.unknownPeer(1, at: 0)
        var writer = FrameWriter()
        let hello = Hello(
            database: .init(low: 1, high: 2), peerKey: Array(repeating: 9, count: 32),
            site: Site(rawValue: 9), log: .init(low: 1, high: 2), nonce: 1, wallMilliseconds: 0,
            isServer: false,
            name: "")
        var (subscribed, closeMessage): ([Subscribe], CloseMessage?) = ([], nil)
        for frame in [Frame(.hello, hello.bytes)] + frames {
            writer.bytes(of: frame).withUnsafeBytes { session.receive($0, at: 0) }
            while let effect = session.nextEffect() {
                switch effect {
                case .subscribed(let request): subscribed.append(request)
                case .end(let reason): closeMessage = reason
                default: break
                }
            }
        }
        return (subscribed, closeMessage)
    }

    private func wire(_ number: Int, length: Int) -> SubscribedQuery {
        SubscribedQuery(
            text: "SELECT \(number)" + String(repeating: "x", count: length), arguments: [1, 2, 3])
    }

    @Test func `a subscription in parts is received as one`() {
        let queries = (0..<100).map { wire($0, length: 40_000) }
        let cursor = Cursor(log: .init(low: 3, high: 4), commit: 5)
        let request = Subscribe(
            generation: 1, queries, at: 7, from: cursor,
            complete: [DocumentAddress(collection: "c", id: [64, 1])])
        let parts = request.parts
        #expect(parts.count == 4)
        #expect(parts.allSatisfy { $0.bytes.count < SyncLimits.frameLength })
        let (subscribed, closeMessage) = received(parts.map { Frame(.subscribe, $0.bytes) })
        #expect(subscribed == [request])
        #expect(closeMessage == nil)
    }

    @Test func `mixed parts of two subscriptions, and other frames between parts, are rejected`() {
        let part = SubscribePart(generation: 1, [wire(1, length: 1)], end: nil)
        let other = SubscribePart(
            generation: 2, [], end: .init(commit: 1, cursor: nil, complete: []))
        #expect(
            received([Frame(.subscribe, part.bytes), Frame(.subscribe, other.bytes)])
                .farewell?.code == .protocolBroken)
        #expect(
            received([Frame(.subscribe, part.bytes), Frame(.pong, [])]).farewell?.code
                == .protocolBroken)
    }

    @Test func `a subscription above its limits ends the connection with the limit`() {
        func closeMessage(_ count: Int, _ length: Int) -> CloseMessage? {
            let queries = (0..<count).map { wire($0, length: length) }
            let request = Subscribe(generation: 1, queries, at: 7)
            return received(request.parts.map { Frame(.subscribe, $0.bytes) }).farewell
        }
        #expect(closeMessage(4_096, 900) == nil)
        // Each query has 3 bytes of arguments, and a text prefix of 8 to 11 bytes.
        #expect(closeMessage(4_097, 300)?.code == .limit)
        #expect(closeMessage(4_097, 900)?.text.contains("4096 queries") == true)
        #expect(closeMessage(80, 60_000)?.code == .limit)
        #expect(closeMessage(80, 60_000)?.text.contains("4194304 bytes") == true)
    }

    /// Checks that no frame above the limit is sent, which each new connection would repeat.
    @Test func `a frame that the other side would reject is not sent`() {
        var session = SyncSession.unknownPeer(1, at: 0)
        var writer = FrameWriter()
        let hello = Hello(
            database: .init(low: 1, high: 2), peerKey: Array(repeating: 9, count: 32),
            site: Site(rawValue: 9), log: .init(low: 1, high: 2), nonce: 1, wallMilliseconds: 0,
            isServer: false,
            name: "")
        writer.bytes(of: Frame(.hello, hello.bytes)).withUnsafeBytes {
            session.receive($0, at: 0)
        }
        _ = session.drainEffects()
        let addresses = (0..<300).map { number in
            DocumentAddress(
                collection: "c", id: Array(repeating: UInt8(number & 255), count: 4_096))
        }
        #expect(!Subscribe.fits(complete: addresses))
        let cursor = Cursor(log: .init(low: 3, high: 4), commit: 5)
        session.subscribe(Subscribe(generation: 1, [], at: 7, from: cursor, complete: addresses))
        let effects = session.drainEffects()
        #expect(
            effects.contains { effect in
                if case .end(let closeMessage) = effect {
                    return closeMessage.text.contains("subscribe")
                }
                return false
            })
        #expect(!session.isOpen)
    }
}
