/// Conflicts over the local key: received records with it that are newer than the local record.
///
/// Either a clock was set back, two peers share a key, or a peer forged the record.
extension LinkStateDatabase {
    /// The resolution of a conflict over the record of the local peer.
    struct Overtaking: Sendable {
        var version: PeerRecord.Version?
        /// Earliest time at which the local record supersedes `version`.
        var from: UInt64 = 0
        var wait = PresenceLimits.firstWaitNanoseconds
        /// Whether a conflicting record was superseded before.
        var hasOvertaken = false
        /// The conflicting record that is not reported yet.
        private var conflict: PeerRecord?
        private var contestedAt: UInt64?

        /// Stores a conflicting record to be reported; at most one per `conflictReportInterval`.
        mutating func recordConflict(_ record: PeerRecord, at now: UInt64) {
            guard contestedAt.map({ $0 + PresenceLimits.conflictReportInterval <= now }) ?? true
            else {
                return
            }
            (conflict, contestedAt) = (record, now)
        }

        mutating func removeConflict() -> PeerRecord? {
            defer { conflict = nil }
            return conflict
        }
    }

    /// Handles a received record with the key of the local peer.
    mutating func receiveOwn(_ record: PeerRecord, from number: UInt64, at now: UInt64) {
        // The neighbor's version of the record is not stored, so the local one is always resent.
        if record.version > own.version {
            overtaking.version = max(overtaking.version ?? record.version, record.version)
            if isConflicting(record.version) { overtaking.recordConflict(record, at: now) }
        } else if record.version < own.version {
            if let stored = entries[key]?.number {
                adjacentPeers[number]?.acknowledged.remove(stored)
            }
            enqueue(key, on: number)
        }
    }

    /// Whether another peer superseded a record by which the local peer had resolved a conflict.
    ///
    /// Earlier openings of the local peer never did so: their opening is a clock reading, not the
    /// superseded opening plus one.
    private func isConflicting(_ version: PeerRecord.Version) -> Bool {
        overtaking.hasOvertaken && version.salt != salt && version.opening > own.version.opening
            && version.opening - own.version.opening <= PresenceLimits.conflictSteps
    }

    /// Supersedes the newest conflicting record by raising the version of the local one.
    mutating func overtake(at now: UInt64) {
        guard let version = overtaking.version else { return }
        guard version > own.version, version.opening < .max else { return overtaking.version = nil }
        guard overtaking.from <= now else { return }
        overtaking.version = nil
        if overtaking.from + PresenceLimits.conflictReportInterval <= now {
            overtaking.wait = PresenceLimits.firstWaitNanoseconds
        }
        overtaking.from = now + overtaking.wait
        overtaking.wait = min(2 * overtaking.wait, PresenceLimits.longestWaitNanoseconds)
        overtaking.hasOvertaken = true
        revise(behind: version)
    }
}
