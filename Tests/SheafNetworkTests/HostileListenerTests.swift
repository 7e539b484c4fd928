import Sheaf
import SheafNetwork
import SheafStorage
import SheafSystem
import SheafTestSupport
import Testing

/// Attacks on the dialing side by the listener.
struct HostileListenerTests {
    private let clock = FakeClock()
    private let listener: HostileListener
    private let client: RunningPeer

    init() throws {
        listener = try HostileListener()
        client = try RunningPeer(
            Peers.configuration(), peers: [listener.address], clock: clock.clock)
    }

    private func isGivenUp(_ rule: NetworkRule) -> Bool {
        client.host.wait { $0.unreachable.contains { $0.reason.hasPrefix(rule.rawValue + ": ") } }
            && client.host.state.withLock { $0.connections.isEmpty }
    }

    /// Accepts a connection, completes TLS, and reads the client's greeting.
    private func hostilePeer() throws -> (HostilePeer, heard: [UInt8]) {
        let hostilePeer = try HostilePeer(listener.accept(), .listener, keyPair: .generate())
        return (hostilePeer, hostilePeer.read(Greeting.Layout.size))
    }

    @Test func `a response that is not TLS is refused`() throws {
        let stranger = try listener.accept()
        stranger.send(Array("220 mail.example.org\\r\\n".utf8))
        let isReported = client.host.wait {
            $0.unreachable.contains { $0.reason.hasPrefix("tls") }
        }
        #expect(isReported)
        #expect(client.host.state.withLock { $0.connections.isEmpty })
    }

    @Test func `an end of the stream before the handshake fails the attempt immediately`() throws {
        let client = try listener.accept()
        client.endSending()
        #expect(isGivenUp(.cut))
    }

    @Test func `a silent listener times out after ten seconds`() throws {
        let stranger = try listener.accept()
        // The client has sent its first handshake bytes, so the timeout is running.
        #expect(stranger.waitFor(1))
        clock.advance(milliseconds: 9_999)
        client.transport.wakeAfterClockChange()
        #expect(client.host.failures.isEmpty)
        clock.advance(milliseconds: 1)
        client.transport.wakeAfterClockChange()
        #expect(isGivenUp(.handshakeTime))
        #expect(stranger.isThrownOut())
    }

    @Test func `the client's own greeting, echoed back, is refused`() throws {
        let (hostilePeer, output) = try hostilePeer()
        hostilePeer.send(output)
        #expect(isGivenUp(.database))
    }

    @Test func `a greeting for another database is refused`() throws {
        let (hostilePeer, _) = try hostilePeer()
        hostilePeer.send(
            try hostilePeer.words(Peers.configuration(databaseID: Peers.otherDatabaseID)))
        #expect(isGivenUp(.database))
    }

    @Test func `a malformed greeting is refused`() throws {
        let (hostilePeer, _) = try hostilePeer()
        hostilePeer.send(Array(repeating: 0, count: Greeting.Layout.size))
        #expect(isGivenUp(.greeting))
    }

    @Test func `a truncated greeting is refused`() throws {
        let (hostilePeer, _) = try hostilePeer()
        hostilePeer.send(Array(try hostilePeer.words(Peers.configuration()).dropLast()))
        _ = hostilePeer.session.sendCloseMessage()
        #expect(isGivenUp(.cut))
    }

    @Test func `a valid greeting opens a connection, and the bytes after it are delivered`() throws
    {
        let (hostilePeer, _) = try hostilePeer()
        hostilePeer.send(try hostilePeer.words(Peers.configuration()) + [1, 2, 3])
        let handler = try #require(client.host.connection())
        #expect(handler.connection.remote.key == hostilePeer.keyPair.publicKey)
        let came = handler.wait { $0.received == [1, 2, 3] }
        #expect(came)
    }
}
