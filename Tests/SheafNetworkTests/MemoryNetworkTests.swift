import Sheaf
import SheafTransport
import Testing

/// Tests of connections between peers of one process.
struct MemoryNetworkTests {
    private let keys = (1...3 as ClosedRange<UInt8>).map {
        PeerKey(unchecked: [UInt8](repeating: $0, count: 32))
    }
    private let hosts = (0..<3).map { _ in TestHost() }

    /// Returns the transports of the peers, which are not started.
    private func transports(_ network: MemoryNetwork) -> [any PeerTransport] {
        keys.map { network.transport(for: $0) }
    }

    /// The handlers of the connections of a host, in order.
    private func handlers(_ host: Int) -> [TestConnectionHandler] {
        hosts[host].state.withLock { $0.connections }
    }

    private func received(_ handler: TestConnectionHandler) -> [UInt8] {
        handler.state.withLock { $0.received }
    }

    /// The reasons for which the connections of a host have ended; nil for those that are open.
    private func reasons(_ host: Int) -> [String?] {
        handlers(host).map { handler in
            handler.state.withLock { $0.closed == 1 ? $0.reason : $0.closed == 0 ? nil : "twice" }
        }
    }

    @Test func `started peers are connected with each other, and pass bytes in order`() throws {
        let network = MemoryNetwork()
        let rights = PeerRights(read: ["cars": "true"], write: [:])
        let first = network.transport(for: keys[0], rights: rights)
        let second = network.transport(for: keys[1])
        try first.start(hosts[0])
        #expect(handlers(0).isEmpty)
        try second.start(hosts[1])
        let (left, right) = (
            try #require(handlers(0).first), try #require(handlers(1).first)
        )
        #expect(handlers(0).count == 1 && handlers(1).count == 1)
        #expect(left.connection.remote == PeerIdentity(key: keys[1], address: "memory"))
        #expect(
            right.connection.remote
                == PeerIdentity(key: keys[0], address: "memory", rights: rights))
        #expect(left.connection.ownRights == rights && right.connection.ownRights == nil)
        #expect(left.connection.kind == .memory)
        left.connection.send([1, 2])
        right.connection.send([7])
        left.connection.send([3])
        #expect(received(right) == [1, 2, 3] && received(left) == [7])
        #expect(left.connection.queuedLength == 0)
    }

    @Test func `bytes wait while the other end does not read`() throws {
        let network = MemoryNetwork()
        for (transport, host) in zip(transports(network), hosts.prefix(2)) {
            try transport.start(host)
        }
        let (left, right) = (
            try #require(handlers(0).first), try #require(handlers(1).first)
        )
        right.connection.setReading(false)
        left.connection.send([1, 2, 3])
        left.connection.send([4, 5])
        #expect(received(right) == [] && left.connection.queuedLength == 5)
        #expect(right.connection.queuedLength == 0)
        right.connection.send([9])
        #expect(received(left) == [9])
        right.connection.setReading(true)
        #expect(received(right) == [1, 2, 3, 4, 5] && left.connection.queuedLength == 0)
        right.connection.setReading(true)
        left.connection.send([6])
        #expect(received(right) == [1, 2, 3, 4, 5, 6])
        right.connection.setReading(false)
        left.connection.send([7])
        left.connection.close(because: "done")
        right.connection.setReading(true)
        #expect(received(right).count == 6 && left.connection.queuedLength == 0)
    }

    @Test(arguments: [0, 1])
    func `a closed connection has its reason on the side that closed it`(_ closing: Int) throws {
        let network = MemoryNetwork()
        for (transport, host) in zip(transports(network), hosts.prefix(2)) {
            try transport.start(host)
        }
        let (own, other) = (
            try #require(handlers(closing).first), try #require(handlers(1 - closing).first)
        )
        own.connection.close(because: "done")
        own.connection.close(because: "again")
        other.connection.close(because: "late")
        own.connection.send([1])
        #expect(reasons(closing) == ["done"])
        #expect(reasons(1 - closing) == ["the other side closed the connection"])
        #expect(received(other).isEmpty)
        network.connect(keys[1], keys[0])
        #expect(reasons(closing) == ["done", nil])
        #expect(reasons(1 - closing) == ["the other side closed the connection", nil])
    }

    @Test func `disconnected peers stay apart until they are connected again`() throws {
        let network = MemoryNetwork()
        network.disconnect(keys[1], keys[2])
        for (transport, host) in zip(transports(network), hosts) { try transport.start(host) }
        #expect((0..<3).map { handlers($0).count } == [2, 1, 1])
        network.disconnect(keys[1], keys[0])
        let reason = "the peers were disconnected"
        #expect(reasons(0).compactMap { $0 } == [reason] && reasons(1) == [reason])
        network.connect(keys[2], keys[1])
        #expect(reasons(1) == [reason, nil] && reasons(2) == [nil, nil])
        network.connect(keys[2], keys[1])
        #expect(reasons(2).count == 2)
    }

    @Test func `a network without connections opens those that are requested`() throws {
        let network = MemoryNetwork(connectsAll: false)
        let transports = transports(network)
        network.connect(keys[0], keys[1])
        for (transport, host) in zip(transports, hosts) { try transport.start(host) }
        #expect((0..<3).map { handlers($0).count } == [1, 1, 0])
        network.connect(keys[2], keys[1])
        #expect((0..<3).map { handlers($0).count } == [1, 2, 1])
        network.disconnect(keys[0], keys[1])
        transports[0].stop()
        try transports[0].start(hosts[0])
        #expect((0..<3).map { handlers($0).count } == [1, 2, 1])
        #expect(reasons(1) == ["the peers were disconnected", nil])
    }

    @Test func `a peer that stops is connected again once it is started`() throws {
        let network = MemoryNetwork()
        let transports = transports(network)
        for (transport, host) in zip(transports, hosts) { try transport.start(host) }
        transports[1].stop()
        let reason = "the peer has stopped"
        #expect(reasons(1) == [reason, reason])
        #expect(reasons(0).compactMap { $0 } == [reason])
        network.connect(keys[0], keys[1])
        #expect(reasons(0).count == 2)
        try transports[1].start(hosts[1])
        #expect((0..<3).map { handlers($0).count } == [3, 4, 3])
    }

    @Test func `a peer that accepts no connections keeps those that are open`() throws {
        let network = MemoryNetwork()
        let transports = transports(network)
        for index in 0...1 { try transports[index].start(hosts[index]) }
        transports[0].stopAccepting()
        try transports[2].start(hosts[2])
        #expect((0..<3).map { handlers($0).count } == [1, 2, 1])
        #expect(reasons(0) == [nil])
        handlers(0)[0].connection.send([5])
        #expect(received(handlers(1)[0]) == [5])
        handlers(0)[0].connection.close(because: "done")
        network.connect(keys[0], keys[1])
        #expect(reasons(0) == ["done"] && reasons(1).count == 2)
    }

    @Test(arguments: [0, 1])
    func `a refused connection ends, and another one may follow`(_ refusing: Int) throws {
        let network = MemoryNetwork()
        hosts[refusing].state.withLock { $0.takes = false }
        for (transport, host) in zip(transports(network), hosts.prefix(2)) {
            try transport.start(host)
        }
        // The end with the smaller key is asked first.
        let ended: [String?] = refusing == 0 ? [] : ["the connection was refused"]
        #expect(reasons(refusing) == [] && reasons(1 - refusing) == ended)
        hosts[refusing].state.withLock { $0.takes = true }
        network.connect(keys[0], keys[1])
        #expect(reasons(refusing) == [nil] && reasons(1 - refusing) == ended + [nil])
    }
}
