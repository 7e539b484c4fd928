import Sheaf
import SheafEngine
import SheafReplication
import SheafStorage
import SheafTestSupport
import Synchronization
import Testing

/// Addresses that a transport cannot reach, as a peer reports them.
struct UnreachableAddressTests {
    /// A transport that reports the events that a test passes.
    private final class ReportingTransport: PeerTransport {
        private let host = Mutex<(any PeerTransportHost)?>(nil)

        func start(_ host: any PeerTransportHost) { self.host.withLock { $0 = host } }
        func stop() { host.withLock { $0 = nil } }

        func fail(_ address: String, _ reason: String) {
            host.withLock { $0 }?.report(
                .unreachable(address: address, reason: reason, nextTryMilliseconds: 250))
        }

        func reach(_ address: String) {
            host.withLock { $0 }?.report(.attemptsEnded(address: address))
        }
    }

    @Test func `an unreachable address is listed, and logged at growing intervals`() async throws {
        let lines = Mutex<[String]>([])
        let log = StoreLog(from: .warning) { _, message, metadata in
            lines.withLock { $0.append("\(message) \(metadata)") }
        }
        let transport = ReportingTransport()
        let peer = try await Peer.inMemory(
            configuration: PeerConfiguration(
                databaseID: "cars", key: .random(), transports: [transport],
                store: StoreOptions(log: log)))
        try peer.sync.start()
        for _ in 0..<10 { transport.fail("b:1", "address: refused") }
        transport.fail("a:1", "database: another database")
        let known = peer.presence.unreachableAddresses
        #expect(known.map(\.address) == ["a:1", "b:1"])
        #expect(known.map(\.reason) == ["database: another database", "address: refused"])
        #expect(known.map(\.attempts) == [1, 10])
        #expect(
            known.allSatisfy { $0.nextAttemptMilliseconds == $0.lastAttemptMilliseconds + 250 })
        // Of ten failures the first, second, fourth and eighth are logged, and the first of the
        // other address.
        #expect(lines.withLock { $0.count } == 5)
        #expect(lines.withLock { $0.allSatisfy { $0.hasPrefix("a peer cannot be reached") } })
        transport.fail("b:1", "tls: no certificate")
        #expect(lines.withLock { $0.last }?.contains("tls: no certificate") == true)
        transport.fail("b:1", "address: refused")
        #expect(lines.withLock { $0.count } == 6)

        transport.reach("b:1")
        #expect(peer.presence.unreachableAddresses.map(\.address) == ["a:1"])
        peer.sync.stop()
        #expect(peer.presence.unreachableAddresses.isEmpty)
        try await peer.close()
    }
}
