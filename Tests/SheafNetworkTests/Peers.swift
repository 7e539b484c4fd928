import Sheaf
import SheafNetwork
import SheafStorage
import SheafTestSupport

/// What tests make transports of.
enum Peers {
    static let databaseID = [UInt8]("sixteen letters!".utf8)
    static let otherDatabaseID = [UInt8]("sixteen numbers!".utf8)
    static let now: UInt64 = 1_780_000_000_000

    /// A configuration that listens nowhere and connects with nobody.
    static func configuration(
        _ identity: NetworkIdentity = .development(), keyPair: PeerKeyPair? = nil,
        databaseID: [UInt8] = databaseID
    ) throws -> NetworkConfiguration {
        var configuration = NetworkConfiguration(
            databaseID: databaseID, keyPair: try keyPair ?? .generate(), identity: identity)
        configuration.listening = []
        // As fast as tests like it.
        configuration.limits.firstRetryMilliseconds = 5
        configuration.limits.longestRetryMilliseconds = 50
        return configuration
    }
}

/// A transport that runs, and its host.
final class RunningPeer {
    let transport: TCPTransport
    let host = TestHost()
    let key: [UInt8]

    init(
        _ configuration: NetworkConfiguration, listens: Bool = false, peers: [String] = [],
        clock: Clock = .system, random: @escaping @Sendable () -> UInt64 = { 0 }
    ) throws {
        var configuration = configuration
        if listens { configuration.listening = ["127.0.0.1:0"] }
        configuration.peers += peers
        key = configuration.keyPair.publicKey
        transport = try TCPTransport(configuration, clock: clock, random: random)
        try transport.start(host)
    }

    /// Moves a clock on until something is so; gives up after a minute.
    func pump(
        _ clock: FakeClock, milliseconds: UInt64, until predicate: (TestHost.State) -> Bool
    ) -> Bool {
        let end = deadline()
        while Clock.system.monotonicNanoseconds() < end {
            let moment = Clock.system.monotonicNanoseconds() + 2_000_000
            if host.state.wait(until: moment, while: { !predicate($0) }) { return true }
            clock.advance(milliseconds: milliseconds)
            transport.lookAtClock()
        }
        return false
    }

    deinit {
        transport.stop()
    }
}

/// The rule that refuses something; nil if nothing does.
func rule(_ body: () throws -> Void) -> NetworkRule? {
    do {
        try body()
        return nil
    } catch {
        return (error as? NetworkError)?.rule
    }
}
