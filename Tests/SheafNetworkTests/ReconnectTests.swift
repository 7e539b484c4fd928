import Sheaf
import SheafNetwork
import SheafStorage
import SheafSystem
import SheafTestSupport
import Synchronization
import Testing

/// Reconnecting, and choosing between duplicate connections.
struct ReconnectTests {
    @Test func `retry delays double up to the limit, with jitter in their upper half`() throws {
        let seed = UInt64.random(in: 0..<1_000_000_000)
        print("retry delays, seed \(seed)")
        let random = Mutex(SeededRandom(seed: seed, "waits"))
        let clock = FakeClock()
        var configuration = try Peers.configuration()
        configuration.limits = NetworkLimits()
        // Nothing listens on this port.
        let peer = try RunningPeer(
            configuration, peers: ["127.0.0.1:1"], clock: clock.clock,
            random: { random.withLock { $0.next() } })
        let isEnough = peer.pump(clock, milliseconds: 250) { $0.unreachable.count >= 11 }
        #expect(isEnough)
        let waits = peer.host.state.withLock { $0.unreachable.map(\.milliseconds) }
        var limit = 500
        for wait in waits {
            #expect((limit / 2...limit).contains(wait))
            limit = min(limit * 2, 60_000)
        }
        #expect(limit == 60_000)
        #expect(Set(waits.suffix(3)).count > 1)
        #expect(peer.host.failures.first?.hasPrefix("address: ") == true)
    }

    @Test func `a client reconnects to a peer that restarts`() throws {
        var configuration = try Peers.configuration()
        let first = try RunningPeer(configuration, listens: true)
        let address = first.host.address
        let client = try RunningPeer(Peers.configuration(), peers: [address])
        let connection = try #require(client.host.connection())
        first.transport.stop()
        let isOver = connection.wait { $0.closed == 1 }
        #expect(isOver)
        let isTried = client.host.wait { !$0.unreachable.isEmpty }
        #expect(isTried)
        #expect(client.host.state.withLock { $0.reached.isEmpty })
        configuration.listening = [address]
        let second = try RunningPeer(configuration)
        let again = try #require(client.host.connection(1))
        again.connection.send([5])
        let serverConnection = try #require(second.host.connection())
        let came = serverConnection.wait { $0.received == [5] }
        #expect(came)
        #expect(client.host.state.withLock { $0.reached } == [address])
    }

    @Test func `a transport that accepts no more connections keeps those that are open`() throws {
        let server = try RunningPeer(Peers.configuration(), listens: true)
        let client = try RunningPeer(Peers.configuration(), peers: [server.host.address])
        let connection = try #require(client.host.connection())
        let accepted = try #require(server.host.connection())
        server.transport.stopAccepting()
        let late = try RunningPeer(Peers.configuration(), peers: [server.host.address])
        let isRefused = late.host.wait { !$0.unreachable.isEmpty }
        #expect(isRefused)
        connection.connection.send([1])
        let came = accepted.wait { $0.received == [1] }
        #expect(came && late.host.state.withLock { $0.reached.isEmpty })
    }

    /// The server reads slowly.
    ///
    /// A new connection accepted before the old one is drained would replace it and lose the rest.
    @Test func `a peer that closes and reconnects loses none of the bytes sent before`() throws {
        let server = try RunningPeer(Peers.configuration(), listens: true)
        server.host.state.withLock { $0.lagNanoseconds = 1_000_000 }
        let client = try RunningPeer(Peers.configuration(), peers: [server.host.address])
        for round in 0..<3 {
            let clientConnection = try #require(client.host.connection(round))
            let serverConnection = try #require(server.host.connection(round))
            let length = 3 << 20
            clientConnection.connection.send([UInt8](repeating: UInt8(round), count: length))
            clientConnection.connection.close(because: "test is done")
            let isOver = serverConnection.wait { $0.closed == 1 }
            #expect(isOver)
            #expect(serverConnection.state.withLock { $0.received.count } == length)
            #expect(
                serverConnection.state.withLock { $0.reason }
                    == "closed: the peer closed the connection")
        }
        #expect(client.host.connection(3) != nil)
    }

    @Test func `a removed address is not dialed again`() throws {
        let server = try RunningPeer(Peers.configuration(), listens: true)
        let client = try RunningPeer(Peers.configuration())
        try client.transport.add(server.host.address)
        try client.transport.add(server.host.address)
        let connection = try #require(client.host.connection())
        connection.connection.send([1, 2])
        try client.transport.remove(server.host.address)
        let isOver = connection.wait { $0.closed == 1 }
        #expect(isOver)
        #expect(
            connection.state.withLock { $0.reason } == "closed: this end closed the connection")
        // Bytes sent before the removal have arrived.
        let serverConnection = try #require(server.host.connection())
        let isRemoteClosed = serverConnection.wait { $0.closed == 1 }
        #expect(isRemoteClosed)
        #expect(serverConnection.state.withLock { $0.received } == [1, 2])
        let end = deadline()
        while !client.transport.connections.isEmpty, Clock.system.monotonicNanoseconds() < end {}
        #expect(client.transport.connections.isEmpty)
        try client.transport.add(server.host.address)
        #expect(client.host.connection(1) != nil)
    }

    @Test func `two peers that dial each other keep the same connection`()
        throws
    {
        for _ in 0..<10 {
            let keys = [try PeerKeyPair.generate(), try PeerKeyPair.generate()]
            let first = try RunningPeer(Peers.configuration(keyPair: keys[0]), listens: true)
            let second = try RunningPeer(Peers.configuration(keyPair: keys[1]), listens: true)
            try first.transport.add(second.host.address)
            try second.transport.add(first.host.address)
            let isSettled = settled(first, second)
            #expect(isSettled)
            // Bytes sent on one end's connection arrive on the other's, so it is the same one.
            let clientConnection = first.host.state.withLock { $0.connections.last }
            let serverConnection = second.host.state.withLock { $0.connections.last }
            clientConnection?.connection.send([1])
            let came = serverConnection?.wait { $0.received == [1] }
            #expect(came == true)
        }
    }

    /// Whether both peers have one open connection, the same one, and dial no more.
    private func settled(_ first: RunningPeer, _ second: RunningPeer) -> Bool {
        let end = deadline()
        while Clock.system.monotonicNanoseconds() < end {
            let connections = [first, second].map(\.transport.connections)
            let open = connections.map { $0.filter(Self.isConnected) }
            let quiet = connections.joined().allSatisfy { connection in
                switch connection.state {
                case .connected, .elsewhere: true
                case .waiting, .connecting: false
                }
            }
            if quiet, open.allSatisfy({ $0.count == 1 }),
                open[0][0].isOutgoing != open[1][0].isOutgoing
            {
                return true
            }
            // No event reports this state, so it is polled.
            _ = first.host.state.wait(
                until: Clock.system.monotonicNanoseconds() + 1_000_000, while: { _ in true })
        }
        return false
    }

    private static func isConnected(_ connection: NetworkConnectionStatus) -> Bool {
        if case .connected = connection.state { return true }
        return false
    }

    @Test func `two addresses of the same peer lead to one connection`() throws {
        let keyPair = try PeerKeyPair.generate()
        var configuration = try Peers.configuration(keyPair: keyPair)
        configuration.listening = ["127.0.0.1:0", "127.0.0.1:0"]
        let server = try RunningPeer(configuration)
        let isListening = server.host.wait { $0.listening.count == 2 }
        #expect(isListening)
        let addresses = server.host.state.withLock { $0.listening }
        let random = Mutex(SeededRandom(seed: 1, "two addresses"))
        let client = try RunningPeer(
            Peers.configuration(), peers: addresses, random: { random.withLock { $0.next() } })
        let end = deadline()
        var states: [NetworkConnectionStatus.State] = []
        var isSettled = false
        while !isSettled, Clock.system.monotonicNanoseconds() < end {
            states = client.transport.connections.map(\.state)
            isSettled =
                states.contains(.elsewhere(key: server.key))
                && client.transport.connections.contains(where: Self.isConnected)
            _ = client.host.state.wait(
                until: Clock.system.monotonicNanoseconds() + 1_000_000, while: { _ in true })
        }
        #expect(isSettled, "\(states)")
        // After a close, one of the two addresses is dialed again.
        let count = client.host.state.withLock { $0.connections.count }
        client.host.state.withLock { $0.connections }.forEach {
            $0.connection.close(because: "a test")
        }
        #expect(client.host.connection(count) != nil)
    }

    @Test func `a second peer with the same key replaces the connection of the first`() throws {
        let keyPair = try PeerKeyPair.generate()
        let server = try RunningPeer(Peers.configuration(), listens: true)
        let first = try RunningPeer(
            Peers.configuration(keyPair: keyPair), peers: [server.host.address])
        let connection = try #require(first.host.connection())
        let second = try HostilePeer(server.host.address, keyPair: keyPair)
        second.send(try second.words(Peers.configuration()))
        let isOver = connection.wait { $0.closed == 1 }
        #expect(isOver)
        let replaced = try #require(server.host.connection(0))
        let isClosed = replaced.wait { $0.closed == 1 }
        #expect(isClosed)
        #expect(
            replaced.state.withLock { $0.reason }
                == "duplicate: another connection to the same peer is kept")
    }

    @Test func `a transport lists its connections`() throws {
        let clock = FakeClock()
        let server = try RunningPeer(Peers.configuration(), listens: true)
        let client = try RunningPeer(
            Peers.configuration(), peers: [server.host.address, "127.0.0.1:1"],
            clock: clock.clock)
        #expect(client.host.connection() != nil)
        let isTried = client.host.wait { !$0.unreachable.isEmpty }
        #expect(isTried)
        let end = deadline()
        var connections: [NetworkConnectionStatus] = []
        while connections.count != 2 || connections.contains(where: { $0.state == .connecting }),
            Clock.system.monotonicNanoseconds() < end
        {
            connections = client.transport.connections
        }
        let connected = try #require(connections.first { $0.address == server.host.address })
        #expect(connected.isOutgoing)
        #expect(connected.state == .connected(key: server.key, queuedBytes: 0))
        // Both handshakes, TLS and authentication, took place.
        #expect(connected.traffic.sentBytes > 500 && connected.traffic.receivedBytes > 500)
        let waiting = connections.first { $0.address == "127.0.0.1:1" }
        guard case .waiting(let milliseconds, let reason) = waiting?.state else {
            Issue.record("\(connections)")
            return
        }
        #expect(milliseconds <= 5)
        #expect(reason?.hasPrefix("address: ") == true)
    }
}
