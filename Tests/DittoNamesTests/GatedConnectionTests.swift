import DittoNames
import Sheaf
import Testing

/// Tests of what happens to a connection once the application has decided.
@Suite struct GatedConnectionTests {
    /// The calls of a gate, in their order.
    private final class Calls: Sendable {
        private let stream: AsyncStream<String>
        private let continuation: AsyncStream<String>.Continuation

        init() {
            (stream, continuation) = AsyncStream.makeStream(of: String.self)
        }

        func add(_ text: String) { continuation.yield(text) }

        /// Waits for the next calls.
        func next(_ count: Int) async -> [String] {
            var found: [String] = []
            var iterator = stream.makeAsyncIterator()
            while found.count < count, let text = await iterator.next() { found.append(text) }
            return found
        }
    }

    private final class Connection: PeerConnection {
        let remote = PeerIdentity(key: .random(), address: "here")
        let queuedLength = 0
        private let calls: Calls

        init(_ calls: Calls) {
            self.calls = calls
        }

        func send(_ bytes: [UInt8]) {}
        func close(because reason: String) { calls.add("close: \(reason)") }
    }

    private final class Handler: PeerConnectionHandler {
        private let calls: Calls

        init(_ calls: Calls) {
            self.calls = calls
        }

        func received(_ bytes: UnsafeRawBufferPointer) { calls.add("received \(Array(bytes))") }
        func drained() { calls.add("drained") }
        func closed(_ reason: String) { calls.add("closed: \(reason)") }
    }

    private final class Host: PeerTransportHost {
        private let calls: Calls
        private let accepts: Bool
        let metadata: Object = ["a": 1]
        let busyPollMicroseconds = 7

        init(_ calls: Calls, accepts: Bool = true) {
            self.calls = calls
            self.accepts = accepts
        }

        func connected(_ connection: any PeerConnection) -> (any PeerConnectionHandler)? {
            calls.add("connected")
            return accepts ? Handler(calls) : nil
        }

        func report(_ event: PeerTransportEvent) { calls.add("reported") }
        func addressesChanged() { calls.add("addresses changed") }

        func refuse(_ connection: any PeerConnection, because reason: String) {
            calls.add("refused: \(reason)")
        }
    }

    private let calls = Calls()
    private let decisions = AsyncStream.makeStream(of: Bool.self)

    private var requests: ConnectionRequests {
        let requests = ConnectionRequests()
        let stream = decisions.stream
        requests.handler = { _, _ in
            for await decision in stream { return decision }
            return false
        }
        return requests
    }

    private func pass(_ bytes: [UInt8], to handler: any PeerConnectionHandler) {
        bytes.withUnsafeBytes { handler.received($0) }
    }

    @Test func `bytes that arrive before the decision are passed on first`() async throws {
        let host = Host(calls)
        let gate = ConnectionGate(host, requests)
        let handler = try #require(gate.connected(Connection(calls)))
        pass([1], to: handler)
        pass([2, 3], to: handler)
        decisions.continuation.yield(true)
        #expect(await calls.next(3) == ["connected", "received [1]", "received [2, 3]"])
        pass([4], to: handler)
        #expect(await calls.next(1) == ["received [4]"])
        handler.drained()
        #expect(await calls.next(1) == ["drained"])
        pass([5], to: handler)
        handler.closed("cut")
        #expect(await calls.next(2) == ["received [5]", "closed: cut"])
    }

    @Test func `a denied connection is refused with the key of its peer`() async throws {
        let host = Host(calls)
        let gate = ConnectionGate(host, requests)
        let connection = Connection(calls)
        let handler = try #require(gate.connected(connection))
        decisions.continuation.yield(false)
        let key = connection.remote.key
        #expect(await calls.next(1) == ["refused: connectionRequestHandler denied \(key)"])
        // No byte of it is passed on, and it does not count any more.
        pass([UInt8](repeating: 0, count: 65_537), to: handler)
        gate.addressesChanged()
        #expect(await calls.next(1) == ["addresses changed"])
    }

    @Test func `a connection that the peer refuses after the decision is closed`() async throws {
        let host = Host(calls, accepts: false)
        let gate = ConnectionGate(host, requests)
        #expect(gate.connected(Connection(calls)) != nil)
        decisions.continuation.yield(true)
        #expect(
            await calls.next(2) == ["connected", "close: this peer refused the connection"])
    }

    @Test func `a connection is closed if the peer is gone when the application decides`()
        async throws
    {
        var host: Host? = Host(calls)
        let gate = ConnectionGate(try #require(host), requests)
        #expect(gate.connected(Connection(calls)) != nil)
        host = nil
        decisions.continuation.yield(true)
        #expect(
            await calls.next(1) == [
                "close: this peer was closed while connectionRequestHandler decided"
            ])
        #expect(gate.metadata == Object() && gate.busyPollMicroseconds == 0)
    }

    @Test func `without a handler, a gate passes everything to the peer`() async throws {
        let host = Host(calls)
        let gate = ConnectionGate(host, ConnectionRequests())
        #expect(gate.connected(Connection(calls)) is Handler)
        gate.report(.listening(address: "here"))
        gate.addressesChanged()
        gate.refuse(Connection(calls), because: "too many")
        #expect(
            await calls.next(4) == [
                "connected", "reported", "addresses changed", "refused: too many",
            ])
        #expect(gate.metadata == ["a": 1] && gate.busyPollMicroseconds == 7)
    }
}
