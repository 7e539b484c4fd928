import Sheaf
import SheafNetwork
import SheafStorage
import Synchronization

/// A peer of this process that connects over TCP, and the warnings of its store.
final class Device: Sendable {
    let peer: Peer
    private let lines: Monitor<[String]>

    /// Connects to `address` once sync starts, with a clock that is `ahead` by some milliseconds.
    init(_ address: String, ahead: UInt64 = 0) async throws {
        let (keyPair, lines) = (try PeerKeyPair.generate(), Monitor<[String]>([]))
        self.lines = lines
        guard let key = PeerKey(keyPair.publicKey) else { throw CancellationError() }
        var network = NetworkConfiguration(
            databaseID: PeerConfiguration.databaseBytes(of: "scene"), keyPair: keyPair,
            identity: .development())
        network.listening = []
        network.peers = [address]
        network.limits.firstRetryMilliseconds = 5
        network.limits.longestRetryMilliseconds = 50
        let log = StoreLog(from: .warning) { level, message, metadata in
            let details = metadata.sorted { $0.key < $1.key }.map { " \($0.key)=\($0.value)" }
            lines.withLock { $0.append("\(level): \(message)\(details.joined())") }
            lines.broadcast()
        }
        var store = StoreOptions(log: log)
        store.storage.clock = Self.clock(ahead: ahead)
        peer = try await Peer.inMemory(
            configuration: PeerConfiguration(
                databaseID: "scene", key: key, transports: [try TCPTransport(network)],
                store: store))
    }

    static func clock(ahead: UInt64) -> Clock {
        Clock(
            wallMilliseconds: { Clock.system.wallMilliseconds() + ahead },
            monotonicNanoseconds: { Clock.system.monotonicNanoseconds() })
    }

    /// The first lines of the log that contain `text`, once there are `count`; waits for three minutes at most.
    func warnings(with text: String, count: Int) -> [String] {
        func found(_ all: [String]) -> [String] { all.filter { $0.contains(text) } }
        lines.wait(until: RunningPeer.deadline) { found($0).count < count }
        return Array(found(lines.withLock { $0 }).prefix(count))
    }
}
