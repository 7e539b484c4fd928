import Sheaf
import SheafBytes
import SheafNetwork
import SheafStorage
import SheafTestSupport
import Testing

/// Rules for the configuration and the start of a transport.
struct PolicyTests {
    @Test(arguments: [
        "", "localhost", ":1", "host:", "host:65536", "host:-1", "::1:80", "[::1]", "a b:1",
        "host:80x", "[]:1", "h\u{F6}st:1",
    ])
    func `a malformed address is refused`(_ text: String) throws {
        var configuration = try Peers.configuration()
        configuration.peers = [text]
        #expect(rule { _ = try TCPTransport(configuration) } == .address)
        configuration.peers = []
        configuration.listening = [text]
        #expect(rule { _ = try TCPTransport(configuration) } == .address)
        let transport = try TCPTransport(Peers.configuration())
        #expect(rule { try transport.add(text) } == .address)
    }

    @Test(arguments: ["0.0.0.0:0", "[::]:0"])
    func `a transport in development mode does not listen on public addresses`(
        _ text: String
    ) throws {
        var configuration = try Peers.configuration()
        configuration.listening = [text]
        let transport = try TCPTransport(configuration)
        #expect(rule { try transport.start(TestHost()) } == .loopback)
    }

    @Test func `a development transport with allowsOtherMachines listens on public addresses`()
        throws
    {
        var configuration = try Peers.configuration(.development(allowsOtherMachines: true))
        configuration.listening = ["0.0.0.0:0"]
        let peer = try RunningPeer(configuration)
        #expect(peer.host.address.hasPrefix("0.0.0.0:"))
    }

    @Test func `a transport in development mode connects to no other machine`() throws {
        // The address is from a block reserved for documentation (RFC 5737).
        let peer = try RunningPeer(Peers.configuration(), peers: ["192.0.2.1:1"])
        let isReported = peer.host.wait { !$0.unreachable.isEmpty }
        #expect(isReported)
        #expect(
            peer.host.failures.first
                == "loopback: 192.0.2.1:1 is not on this machine; a transport in development mode "
                + "connects to no other machine unless allowsOtherMachines is set")
    }

    @Test func `listening on an occupied port fails`() throws {
        let first = try RunningPeer(Peers.configuration(), listens: true)
        var configuration = try Peers.configuration()
        configuration.listening = [first.host.address]
        let second = try TCPTransport(configuration)
        #expect(rule { try second.start(TestHost()) } == .address)
    }

    @Test func `a running transport must be stopped before it starts again`() throws {
        let peer = try RunningPeer(Peers.configuration(), listens: true)
        let isListening = peer.host.wait { $0.listening.count == 1 }
        #expect(isListening)
        #expect(rule { try peer.transport.start(peer.host) } == .running)
        peer.transport.stop()
        peer.transport.stop()
        #expect(rule { try peer.transport.start(peer.host) } == nil)
        let listensAgain = peer.host.wait { $0.listening.count == 2 }
        #expect(listensAgain)
    }

    @Test(arguments: [0, 15, 17])
    func `a database ID that does not have sixteen bytes is refused`(_ count: Int) {
        #expect(DatabaseID([UInt8](repeating: 1, count: count)) == nil)
    }

    @Test func `a database id is the little-endian hash of the name of the database`() throws {
        let hash = Array("cars".utf8).span.withUnsafeBytes { XXH3.hash128($0) }
        let database: DatabaseID = "cars"
        #expect(database.hash == hash)
        #expect(database == DatabaseID("cars") && database != "bikes")
        #expect(DatabaseID(database.bytes) == database)
    }
}
