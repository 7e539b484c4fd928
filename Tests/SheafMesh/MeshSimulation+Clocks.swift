import Sheaf
import SheafDocument
import SheafSync
import SheafTestSupport

/// Clocks that are wrong by up to an hour.
///
/// Whoever is far ahead of somebody is refused by him, and converges with him once that is not so any more:
/// when clocks are right, and it is as late as the latest time that anybody wrote with.
extension MeshSimulation {
    /// Somebody sees that a clock is wrong.
    func setClock(of peer: MeshPeer) throws {
        guard plan.hasWrongClocks, random.chance(1, in: 2) else { return }
        peer.setClock()
    }

    /// All clocks are set right, and the latest time that was written is not ahead of anybody any more.
    func setClocks() throws {
        guard plan.hasWrongClocks else { return }
        for peer in honest { try check(peer) }
        for peer in peers { peer.setClock(laterBy: 3_900_000) }
    }

    /// Nobody has taken in what was written more than five minutes ahead of his clock.
    func checkTimes(of peer: MeshPeer) throws {
        // Who was ahead himself has written such times, and still has them.
        guard !peer.wasSetBack else { return }
        let latest = peer.wall + HybridClock.defaultLeniencyMilliseconds
        for (address, bytes) in try peer.contents(matching: Self.everything) {
            let vector = try bytes.withUnsafeBytes { try EncodedDocument($0).vector() }
            for entry in vector.entries where entry.time.milliseconds > latest {
                throw Violation(
                    description: "peer \(peer.number) has a document of \(address.collection) of "
                        + "a time \(entry.time.milliseconds - peer.wall) ms ahead")
            }
        }
    }
}
