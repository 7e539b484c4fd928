import SheafBytes

/// The history of segments, which both sides drop when none was sent for a while.
///
/// Otherwise each idle connection would hold up to 128 KiB in each direction.
extension SyncSession {
    /// The time at which the history of sent segments is dropped; nil if there is none.
    var historyDeadline: UInt64? {
        // The receiver expands a segment when its last part arrives.
        guard phase == .open, sender.segments.hasHistory, sender.fragments.isEmpty else {
            return nil
        }
        return sender.segmentSentAt + SyncLimits.historyNanoseconds
    }

    /// Drops the history of sent segments if it is due, and lets the peer drop it.
    ///
    /// To a peer of an older version it is dropped on this side only.
    mutating func dropHistoryIfDue() {
        guard let historyDeadline, historyDeadline <= now else { return }
        sender.segments.dropHistory()
        if sender.raw.count == 0 { sender.raw = CommitWriter() }
        if version >= Hello.historyVersion { send(.historyDropped, []) }
    }

    mutating func handleHistoryDropped(_ frame: Frame) throws(WireError) {
        guard version >= Hello.historyVersion else {
            throw .unknownType(frame.type.rawValue)
        }
        guard frame.body.isEmpty else {
            throw .malformed(.invalid("bytes after the last field", at: 0))
        }
        guard !receiver.isWithinSegment else {
            throw .outOfOrder("the history was dropped within a segment")
        }
        receiver.segments.dropHistory()
        reader.releaseBuffer()
    }
}
