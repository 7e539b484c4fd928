package import SheafDocument

/// Attachments that this peer wants, and whose tokens may be unproven.
///
/// They are examined in turns, since peers with limited rights may send any number of tokens.
package struct AwaitedProofs {
    /// Maximum number of attachments that are examined at once.
    package static let batch = 4_096

    private var ids: Set<AttachmentID> = []
    private var queue: [AttachmentID] = []
    /// Number of attachments that the current round has not examined.
    private var remaining = 0

    package init() {}

    /// Whether the current round has further attachments.
    package var hasMore: Bool { remaining > 0 }

    package mutating func insert(_ id: AttachmentID) {
        if ids.insert(id).inserted { queue.append(id) }
    }

    /// Lets each attachment be examined once.
    package mutating func beginRound() { remaining = queue.count }

    /// Removes and returns the next attachments of the round.
    package mutating func take() -> [AttachmentID] {
        let taken = Array(queue.prefix(min(remaining, Self.batch)))
        queue.removeFirst(taken.count)
        ids.subtract(taken)
        remaining -= taken.count
        return taken
    }

    package mutating func removeAll() { self = AwaitedProofs() }
}
