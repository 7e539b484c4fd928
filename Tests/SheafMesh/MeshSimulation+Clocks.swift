import SheafDocument
import SheafEngine
import SheafReplication
import SheafSync
import SheafTestSupport

/// Clocks that are wrong by up to an hour, or by up to four years, in both directions.
///
/// Documents stamped far ahead of a peer's clock are quarantined there. Peers converge when all
/// clocks are correct and have passed the latest stamp, or when stores are repaired.
extension MeshSimulation {
    /// Corrects a clock, sometimes with a repair of the store.
    func setClock(of peer: MeshPeer) throws {
        guard plan.hasWrongClocks, random.chance(1, in: 2) else { return }
        peer.setClock()
        if random.chance(1, in: 2) { try repair(peer) }
    }

    private func repair(_ peer: MeshPeer) throws {
        repaired.insert(peer.number)
        try peer.repairClock()
        try perform(peer)
    }

    /// Reverts restamped documents that other peers refuse, and returns whether there were any.
    ///
    /// A repair also restamps writes of other peers. The repaired peer must know which of them
    /// other peers refuse.
    func revertRepairs() throws -> Bool {
        var hasReverted = false
        for peer in honest where peer.rights != nil && repaired.contains(peer.number) {
            let refused = Set(
                peer.replicator.surveys().flatMap(\.refused).map {
                    RefusedName($0.collection, $0.documentID)
                })
            let names = refused.filter {
                ["cars", "groups", "papers", "secrets"].contains($0.collection)
            }
            guard !names.isEmpty else { continue }
            hasReverted = true
            try commit(
                names.sorted(by: <).map { DocumentChange($0.collection, $0.id, .evict) }, on: peer)
        }
        return hasReverted
    }

    /// Corrects all clocks, and advances them past the latest stamp or repairs all stores.
    func setClocks() throws {
        guard plan.hasWrongClocks else { return }
        for peer in honest { try check(peer) }
        let isYears = plan.members.contains { $0.skewMilliseconds.magnitude > 3_600_000 }
        guard isYears else {
            for peer in peers { peer.setClock(laterBy: 3_900_000) }
            return
        }
        for peer in peers {
            peer.setClock()
            try repair(peer)
        }
    }

    /// Checks that a peer has no document stamped more than the leniency ahead of its clock.
    func checkTimes(of peer: MeshPeer) throws {
        // A peer whose clock was ahead still has the stamps that it wrote then.
        guard !peer.wasSetBack else { return }
        let latest = peer.wall + HybridClock.defaultLeniencyMilliseconds
        for (address, bytes) in try peer.contents(matching: Self.everything) {
            let time = try bytes.withUnsafeBytes { try EncodedDocument($0).latestDot() }
            if time.milliseconds > latest {
                throw Violation(
                    description: "peer \(peer.number) has the document "
                        + "\(try DocumentID.id(of: address.id).json) of \(address.collection), "
                        + "stamped \(time.milliseconds - peer.wall) ms ahead of its clock")
            }
        }
    }
}

/// The name of a document that other peers refuse.
private struct RefusedName: Hashable, Comparable {
    let collection: String
    let id: Value

    init(_ collection: String, _ id: Value) { (self.collection, self.id) = (collection, id) }

    static func < (left: Self, right: Self) -> Bool {
        (left.collection, left.id.json) < (right.collection, right.id.json)
    }
}
