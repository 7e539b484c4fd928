import SheafNetwork
import SheafStorage
import SheafTestSupport
import Testing

/// Addresses of a configuration, and which of them a transport accepts.
struct PolicyTests {
    @Test(arguments: [
        "", "localhost", ":1", "host:", "host:65536", "host:-1", "::1:80", "[::1]", "a b:1",
        "host:80x", "[]:1", "h\u{F6}st:1",
    ])
    func `what is no address is refused`(_ text: String) throws {
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
    func `in the mode development a transport does not listen where other machines can connect`(
        _ text: String
    ) throws {
        var configuration = try Peers.configuration()
        configuration.listening = [text]
        let transport = try TCPTransport(configuration)
        #expect(rule { try transport.start(TestHost()) } == .loopback)
    }

    @Test func `in the mode development other machines are allowed with allowsOtherMachines`()
        throws
    {
        var configuration = try Peers.configuration(.development(allowsOtherMachines: true))
        configuration.listening = ["0.0.0.0:0"]
        let peer = try RunningPeer(configuration)
        #expect(peer.host.address.hasPrefix("0.0.0.0:"))
    }

    @Test func `in the mode development a transport connects to no other machine`() throws {
        // The address is one of those that documentation has.
        let peer = try RunningPeer(Peers.configuration(), peers: ["192.0.2.1:1"])
        let isTold = peer.host.wait { !$0.unreachable.isEmpty }
        #expect(isTold)
        #expect(peer.host.failures.first?.hasPrefix("loopback: ") == true)
    }

    @Test func `an address that is taken is refused`() throws {
        let first = try RunningPeer(Peers.configuration(), listens: true)
        var configuration = try Peers.configuration()
        configuration.listening = [first.host.address]
        let second = try TCPTransport(configuration)
        #expect(rule { try second.start(TestHost()) } == .address)
    }

    @Test func `a transport that runs is not started again before it is stopped`() throws {
        let peer = try RunningPeer(Peers.configuration(), listens: true)
        let isListening = peer.host.wait { $0.listening.count == 1 }
        #expect(isListening)
        #expect(rule { try peer.transport.start(peer.host) } == .running)
        peer.transport.stop()
        peer.transport.stop()
        #expect(rule { try peer.transport.start(peer.host) } == nil)
        let isThere = peer.host.wait { $0.listening.count == 2 }
        #expect(isThere)
    }

    @Test(arguments: [0, 15, 17])
    func `a database id has sixteen bytes`(_ count: Int) throws {
        let configuration = try Peers.configuration(
            databaseID: Array(repeating: 1, count: count))
        #expect(rule { _ = try TCPTransport(configuration) } == .key)
    }
}
