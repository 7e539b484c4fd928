import Sheaf
import SheafDocument
import SheafSync
import SheafTestSupport

/// Clocks that are wrong by up to an hour, or by up to four years, in both directions.
///
/// What is stamped far ahead of a peer's clock is set aside there. Peers converge when all clocks are right and
/// it is as late as the latest stamp, or when stores are repaired.
extension MeshSimulation {
    /// Somebody sees that a clock is wrong.
    func setClock(of peer: MeshPeer) throws {
        guard plan.hasWrongClocks, random.chance(1, in: 2) else { return }
        peer.setClock()
        if random.chance(1, in: 2) { try repair(peer) }
    }

    private func repair(_ peer: MeshPeer) throws {
        try peer.repairClock()
        try perform(peer)
    }

    /// All clocks are set right; and the latest time that was written has come, or all stores are repaired.
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

    /// Nobody has taken in what was written more than five minutes ahead of his clock.
    func checkTimes(of peer: MeshPeer) throws {
        // Who was ahead himself has written such times, and still has them.
        guard !peer.wasSetBack else { return }
        let latest = peer.wall + HybridClock.defaultLeniencyMilliseconds
        for (address, bytes) in try peer.contents(matching: Self.everything) {
            let time = try bytes.withUnsafeBytes { try EncodedDocument($0).latestDot() }
            if time.milliseconds > latest {
                throw Violation(
                    description: "peer \(peer.number) has a document of \(address.collection) of "
                        + "a time \(time.milliseconds - peer.wall) ms ahead")
            }
        }
    }
}
