/// Exchange of peer records, with at most one unacknowledged message in each direction.
///
/// The acknowledgment is the flow control: the receiver sets the rate, and changes in the meantime
/// are coalesced.
extension SyncSession {
    struct Presence: Sendable {
        /// Whether a sent message is unacknowledged.
        var isSender = false
        /// Whether a received message is unacknowledged.
        var isAcknowledgmentDue = false
    }

    /// Sends peer records; the next message must wait for `presenceAcknowledged`.
    package mutating func sendPresence(_ message: PresenceMessage) {
        guard isOpen else { return }
        precondition(!presence.isSender, "At most one presence message may be unacknowledged.")
        presence.isSender = true
        send(.presence, message.bytes)
    }

    /// Acknowledges the last presence message, so that the peer may send the next.
    package mutating func takePresence() {
        guard isOpen, presence.isAcknowledgmentDue else { return }
        presence.isAcknowledgmentDue = false
        send(.presenceAcknowledged, [])
    }

    mutating func takePresence(_ message: PresenceMessage) throws(WireError) {
        guard !presence.isAcknowledgmentDue else {
            throw .outOfOrder("presence before the last one was acknowledged")
        }
        presence.isAcknowledgmentDue = true
        emit(.presence(message))
    }

    mutating func takePresenceTaken(_ frame: Frame) throws(WireError) {
        guard presence.isSender, frame.body.isEmpty else {
            throw .outOfOrder("an unexpected or malformed presence acknowledgment")
        }
        presence.isSender = false
        emit(.presenceAcknowledged)
    }
}
