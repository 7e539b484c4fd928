/// Credit, which bounds the bytes of segments that a peer may send.
extension SyncSession {
    /// Returns credit for `length` consumed bytes.
    package mutating func grant(_ length: Int) {
        guard isOpen, length > 0 else { return }
        receiver.unsentCredit += length
        sendCredit()
    }

    /// Sets whether credit for long batches is withheld, as it is while a batch is being written.
    package mutating func withholdLongCredit(_ holds: Bool) {
        receiver.isHolding = holds
        releaseStagedCredit()
    }

    /// Sets whether all credit is withheld; it is returned afterwards.
    ///
    /// The peer can send what it has credit for, and all other messages.
    package mutating func withholdCredit(_ holds: Bool) {
        receiver.withholdsCredit = holds
        sendCredit()
    }

    /// Returns credit within a long batch: one that exceeds the credit could not end otherwise.
    mutating func releaseStagedCredit() {
        guard !receiver.isHolding, receiver.unpaidLength >= SyncLimits.creditStep else { return }
        grant(receiver.unpaidLength)
        receiver.unpaidLength = 0
    }

    private mutating func sendCredit() {
        // Credit is not sent for each segment.
        guard isOpen, !receiver.withholdsCredit, receiver.unsentCredit >= SyncLimits.creditStep
        else { return }
        send(.credit, SingleNumber.bytes(UInt64(receiver.unsentCredit)))
        receiver.granted += receiver.unsentCredit
        receiver.unsentCredit = 0
    }
}
