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

        func refuse(_ address: String, _ reason: String) {
            host.withLock { $0 }?.report(.refused(address: address, reason: reason))
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

    /// Returns a running peer, its transport, and the number of warnings logged so far.
    private func peer() async throws -> (Peer, ReportingTransport, @Sendable () -> Int) {
        let lines = Mutex(0)
        let log = StoreLog(from: .warning) { _, _, _ in lines.withLock { $0 += 1 } }
        let transport = ReportingTransport()
        let peer = try await Peer.inMemory(
            configuration: PeerConfiguration(
                databaseID: "cars", key: .random(), transports: [transport],
                store: StoreOptions(log: log)))
        try peer.sync.start()
        return (peer, transport, { lines.withLock { $0 } })
    }

    @Test func `1,024 unreachable addresses are listed`() async throws {
        let (peer, transport, _) = try await peer()
        for number in 1...1_024 { transport.fail("a:\(number)", "address: refused") }
        #expect(peer.presence.unreachableAddresses.count == 1_024)
        transport.fail("b:1", "address: refused")
        #expect(peer.presence.unreachableAddresses.count == 1_024)
        #expect(!peer.presence.unreachableAddresses.contains { $0.address == "b:1" })
        // Listed addresses are still updated, and a reached one makes room.
        transport.fail("a:1", "tls: no certificate")
        #expect(peer.presence.unreachableAddresses[0].attempts == 2)
        transport.reach("a:1")
        transport.fail("b:1", "address: refused")
        #expect(peer.presence.unreachableAddresses.contains { $0.address == "b:1" })
        try await peer.close()
    }

    @Test(arguments: [false, true])
    func `eight reasons are logged for each address, and further ones at doubled counts`(
        _ isRefused: Bool
    ) async throws {
        let (peer, transport, lines) = try await peer()
        func fail(_ reason: Int) {
            if isRefused {
                transport.refuse("a:1", "reason \(reason)")
            } else {
                transport.fail("a:1", "reason \(reason)")
            }
        }
        // The second failure is logged since the count has doubled.
        for _ in 0..<2 { fail(0) }
        #expect(lines() == 2)
        for reason in 1...7 { fail(reason) }
        #expect(lines() == 9)
        for reason in 8...13 { fail(reason) }
        #expect(lines() == 9)
        fail(14)
        #expect(lines() == 10)
        try await peer.close()
    }

    @Test func `the refusals of 1,024 hosts are counted, and with more all begin anew`()
        async throws
    {
        let (peer, transport, lines) = try await peer()
        for _ in 0..<2 { transport.refuse("0:1", "tls") }
        for host in 1...1_023 { transport.refuse("\(host):1", "tls") }
        #expect(lines() == 1_025)
        transport.refuse("0:2", "tls")
        #expect(lines() == 1_025)
        transport.refuse("1024:1", "tls")
        transport.refuse("0:3", "tls")
        #expect(lines() == 1_027)
        try await peer.close()
    }
}
