/// What both sides know of the mesh, one message at a time in each direction.
///
/// Whoever is told says when it is ready for more, so nobody can be told faster than it likes, and what
/// changes meanwhile goes as the newest only.
extension SyncSession {
    struct Presence: Sendable {
        /// Whether this side waits to hear that its message was taken.
        var isTelling = false
        /// Whether the other side waits to hear that.
        var isToTake = false
    }

    /// Tells some records; the next ones after `presenceTaken`.
    package mutating func tellPresence(_ message: PresenceMessage) {
        guard isOpen else { return }
        precondition(!presence.isTelling, "One message is told at a time.")
        presence.isTelling = true
        send(.presence, message.bytes)
    }

    /// Says that the last message was taken, and the next one may come.
    package mutating func takePresence() {
        guard isOpen, presence.isToTake else { return }
        presence.isToTake = false
        send(.presenceTaken, [])
    }

    // MARK: What comes

    mutating func takePresence(_ message: PresenceMessage) throws(WireError) {
        guard !presence.isToTake else {
            throw .outOfOrder("presence before the last message of it was taken")
        }
        presence.isToTake = true
        emit(.presence(message))
    }

    mutating func takePresenceTaken(_ frame: Frame) throws(WireError) {
        guard presence.isTelling, frame.body.isEmpty else {
            throw .outOfOrder("that presence was taken, or something behind it,")
        }
        presence.isTelling = false
        emit(.presenceTaken)
    }
}
