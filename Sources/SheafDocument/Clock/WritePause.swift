/// A period without writes between two writes of a site.
///
/// The log of a store has one for each opening, up to `maximumCount`. A write of the site within a
/// pause, known to a peer, proves that the store was restored to an older state, or that a copy of
/// it uses the same site.
package struct WritePause: Hashable, Sendable {
    /// Upper bound of the times before the pause.
    package let after: HybridTime
    /// Lower bound of the times after the pause.
    package let before: HybridTime

    /// Maximum number of pauses a store keeps; beyond it the shortest are dropped.
    package static let maximumCount = 16

    /// Creates a pause; nil if no time lies between the bounds.
    package init?(after: HybridTime, before: HybridTime) {
        guard after < before, before.rawValue - after.rawValue > 1 else { return nil }
        (self.after, self.before) = (after, before)
    }

    package func contains(_ time: HybridTime) -> Bool { time > after && time < before }

    /// Sort key: by length, then by time.
    fileprivate var rank: (UInt64, HybridTime) { (before.rawValue - after.rawValue, after) }
}

extension [WritePause] {
    /// Appends a pause; drops the shortest one if the limit is exceeded.
    package mutating func add(_ pause: WritePause) {
        append(pause)
        guard count > WritePause.maximumCount else { return }
        if let shortest = indices.min(by: { self[$0].rank < self[$1].rank }) {
            remove(at: shortest)
        }
    }
}
