package import Sheaf
package import SheafDocument
package import SheafReplication

/// A step of the path of a document: from one peer to the next.
package struct ExplanationStep {
    /// The state of a step: `ok`, or what keeps the document from the receiver.
    package enum State: String {
        case ok, noSubscription, noRight, evicted, notConnected, lagging, deleted, unknown
    }

    /// The sending peer; nil if it is not known.
    let from: PeerKey?
    let to: PeerKey
    package let state: State
    package let reason: String

    init(_ from: PeerKey?, _ to: PeerKey, _ state: State, _ reason: String) {
        (self.from, self.to, self.state, self.reason) = (from, to, state, reason)
    }

    /// Creates the step from this peer to a connected one; `found` is nil if that is unknown.
    package init(_ from: PeerKey, _ to: PeerKey, _ found: SyncExplanation?) {
        (self.from, self.to) = (from, to)
        (state, reason) = Self.result(found)
    }

    private static func result(_ found: SyncExplanation?) -> (State, String) {
        guard let found, found.isConnected else {
            let reason = found?.lastCloseReason.map { ": \($0)" } ?? ""
            return (.notConnected, "there is no connection to the peer" + reason)
        }
        if let missing = missingRight(found) { return (.noRight, missing) }
        guard let count = found.queryCount, count > 0 else {
            return (.noSubscription, "the peer has no subscription")
        }
        let (commit, acknowledged) = (found.commit ?? 0, found.acknowledgedUpTo ?? 0)
        guard found.presence == .deleted || !found.matching.isEmpty else {
            let finding =
                count == 1
                ? "the subscription of the peer does not select"
                : "none of the \(count) subscriptions of the peer selects"
            return (.noSubscription, finding + " the document")
        }
        guard acknowledged >= commit, found.clock.quarantinedRemotely == nil else {
            let progress =
                "commit \(commit) changed the document; the peer has acknowledged commit "
                + "\(acknowledged)" + (found.sentUpTo.map { " and was sent commit \($0)" } ?? "")
            return (.lagging, ([progress] + found.clock.sentences).joined(separator: "; "))
        }
        guard found.presence != .deleted else {
            return (
                .deleted,
                "commit \(commit) deleted the document, and the peer has acknowledged it"
            )
        }
        return (.ok, "the peer has acknowledged commit \(acknowledged)")
    }

    /// Returns the reason why a right is missing; nil if none is.
    private static func missingRight(_ found: SyncExplanation) -> String? {
        if !found.isShared {
            return "the sync scope of the collection is \(found.scope), which excludes the peer"
        }
        if !found.mayRead { return "the grant of the peer does not permit reading the document" }
        if !found.maySend { return "the grant of this peer does not permit writing the document" }
        return found.refused.map { "the peer refuses the local version: \($0.reason)" }
    }

    /// The step in JSON.
    package var object: Object {
        [
            "from": from.map { .string("\($0)") } ?? .null, "to": .string("\(to)"),
            "state": .string(state.rawValue), "reason": .string(reason),
        ]
    }
}
