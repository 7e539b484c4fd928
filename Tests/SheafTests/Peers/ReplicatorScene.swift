import Sheaf
import SheafBytes
import SheafDocument
import SheafReplication
import SheafStatements
import SheafSync
import SheafTestSupport

/// One replicator without a thread, and remote peers that a test controls.
final class ReplicatorScene {
    /// A remote peer that counts what it receives.
    final class ScriptedPeer {
        fileprivate let wire: UInt64
        fileprivate var session: SyncSession
        /// Number of documents received.
        fileprivate(set) var documents = 0
        /// Number of answered proof requests.
        fileprivate(set) var proofs = 0
        /// Number of reconciliations that the peer began.
        fileprivate(set) var comparisons = 0
        /// Whether the peer withholds credit for received batches.
        var withholdsCredit = false
        fileprivate var withheld = 0
        /// The reason for which the replicator closed the connection.
        fileprivate(set) var closeMessage: CloseMessage?

        fileprivate init(_ peer: UInt16, wire: UInt64) {
            self.wire = wire
            session = .unknownPeer(peer, at: 1)
        }
    }

    let scene: FileScene
    private var callers: [UInt64: ScriptedPeer] = [:]
    private var wireCount: UInt64 = 0

    var replicator: Replicator { scene.nodes[0].replicator }

    init(_ limits: ReplicatorLimits = ReplicatorLimits()) throws {
        scene = try FileScene(1, limits)
    }

    func connect(_ peer: UInt16, rights: PeerRights? = nil, at now: UInt64) -> ScriptedPeer {
        wireCount += 1
        let caller = ScriptedPeer(peer, wire: wireCount)
        callers[wireCount] = caller
        replicator.connect(wireCount, rights: rights, at: now)
        deliver(at: now)
        return caller
    }

    func disconnect(_ caller: ScriptedPeer) {
        callers[caller.wire] = nil
        replicator.disconnect(caller.wire)
    }

    /// Subscribes without a cursor; evaluation that needs another turn has not run on return.
    func subscribe(_ caller: ScriptedPeer, _ queries: [String], at now: UInt64) throws {
        let arguments = try Insertion.initial(Object(), NameTable())
        caller.session.subscribe(
            Subscribe(
                generation: caller.session.requestedGeneration + 1,
                queries.map { SubscribedQuery(text: $0, arguments: arguments) }, at: 0))
        deliver(at: now)
    }

    /// Makes a remote peer request a proof for a token.
    func ask(_ caller: ScriptedPeer, _ token: TokenAddress, at now: UInt64) {
        caller.session.requestProof(of: token)
        deliver(at: now)
    }

    /// Makes a remote peer grant the credit that it withheld.
    func grant(_ caller: ScriptedPeer, at now: UInt64) {
        caller.withholdsCredit = false
        caller.session.grant(caller.withheld)
        caller.withheld = 0
        deliver(at: now)
    }

    /// Runs a statement in the replicator's store, and delivers the resulting messages.
    func execute(_ query: DQL, _ arguments: QueryArguments = [:], at now: UInt64) throws {
        try scene.nodes[0].execute(query, arguments)
        deliver(at: now)
    }

    /// Runs one turn of the replicator.
    func turn(at now: UInt64) {
        replicator.tick(at: now)
        deliver(at: now)
    }

    /// Runs turns until the replicator has nothing to do; returns their number.
    @discardableResult
    func settle(at now: UInt64) -> Int {
        var count = 0
        while let deadline = replicator.deadline, deadline <= now, count < 100_000 {
            turn(at: now)
            count += 1
        }
        return count
    }

    /// Delivers messages until none is left.
    func deliver(at now: UInt64) {
        var isBusy = true
        while isBusy {
            isBusy = false
            for (wire, caller) in callers.sorted(by: { $0.key < $1.key }) {
                while let effect = caller.session.nextEffect() {
                    isBusy = true
                    take(effect, of: caller, wire, at: now)
                }
            }
            for effect in replicator.drainEffects() {
                switch effect {
                case .send(let wire, let bytes):
                    isBusy = true
                    bytes.withUnsafeBytes { callers[wire]?.session.receive($0, at: now) }
                case .close(let wire, let reason): callers[wire]?.closeMessage = reason
                default: break
                }
            }
        }
    }

    private func take(
        _ effect: SyncSession.Effect, of caller: ScriptedPeer, _ wire: UInt64, at now: UInt64
    ) {
        switch effect {
        case .send(let bytes): bytes.withUnsafeBytes { replicator.receive($0, on: wire, at: now) }
        case .proven: caller.proofs += 1
        case .listOwn:
            caller.comparisons += 1
            caller.session.compare(with: VersionList())
        case .apply(let step):
            caller.documents += step.commits.reduce(0) { $0 + $1.documents.count }
            if caller.withholdsCredit {
                caller.withheld += step.length
            } else {
                caller.session.grant(step.length)
            }
        default: break
        }
    }
}
