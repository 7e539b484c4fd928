import Sheaf
import SheafNetwork
import SheafStorage
import SheafSystem
import SheafTestSupport
import SheafTransport

/// Configurations for test transports.
package enum Peers {
    static let databaseID = DatabaseID(unchecked: Array("sixteen letters!".utf8))
    static let otherDatabaseID = DatabaseID(unchecked: Array("sixteen numbers!".utf8))
    static let now: UInt64 = 1_780_000_000_000

    /// Returns a configuration without addresses to listen on or dial.
    static func configuration(
        _ identity: NetworkIdentity = .development(), keyPair: PeerKeyPair? = nil,
        databaseID: DatabaseID = databaseID
    ) throws -> NetworkConfiguration {
        var configuration = NetworkConfiguration(
            databaseID: databaseID, keyPair: try keyPair ?? .generate(), identity: identity)
        configuration.listening = []
        // Short delays keep the tests fast.
        configuration.limits.firstRetryMilliseconds = 5
        configuration.limits.longestRetryMilliseconds = 50
        return configuration
    }
}

/// A running transport and its host.
final class RunningPeer {
    /// The address of a group that ``settle()`` dials.
    static let probedAddress = "224.0.0.1:1"

    let transport: TCPTransport
    let host: TestHost
    let key: PeerKey

    init(
        _ configuration: NetworkConfiguration, listens: Bool = false, peers: [String] = [],
        clock: Clock = .system, busyPollMicroseconds: Int = 0,
        random: @escaping @Sendable () -> UInt64 = { 0 }
    ) throws {
        host = TestHost(busyPollMicroseconds: busyPollMicroseconds)
        var configuration = configuration
        if listens { configuration.listening = ["127.0.0.1:0"] }
        configuration.peers += peers
        key = configuration.keyPair.publicKey
        transport = try TCPTransport(configuration, clock: clock, random: random)
        try transport.start(host)
    }

    /// Advances a clock until `predicate` holds; gives up after a minute.
    func pump(
        _ clock: FakeClock, milliseconds: UInt64, until predicate: (TestHost.State) -> Bool
    ) -> Bool {
        let end = deadline()
        while Clock.system.monotonicNanoseconds() < end {
            let moment = Clock.system.monotonicNanoseconds() + 2_000_000
            if host.state.wait(until: moment, while: { !predicate($0) }) { return true }
            clock.advance(milliseconds: milliseconds)
            transport.wakeAfterClockChange()
        }
        return false
    }

    /// Waits until the loop has handled its events, and what is due at the current time.
    ///
    /// It dials an address of a group after it has handled everything that is due: the system
    /// refuses such a connection immediately, so that none counts toward a limit.
    func settle() throws {
        for _ in 0..<3 {
            let count = host.failures.count
            try transport.add(Self.probedAddress)
            guard host.wait(until: { $0.unreachable.count > count }) else {
                throw NetworkError(.address, "the loop did not dial within five minutes")
            }
            try transport.remove(Self.probedAddress)
        }
    }

    /// Waits until the queue of a connection no longer gets shorter; returns its length.
    func settledLength(of connection: any PeerConnection) throws -> Int {
        var length = -1
        while length != connection.queuedLength {
            length = connection.queuedLength
            try settle()
        }
        return length
    }

    deinit {
        transport.stop()
    }
}

/// Returns the rule of the error that `body` throws, or nil.
func rule(_ body: () throws -> Void) -> NetworkRule? {
    do {
        try body()
        return nil
    } catch {
        return (error as? NetworkError)?.rule
    }
}
