/// Records of a peer that it has not made, and that are newer than its own: a clock was put back, two peers
/// have the same key, or somebody lies.
extension MeshMap {
    /// A record of this peer, newer than its own, that somebody has told.
    struct Overtaking: Sendable {
        var version: PeerRecord.Version?
        /// When it may be overtaken.
        var from: UInt64 = 0
        var wait = PresenceLimits.firstWaitNanoseconds
        /// Whether a record was overtaken before.
        var hasOvertaken = false
        /// Who has overtaken that one in turn, if nobody was told yet, and when that was found out last.
        private var rival: PeerRecord?
        private var contestedAt: UInt64?

        /// Notes that another peer has the key; once in a while, for as long as the two quarrel.
        mutating func noteRival(_ record: PeerRecord, at now: UInt64) {
            guard contestedAt.map({ $0 + PresenceLimits.restNanoseconds <= now }) ?? true else {
                return
            }
            (rival, contestedAt) = (record, now)
        }

        mutating func takeRival() -> PeerRecord? {
            defer { rival = nil }
            return rival
        }
    }

    /// Takes in a record of this peer itself.
    mutating func takeOwn(_ record: PeerRecord, from number: UInt64, at now: UInt64) {
        // That the neighbor has it does not keep this peer from telling it: it speaks for itself.
        if record.version > own.version {
            overtaking.version = max(overtaking.version ?? record.version, record.version)
            if isRival(record.version) { overtaking.noteRival(record, at: now) }
        } else if record.version < own.version {
            links[number]?.enqueue(key)
        }
    }

    /// Whether somebody has overtaken a record with which this peer has overtaken one before.
    ///
    /// What this peer itself has said when it was opened formerly was not made behind that, and its opening
    /// was a time by the clock: not one more than that of the record that is overtaken.
    private func isRival(_ version: PeerRecord.Version) -> Bool {
        overtaking.hasOvertaken && version.salt != salt && version.opening > own.version.opening
            && version.opening - own.version.opening <= PresenceLimits.rivalSteps
    }

    /// Makes its own record the newest again, where somebody tells of a newer one.
    mutating func overtake(at now: UInt64) {
        guard let version = overtaking.version else { return }
        guard version > own.version, version.opening < .max else { return overtaking.version = nil }
        guard overtaking.from <= now else { return }
        overtaking.version = nil
        if overtaking.from + PresenceLimits.restNanoseconds <= now {
            overtaking.wait = PresenceLimits.firstWaitNanoseconds
        }
        overtaking.from = now + overtaking.wait
        overtaking.wait = min(2 * overtaking.wait, PresenceLimits.longestWaitNanoseconds)
        overtaking.hasOvertaken = true
        revise(behind: version)
    }
}
