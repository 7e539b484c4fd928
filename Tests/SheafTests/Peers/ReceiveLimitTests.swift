import Sheaf
import SheafStorage
import SheafSystem
import Synchronization
import Testing

/// Connections that are not read while too many received bytes are not written.
struct ReceiveLimitTests {
    /// A host whose connections count against one limit; it records what arrives.
    private final class LimitedHost: PeerTransportHost {
        struct State: Sendable {
            var connections: [any PeerConnection] = []
            var received: [Int] = []
        }

        let state = Monitor(State())
        let limit: ReceiveLimit

        init(_ limit: ReceiveLimit) {
            self.limit = limit
        }

        func connected(_ connection: any PeerConnection) -> (any PeerConnectionHandler)? {
            let number = state.withLock { state in
                state.connections.append(connection)
                state.received.append(0)
                return state.connections.count - 1
            }
            return Handler(self, connection, number)
        }

        func report(_ event: PeerTransportEvent) {}

        var received: [Int] { state.withLock { $0.received } }

        /// Returns the connection to a peer.
        func connection(to key: PeerKey) -> (any PeerConnection)? {
            state.withLock { $0.connections.first { $0.remote.key == key } }
        }
    }

    private final class Handler: PeerConnectionHandler {
        private let host: LimitedHost
        private let connection: any PeerConnection
        private let number: Int

        init(_ host: LimitedHost, _ connection: any PeerConnection, _ number: Int) {
            (self.host, self.connection, self.number) = (host, connection, number)
        }

        func received(_ bytes: UnsafeRawBufferPointer) {
            host.state.withLock { $0.received[number] += bytes.count }
            host.limit.recordReceived(bytes.count, on: UInt64(number), from: connection)
        }

        func drained() {}
        func closed(_ reason: String) {}
    }

    @Test func `a connection beyond the limit is not read until half of it is written`() throws {
        let network = MemoryNetwork()
        let keys = (0..<3).map { _ in PeerKey.random() }
        let limit = ReceiveLimit(1_000)
        let server = LimitedHost(limit)
        let clients = [LimitedHost(ReceiveLimit(.max)), LimitedHost(ReceiveLimit(.max))]
        try network.transport(for: keys[0]).start(server)
        for (client, key) in zip(clients, keys[1...]) {
            try network.transport(for: key).start(client)
        }
        let first = try #require(clients[0].connection(to: keys[0]))
        let second = try #require(clients[1].connection(to: keys[0]))
        for _ in 0..<10 { first.send([UInt8](repeating: 1, count: 300)) }
        #expect(server.received[0] == 1_200)
        #expect(first.queuedLength == 1_800)
        // Another connection is read until it sends something.
        second.send([UInt8](repeating: 1, count: 10))
        second.send([UInt8](repeating: 1, count: 10))
        #expect(server.received[1] == 10)
        // More than half of the limit is not written.
        limit.recordProcessed(1_210, unwritten: 501)
        #expect(server.received == [1_200, 10])
        limit.recordProcessed(unwritten: 500)
        #expect(second.queuedLength == 0)
        #expect(server.received[1] == 20)
        var processed = 1_210
        while first.queuedLength > 0 {
            let before = server.received.reduce(0, +)
            limit.recordProcessed(before - processed, unwritten: 0)
            processed = before
            #expect(server.received.reduce(0, +) > before)
        }
        #expect(server.received == [3_000, 20])
    }

    /// A connection that records whether it is read.
    private final class Reader: PeerConnection {
        let remote = PeerIdentity(key: .random(), address: "here")
        let queuedLength = 0
        let calls = Mutex<[Bool]>([])

        func send(_ bytes: [UInt8]) {}
        func close(because reason: String) {}
        func setReading(_ isReading: Bool) { calls.withLock { $0.append(isReading) } }
    }

    @Test func `as many bytes as the limit may wait, and half of it ends all pauses`() {
        let limit = ReceiveLimit(10)
        let readers = [Reader(), Reader()]
        func calls() -> [[Bool]] { readers.map { reader in reader.calls.withLock { $0 } } }
        limit.recordReceived(10, on: 0, from: readers[0])
        #expect(calls() == [[], []])
        limit.recordReceived(1, on: 1, from: readers[1])
        #expect(calls() == [[], [false]])
        limit.recordReceived(1, on: 0, from: readers[0])
        #expect(calls() == [[false], [false]])
        // Six bytes wait in each case.
        limit.recordProcessed(6, unwritten: 0)
        limit.recordProcessed(2, unwritten: 2)
        limit.recordProcessed(4, unwritten: 6)
        #expect(calls() == [[false], [false]])
        limit.recordProcessed(unwritten: 5)
        #expect(calls() == [[false, true], [false, true]])
        limit.recordProcessed(unwritten: 0)
        #expect(calls() == [[false, true], [false, true]])
        limit.recordReceived(11, on: 1, from: readers[1])
        #expect(calls() == [[false, true], [false, true, false]])
    }

    @Test func `an ended connection is not resumed`() throws {
        let network = MemoryNetwork()
        let keys = (0..<2).map { _ in PeerKey.random() }
        let limit = ReceiveLimit(10)
        let (server, client) = (LimitedHost(limit), LimitedHost(ReceiveLimit(.max)))
        try network.transport(for: keys[0]).start(server)
        try network.transport(for: keys[1]).start(client)
        let connection = try #require(client.connection(to: keys[0]))
        for _ in 0..<2 { connection.send([UInt8](repeating: 1, count: 20)) }
        connection.close(because: "the test is done")
        limit.remove(0)
        limit.recordProcessed(20, unwritten: 0)
        #expect(server.received == [20])
    }
}
