import Sheaf
import SheafTestSupport
import SheafTransport
import Synchronization
import Testing

/// Tests of the order of calls to both ends of a connection in one process.
struct MemoryDeliveryTests {
    private typealias Action = @Sendable (_ connection: any PeerConnection, _ byte: UInt8) -> Void

    /// A peer that records each call, and acts upon it; a new connection has the byte 0.
    private final class Host: PeerTransportHost {
        let name: String
        let calls: RecordedCalls
        let connections = Mutex<[any PeerConnection]>([])
        private let action = Mutex<Action?>(nil)

        init(_ name: String, _ calls: RecordedCalls) {
            (self.name, self.calls) = (name, calls)
        }

        var metadata: Object { ["name": .string(name)] }

        func set(_ new: @escaping Action) { action.withLock { $0 = new } }

        func act(_ connection: any PeerConnection, _ byte: UInt8) {
            let action = action.withLock { $0 }
            action?(connection, byte)
        }

        func connected(_ connection: any PeerConnection) -> (any PeerConnectionHandler)? {
            connections.withLock { $0.append(connection) }
            calls.add("\(name) connected")
            act(connection, 0)
            return Handler(self, connection)
        }

        func report(_ event: PeerTransportEvent) {}
    }

    private final class Handler: PeerConnectionHandler {
        private let host: Host
        private let connection: any PeerConnection

        init(_ host: Host, _ connection: any PeerConnection) {
            (self.host, self.connection) = (host, connection)
        }

        func received(_ bytes: UnsafeRawBufferPointer) {
            let byte = bytes.first ?? 0
            host.calls.add("\(host.name) begins \(byte)")
            host.act(connection, byte)
            host.calls.add("\(host.name) ends \(byte)")
        }

        func drained() {}

        func closed(_ reason: String) { host.calls.add("\(host.name) closed: \(reason)") }
    }

    private let network = MemoryNetwork()
    private let keys = (1...2 as ClosedRange<UInt8>).map {
        PeerKey(unchecked: [UInt8](repeating: $0, count: 32))
    }
    private let calls = RecordedCalls()
    private let left: Host
    private let right: Host

    init() {
        (left, right) = (Host("left", calls), Host("right", calls))
    }

    private func start() throws {
        try network.transport(for: keys[0]).start(left)
        try network.transport(for: keys[1]).start(right)
    }

    /// Returns the newest connection of a host.
    private func connection(_ host: Host) throws -> any PeerConnection {
        try #require(host.connections.withLock { $0.last })
    }

    @Test func `each end has the key and the metadata of the other one`() throws {
        try start()
        let remote = try [connection(left).remote, connection(right).remote]
        #expect(
            remote == [
                PeerIdentity(key: keys[1], address: "memory", metadata: ["name": "right"]),
                PeerIdentity(key: keys[0], address: "memory", metadata: ["name": "left"]),
            ])
        #expect(calls.take() == ["left connected", "right connected"])
    }

    @Test func `messages that an end sends early are passed once the other end is connected`()
        throws
    {
        left.set { connection, byte in
            guard byte == 0 else { return }
            connection.send([7])
            connection.send([8])
        }
        right.set { connection, byte in if byte == 0 { connection.send([9]) } }
        try start()
        #expect(
            calls.take() == [
                "left connected", "right connected", "left begins 9", "left ends 9",
                "right begins 7", "right ends 7", "right begins 8", "right ends 8",
            ])
    }

    @Test func `a handler ends before the next message begins, also if it causes that message`()
        throws
    {
        try start()
        let (other, calls) = (try connection(right), calls)
        left.set { _, byte in
            guard byte == 1 else { return }
            other.send([2])
            other.send([3, 3])
            calls.add("\(other.queuedLength) bytes wait")
        }
        _ = calls.take()
        other.send([1])
        #expect(
            calls.take() == [
                "left begins 1", "3 bytes wait", "left ends 1", "left begins 2", "left ends 2",
                "left begins 3", "left ends 3",
            ])
        #expect(other.queuedLength == 0)
    }

    @Test func `a handler that stops reading gets no further message until it reads again`() throws
    {
        try start()
        let (own, other) = (try connection(left), try connection(right))
        own.setReading(false)
        for byte in 1...4 as ClosedRange<UInt8> { other.send([byte]) }
        _ = calls.take()
        left.set { connection, byte in
            if byte == 1 { connection.setReading(false) }
            // Another call for this message must not begin.
            if byte == 2 { connection.setReading(true) }
        }
        own.setReading(true)
        #expect(calls.take() == ["left begins 1", "left ends 1"])
        #expect(other.queuedLength == 3)
        other.send([5])
        #expect(calls.take() == [] && other.queuedLength == 4)
        own.setReading(true)
        let rest = (2...5).flatMap { ["left begins \($0)", "left ends \($0)"] }
        #expect(calls.take() == rest && other.queuedLength == 0)
    }

    @Test func `a handler that closes its connection gets no further message`() throws {
        try start()
        let (own, other) = (try connection(left), try connection(right))
        own.setReading(false)
        for byte in 1...2 as ClosedRange<UInt8> { other.send([byte]) }
        _ = calls.take()
        left.set { connection, byte in if byte == 1 { connection.close(because: "done") } }
        own.setReading(true)
        #expect(
            calls.take() == [
                "left begins 1", "left closed: done",
                "right closed: the other side closed the connection", "left ends 1",
            ])
        #expect(other.queuedLength == 0)
        own.setReading(true)
        other.send([3])
        #expect(calls.take() == [] && other.queuedLength == 0)
    }

    @Test func `a connection that the first end closes while it is connected has no other end`()
        throws
    {
        left.set { connection, _ in connection.close(because: "full") }
        try start()
        #expect(calls.take() == ["left connected", "left closed: the connection was ended"])
        left.set { _, _ in }
        network.connect(keys[1], keys[0])
        #expect(calls.take() == ["left connected", "right connected"])
    }

    @Test func `a connection that the second end closes while it is connected ends on both`()
        throws
    {
        right.set { connection, _ in connection.close(because: "full") }
        try start()
        #expect(
            calls.take() == [
                "left connected", "right connected",
                "left closed: the other side closed the connection",
                "right closed: the connection was ended",
            ])
        right.set { _, _ in }
        network.connect(keys[0], keys[1])
        #expect(calls.take() == ["left connected", "right connected"])
    }
}
