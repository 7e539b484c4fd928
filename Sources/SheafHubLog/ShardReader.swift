package import SheafDocument

/// A reader of a shard: entries in, complete groups and faults out (`format-spec/hub.md`,
/// *Reading*).
///
/// It trusts no entry, and its memory is limited. Each call may add effects, which the owner drains
/// and performs. Times are those of a monotonic clock, in nanoseconds.
package struct ShardReader: Sendable {
    /// Limits of a reader, which tests lower.
    package struct Limits: Sendable {
        /// Maximum number of digests kept.
        package var digests = 1 << 16
        /// Maximum number of authors remembered.
        package var authors = HubLimits.authors
        /// Maximum number of messages of an author after a missing one.
        package var laterMessages = 4_096
        /// Maximum number of such messages, and of those of open groups, of all authors.
        package var trackedMessages = 1 << 16
        /// Maximum length of all payloads of open groups; others are read again when complete.
        package var stagedLength = 64 << 20
        /// Maximum length of entries kept while earlier ones are missing.
        package var waitingLength = HubLimits.unreadLength
        /// Time after which a missing message is requested, and a missing entry counts as lost.
        package var needNanoseconds: UInt64 = 5_000_000_000
        /// Time after which a missing message is an incident, and the unfinished messages of a
        /// silent author are forgotten.
        package var incidentNanoseconds: UInt64 = 60_000_000_000
        /// Time after the last beat of a hub during which it counts as live, and after its last
        /// beat and message after which it is silent.
        package var liveNanoseconds: UInt64 = 10_000_000_000
        /// Interval at which missing entries are read again.
        package var rereadNanoseconds: UInt64 = 1_000_000_000

        package init() {}
    }

    /// An entry that waits until earlier ones arrive.
    struct Waiting {
        let bytes: [UInt8]
        let arrivedAt: UInt64
        /// The first missing entry before it that was read again on its arrival.
        let rereadFrom: UInt64

        var length: Int { bytes.count + Self.overhead }

        /// Memory of an entry besides its bytes, about.
        private static let overhead = 64
    }

    /// Entries that are missing before others.
    struct Gap {
        var since: UInt64
        var rereadAt: UInt64
        /// The last entry before the missing ones.
        var last: UInt64
    }

    /// The latest reports of another hub.
    struct OtherHub {
        var beatAt: UInt64?
        /// Progress beyond the last entry read, whose digest is compared there: the lowest one
        /// since the last comparison, which a reader that lags reaches while later ones arrive.
        var claim: ShardProgress?
        /// The highest such progress.
        var highestClaim: ShardProgress?
        var reportedAt: UInt64
    }

    package let log: HubLogID
    package let shard: UInt16
    /// The author of messages that this hub appends.
    package let own: HubAuthor?
    let limits: Limits
    var ring: DigestRing
    /// Entries after missing ones, and their total length.
    var waiting: [UInt64: Waiting] = [:]
    var waitingLength = 0
    /// The highest entry number delivered.
    var highest: UInt64
    var gap: Gap?
    var authors: [HubAuthor: AuthorReading] = [:]
    var trackedCount = 0
    var stagedLength = 0
    var others: [HubAuthor: OtherHub] = [:]
    /// The lowest entry that another hub has reported and that was not read yet.
    var nextClaim: UInt64 = .max
    var mark = MarkWatch()
    /// Whether messages were lost that nothing can bring.
    var hasLost = false
    private var active: [ShardIncident.Kind: ShardIncident] = [:]
    private var effects: [ShardEffect] = []
    private var lastPosition: ShardPosition
    /// The version of a message that this version does not read; nothing is read after it.
    package private(set) var newerVersion: UInt8?

    /// Begins to read after a position.
    package init(
        log: HubLogID, shard: UInt16, own: HubAuthor? = nil, at position: ShardPosition = .start,
        limits: Limits = Limits()
    ) {
        self.log = log
        self.shard = shard
        self.own = own
        self.limits = limits
        lastPosition = position
        highest = position.entry
        ring = DigestRing(
            log: log, entry: position.entry, digest: position.digest, capacity: limits.digests)
        for known in position.authors {
            authors[known.author] = AuthorReading(
                sequence: known.sequence, checksum: known.checksum)
        }
    }

    /// Number of the last entry read without a gap, and the digest at it.
    package var read: UInt64 { ring.last }
    package var digest: UInt64 { ring.digest }

    /// Whether entries before others were not delivered.
    package var lacksEntries: Bool { gap != nil }

    /// Whether a mark was read that this hub has appended since it began to read.
    package var hasCaughtUp: Bool { mark.hasReadOwn }

    /// The incidents that have not ended.
    package var incidents: [ShardIncident] {
        active.values.sorted { $0.kind.rawValue < $1.kind.rawValue }
    }

    /// Returns the digest at an entry; nil if it is not read yet, or too old to be known.
    package func digest(at entry: UInt64) -> UInt64? { ring.digest(at: entry) }

    /// Returns the effects since the last call.
    package mutating func drainEffects() -> [ShardEffect] {
        defer { effects = [] }
        return effects
    }

    /// The latest position at or before which each message was applied, in a complete group, except
    /// for those that a silent author did not finish.
    ///
    /// A store that has applied all effects up to now can continue from its `continuation`.
    package mutating func position() -> ShardPosition {
        let unresolved = authors.values.lazy.filter { !$0.isSilent }
            .compactMap(\.firstUnresolvedEntry).min()
        // Where an author continues that was silent, its earlier messages are missing.
        let entry = max(unresolved.map { $0 - 1 } ?? ring.last, lastPosition.entry)
        // An old open group can begin before the digests kept; then the earlier position remains.
        guard let digest = ring.digest(at: entry) else { return lastPosition }
        let first = authors.values.lazy.compactMap(\.firstUnresolvedEntry).min()
        let last = lastPosition.continuation
        let number = max(first.map { $0 - 1 } ?? ring.last, last.entry)
        let earlier = ring.digest(at: number).map { ShardPosition.Entry(number, digest: $0) }
        let positions = authors.map { author, reading in
            let resolved = reading.resolved
            return AuthorPosition(
                author: author, sequence: resolved.sequence, checksum: resolved.checksum)
        }
        lastPosition = ShardPosition(
            entry: entry, digest: digest, authors: positions.sorted { $0.author < $1.author },
            continuingFrom: earlier ?? ShardPosition.Entry(last.entry, digest: last.digest))
        return lastPosition
    }

    /// A violation of the limits or of the counts of the reader, for tests; nil if there is none.
    package var violation: String? {
        let tracked = authors.values.reduce(0) { $0 + $1.trackedCount }
        let staged = authors.values.reduce(0) { $0 + $1.groups.payloadLength }
        let length = waiting.values.reduce(0) { $0 + $1.length }
        if tracked != trackedCount || staged != stagedLength || length != waitingLength {
            return "counts differ from what is kept"
        }
        if trackedCount > limits.trackedMessages { return "\(tracked) messages are tracked" }
        if stagedLength > limits.stagedLength { return "\(staged) bytes are staged" }
        if waitingLength > limits.waitingLength { return "\(length) bytes wait" }
        if authors.count > limits.authors || others.count > limits.authors {
            return "\(authors.count) authors and \(others.count) hubs are remembered"
        }
        return ring.count > limits.digests ? "\(ring.count) digests are kept" : nil
    }

    // MARK: - For the other facets

    mutating func emit(_ effect: ShardEffect) { effects.append(effect) }

    mutating func begin(_ incident: ShardIncident) {
        guard active[incident.kind] == nil else { return }
        active[incident.kind] = incident
        effects.append(.incident(incident))
    }

    mutating func end(_ kind: ShardIncident.Kind) { active[kind] = nil }

    mutating func stop(at entry: UInt64, version: UInt8) {
        newerVersion = version
        (waiting, waitingLength, gap) = ([:], 0, nil)
        effects.append(.fault(.newerVersion(entry: entry, version)))
    }

    static func elapsed(_ since: UInt64, _ now: UInt64) -> UInt64 { now > since ? now - since : 0 }
}
