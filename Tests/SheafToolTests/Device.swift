import Sheaf
import SheafEngine
import SheafNetwork
import SheafStorage
import SheafSystem
import Synchronization

/// An in-process peer that connects over TCP and captures warnings of its store.
final class Device: Sendable {
    let peer: Peer
    private let lines: Monitor<[String]>

    /// Opens a peer that connects to `address`; its clock is `ahead` milliseconds fast.
    init(_ address: String, ahead: UInt64 = 0) async throws {
        let (keyPair, lines) = (try PeerKeyPair.generate(), Monitor<[String]>([]))
        self.lines = lines
        var network = NetworkConfiguration(
            databaseID: "scene", keyPair: keyPair, identity: .development(), listening: [],
            peers: [address])
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
                databaseID: "scene", key: keyPair.publicKey,
                transports: [try TCPTransport(network)], store: store))
    }

    static func clock(ahead: UInt64) -> Clock {
        Clock(
            wallMilliseconds: { Clock.system.wallMilliseconds() + ahead },
            monotonicNanoseconds: { Clock.system.monotonicNanoseconds() })
    }

    /// Returns the first `count` log lines that contain `text`; waits up to three minutes.
    func warnings(with text: String, count: Int) -> [String] {
        func found(_ all: [String]) -> [String] { all.filter { $0.contains(text) } }
        lines.wait(until: RunningPeer.deadline) { found($0).count < count }
        return Array(found(lines.withLock { $0 }).prefix(count))
    }
}
