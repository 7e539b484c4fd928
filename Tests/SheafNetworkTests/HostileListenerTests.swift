import Sheaf
import SheafNetwork
import SheafStorage
import SheafTestSupport
import Testing

/// What those try whom a peer has called, or thinks it has.
struct HostileListenerTests {
    private let clock = FakeClock()
    private let listener: FalseListener
    private let client: RunningPeer

    init() throws {
        listener = try FalseListener()
        client = try RunningPeer(
            Peers.configuration(), peers: [listener.address], clock: clock.clock)
    }

    private func isGivenUp(_ rule: NetworkRule) -> Bool {
        client.host.wait { $0.unreachable.contains { $0.reason.hasPrefix(rule.rawValue + ": ") } }
            && client.host.state.withLock { $0.links.isEmpty }
    }

    /// Somebody with the keys of a peer, who has heard what the client says first.
    private func liar() throws -> (Liar, heard: [UInt8]) {
        let liar = try Liar(listener.accept(), .listener, keyPair: .generate())
        return (liar, liar.read(Greeting.Layout.size))
    }

    @Test func `an answer that is no TLS is not taken`() throws {
        let stranger = try listener.accept()
        stranger.send(Array("220 mail.example.org\\r\\n".utf8))
        let isTold = client.host.wait {
            $0.unreachable.contains { $0.reason.hasPrefix("tls") }
        }
        #expect(isTold)
        #expect(client.host.state.withLock { $0.links.isEmpty })
    }

    @Test func `an end without an answer is not waited for`() throws {
        let stranger = try listener.accept()
        stranger.endSending()
        #expect(isGivenUp(.cut))
    }

    @Test func `silence is waited for ten seconds`() throws {
        let stranger = try listener.accept()
        // The first bytes of the handshake have come: the time runs.
        #expect(stranger.waitFor(1))
        clock.advance(milliseconds: 9_999)
        client.transport.lookAtClock()
        #expect(client.host.failures.isEmpty)
        clock.advance(milliseconds: 1)
        client.transport.lookAtClock()
        #expect(isGivenUp(.handshakeTime))
        #expect(stranger.isThrownOut())
    }

    @Test func `what the client has said is no answer`() throws {
        let (liar, heard) = try liar()
        liar.send(heard)
        #expect(isGivenUp(.database))
    }

    @Test func `an answer of another database is not taken`() throws {
        let (liar, _) = try liar()
        liar.send(try liar.words(Peers.configuration(databaseID: Peers.otherDatabaseID)))
        #expect(isGivenUp(.database))
    }

    @Test func `an answer that is none is not taken`() throws {
        let (liar, _) = try liar()
        liar.send(Array(repeating: 0, count: Greeting.Layout.size))
        #expect(isGivenUp(.greeting))
    }

    @Test func `an answer that is cut off is not taken`() throws {
        let (liar, _) = try liar()
        liar.send(Array(try liar.words(Peers.configuration()).dropLast()))
        _ = liar.session.sayFarewell()
        #expect(isGivenUp(.cut))
    }

    @Test func `an answer that is right opens a link, and what follows it is for the peer`() throws
    {
        let (liar, _) = try liar()
        liar.send(try liar.words(Peers.configuration()) + [1, 2, 3])
        let link = try #require(client.host.link())
        #expect(link.connection.remote.key == liar.keyPair.publicKey)
        let came = link.wait { $0.received == [1, 2, 3] }
        #expect(came)
    }
}
