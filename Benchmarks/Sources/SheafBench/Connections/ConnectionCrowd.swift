import BenchHarness
import Sheaf
import SheafDocument
import SheafReplication
import SheafStatements
import SheafSync

/// A replicator with a store in memory, and the sessions of its peers, on one thread.
final class ConnectionCrowd {
    let store: Sheaf.Store
    private let replicator: Replicator
    /// The sessions of the peers; the number of a connection is its index plus one.
    private var peers: [SyncSession] = []
    private var time: UInt64 = 1
    private var effects: [Replicator.Effect] = []

    /// Connects peers, each of which subscribes to a collection of its own if it subscribes.
    init(_ count: Int, subscribe: Bool) async throws {
        store = try await Sheaf.Store.inMemory()
        let database = DatabaseID("benchmark").hash
        var random: UInt64 = 0
        replicator = Replicator(
            store.queries,
            Replicator.Identity(database: database, peerKey: Self.key(0), isServer: true)
        ) {
            random += 1
            return random
        }
        for number in 1...count {
            let hello = Hello(
                database: database, peerKey: Self.key(number),
                site: Site(rawValue: UInt64(number)), log: database, nonce: UInt64(number),
                wallMilliseconds: 1, isServer: false, name: "peer")
            peers.append(SyncSession(hello, at: time))
            replicator.connect(UInt64(number), at: time)
            deliver(from: [number - 1])
            guard subscribe else { continue }
            let query = SubscribedQuery(
                text: "SELECT * FROM own\(number % 100)",
                arguments: try Insertion.initial(Object(), NameTable()))
            peers[number - 1].subscribe(Subscribe(generation: 1, [query], at: 0))
            deliver(from: [number - 1])
        }
    }

    private static func key(_ number: Int) -> [UInt8] {
        (0..<32).map { UInt8(truncatingIfNeeded: $0 < 8 ? number >> (8 * $0) : 7) }
    }

    /// Passes a small frame of the peer in the middle to the replicator; returns the nanoseconds.
    func sendFrame() -> UInt64 {
        let index = peers.count / 2
        peers[index].report(
            QuarantineNotice(count: 0, latestMilliseconds: 0, wallMilliseconds: 0))
        var bytes: [UInt8] = []
        while let effect = peers[index].nextEffect() {
            if case .send(let frame) = effect { bytes += frame }
        }
        return measure {
            bytes.withUnsafeBytes { replicator.receive($0, on: UInt64(index + 1), at: time) }
        }
    }

    /// Lets the replicator process new commits; returns the nanoseconds.
    func processCommits() -> UInt64 {
        measure { replicator.processPublished() }
    }

    /// Runs an event as the replication thread does; messages are delivered afterwards.
    private func measure(_ event: () -> Void) -> UInt64 {
        time += 1_000
        let start = now()
        event()
        effects += replicator.drainEffects()
        replicator.tick(at: time)
        effects += replicator.drainEffects()
        sink(replicator.deadline ?? 0)
        let end = now()
        deliver(from: [])
        return end - start
    }

    /// Delivers messages in both directions until none is left.
    private func deliver(from first: Set<Int>) {
        var senders = first
        repeat {
            for index in senders.sorted() { receive(from: index) }
            senders = []
            effects += replicator.drainEffects()
            let sent = effects
            effects = []
            for case .send(let number, let bytes) in sent {
                bytes.withUnsafeBytes { peers[Int(number) - 1].receive($0, at: time) }
                senders.insert(Int(number) - 1)
            }
        } while !senders.isEmpty
    }

    private func receive(from index: Int) {
        while let effect = peers[index].nextEffect() {
            switch effect {
            case .send(let bytes):
                bytes.withUnsafeBytes { replicator.receive($0, on: UInt64(index + 1), at: time) }
            case .listOwn: peers[index].compare(with: VersionList())
            case .apply(let step): peers[index].grant(step.length)
            // Records of peers are not acknowledged, so no more of them are sent.
            default: break
            }
        }
    }
}
