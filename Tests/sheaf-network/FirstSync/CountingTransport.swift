import Sheaf
import SheafNetwork
import SheafSync
import Synchronization

/// A TCP transport that counts the frames of its connections by type.
final class CountingTransport: PeerTransport {
    private let transport: TCPTransport
    private let tallies = (sent: FrameTally(), received: FrameTally())
    /// The counting host, retained here because the transport does not retain it.
    private let host = Mutex<Host?>(nil)

    init(_ transport: TCPTransport) {
        self.transport = transport
    }

    func start(_ host: any PeerTransportHost) throws {
        let counting = Host(host, tallies.sent, tallies.received)
        self.host.withLock { $0 = counting }
        try transport.start(counting)
    }

    func stop() {
        transport.stop()
        host.withLock { $0 = nil }
    }

    /// Bytes on the wire of the first open connection, with TLS.
    var traffic: NetworkTraffic {
        transport.connections.first { status in
            if case .connected = status.state { true } else { false }
        }?.traffic ?? NetworkTraffic()
    }

    /// Bytes of received frames with documents.
    var documentBytes: Int { tallies.received.counts[FrameType.segment.rawValue]?.length ?? 0 }

    /// Numbers of frames and of their bytes, by direction and type.
    var frames: [(String, Int)] {
        [("sent", tallies.sent), ("received", tallies.received)].flatMap { direction, tally in
            tally.counts.sorted { $0.key < $1.key }.flatMap { number, sum in
                let type = FrameType(rawValue: number).map { "\($0)" } ?? "\(number)"
                return [
                    ("\(direction).\(type).frames", sum.count),
                    ("\(direction).\(type).bytes", sum.length),
                ]
            }
        }
    }

    /// A host that counts the frames of its connections.
    private final class Host: PeerTransportHost {
        private let host: any PeerTransportHost
        private let (sent, received): (FrameTally, FrameTally)

        init(_ host: any PeerTransportHost, _ sent: FrameTally, _ received: FrameTally) {
            self.host = host
            (self.sent, self.received) = (sent, received)
        }

        func connected(_ connection: any PeerConnection) -> (any PeerConnectionHandler)? {
            host.connected(Connection(connection, sent)).map { Handler($0, received) }
        }

        var metadata: Object { host.metadata }
        func report(_ event: PeerTransportEvent) { host.report(event) }
        func addressesChanged() { host.addressesChanged() }
        func refuse(_ connection: any PeerConnection, because reason: String) {
            host.refuse(connection, because: reason)
        }
    }

    /// A connection that counts the frames which it sends.
    private final class Connection: PeerConnection {
        private let connection: any PeerConnection
        private let stream: FrameStream

        init(_ connection: any PeerConnection, _ tally: FrameTally) {
            self.connection = connection
            stream = FrameStream(tally)
        }

        var remote: PeerIdentity { connection.remote }
        var ownRights: PeerRights? { connection.ownRights }
        var kind: PeerConnectionKind { connection.kind }
        func setReading(_ isReading: Bool) { connection.setReading(isReading) }
        var queuedLength: Int { connection.queuedLength }
        func close(because reason: String) { connection.close(because: reason) }
        func send(_ bytes: [UInt8]) {
            bytes.withUnsafeBytes { stream.count($0) }
            connection.send(bytes)
        }
    }

    /// A handler that counts the frames which it receives.
    private final class Handler: PeerConnectionHandler {
        private let handler: any PeerConnectionHandler
        private let stream: FrameStream

        init(_ handler: any PeerConnectionHandler, _ tally: FrameTally) {
            self.handler = handler
            stream = FrameStream(tally)
        }

        func received(_ bytes: UnsafeRawBufferPointer) {
            stream.count(bytes)
            handler.received(bytes)
        }

        func drained() { handler.drained() }
        func closed(_ reason: String) { handler.closed(reason) }
    }
}

/// Numbers and bytes of frames by type.
final class FrameTally: Sendable {
    private let sums = Mutex<[UInt8: (count: Int, length: Int)]>([:])

    func add(_ type: UInt8, length: Int) {
        sums.withLock {
            let known = $0[type] ?? (0, 0)
            $0[type] = (known.count + 1, known.length + length)
        }
    }

    /// The number of frames of each type, and their bytes with headers.
    var counts: [UInt8: (count: Int, length: Int)] { sums.withLock { $0 } }
}

/// One direction of a connection, in which the headers of frames are found.
private final class FrameStream: Sendable {
    private struct State {
        /// The bytes of an incomplete header: length, checksum and type.
        var header: [UInt8] = []
        /// Number of bytes of the current frame that are still to come.
        var rest = 0
    }

    private static let headerLength = 9
    private let state = Mutex(State())
    private let tally: FrameTally

    init(_ tally: FrameTally) {
        self.tally = tally
    }

    func count(_ bytes: UnsafeRawBufferPointer) {
        state.withLock { state in
            var bytes = bytes[...]
            while !bytes.isEmpty {
                if state.rest > 0 {
                    let body = min(state.rest, bytes.count)
                    state.rest -= body
                    bytes = bytes.dropFirst(body)
                    continue
                }
                let missing = Self.headerLength - state.header.count
                state.header += bytes.prefix(missing)
                bytes = bytes.dropFirst(missing)
                guard state.header.count == Self.headerLength else { return }
                let length = state.header.prefix(4).reversed().reduce(0) { $0 << 8 | Int($1) }
                tally.add(state.header[8], length: length + 8)
                state.rest = length - 1
                state.header = []
            }
        }
    }
}
