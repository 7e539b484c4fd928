/// The messages of one author that a reader of a shard has seen.
struct AuthorReading: Sendable {
    /// A message after a missing one.
    private struct Later {
        let checksum: UInt64
        let previous: UInt64
        let entry: UInt64
    }

    /// The relation of a message to those before it.
    enum Verdict: Equatable {
        /// It was not seen before.
        case new
        /// It was not seen before, and its chain of checksums is broken.
        case contradictory
        case repetition
        /// Another message has its sequence.
        case fork
        /// There is no room for it until missing messages are given up.
        case full
    }

    /// Sequence up to which all messages were seen or replaced.
    private(set) var sequence: UInt64
    /// Checksum of the message with that sequence; 0 if it is unknown.
    private(set) var checksum: UInt64
    private var later: [UInt64: Later] = [:]
    /// Ranges of sequences that were replaced, and come after a missing message.
    private var replaced: [ClosedRange<UInt64>] = []
    var groups = GroupAssembly()
    /// Number of the last entry of the author, and the time of its arrival.
    var lastEntry: UInt64 = 0
    var arrivedAt: UInt64 = 0
    /// The time since which the first missing message is missing; nil if there is none.
    var missingSince: UInt64?
    /// The sequence before the first missing message since that time.
    var missingAfter: UInt64 = 0
    /// The time at which missing messages were requested.
    var askedAt: UInt64?
    /// Whether missing messages are an incident.
    var isLosing = false
    /// Whether the author is silent, so that what it did not finish holds back no position.
    var isSilent = false
    /// Sequence up to which the messages read so far show that their author knew all as stored.
    private var confirmed: UInt64 = 0

    static let maximumReplacedRanges = 256

    init(sequence: UInt64, checksum: UInt64) {
        self.sequence = sequence
        self.checksum = checksum
    }

    /// Number of messages kept, which are later than a missing one or belong to open groups.
    var trackedCount: Int { later.count + groups.count }

    var isMissingMessages: Bool { !later.isEmpty || !replaced.isEmpty }

    /// Whether a missing message was stored, as its author has shown.
    ///
    /// An author does not acknowledge the documents of other ones, nor of those after them.
    var isMissingConfirmed: Bool { isMissingMessages && sequence < confirmed }

    /// Records a message.
    mutating func note(
        _ message: HubMessage, checksum new: UInt64, entry: UInt64, limit: Int
    ) -> Verdict {
        let (number, previous) = (message.sequence, message.previous)
        if number <= sequence {
            return number == sequence && checksum != 0 && checksum != new ? .fork : .repetition
        }
        if let known = later[number] { return known.checksum == new ? .repetition : .fork }
        if replaced.contains(where: { $0.contains(number) }) { return .repetition }
        let isNext = number == sequence + 1
        guard isNext || later.count < limit else { return .full }
        let before = isNext ? checksum : later[number - 1]?.checksum ?? 0
        let isBroken =
            before != 0 && before != previous
            || later[number &+ 1].map { $0.previous != new } ?? false
        confirmed = max(confirmed, number - 1 - UInt64(message.unconfirmed))
        if isNext {
            (sequence, checksum) = (number, new)
            advance()
        } else {
            later[number] = Later(checksum: new, previous: previous, entry: entry)
        }
        return isBroken ? .contradictory : .new
    }

    /// Whether a message was seen, replaced or given up.
    func isKnown(_ number: UInt64) -> Bool {
        number <= sequence || later[number] != nil
            || replaced.contains { $0.contains(number) }
    }

    /// Continues without the first missing messages, and returns their range.
    mutating func giveUpFirst() -> ClosedRange<UInt64>? {
        let starts = later.keys.min() ?? .max
        let next = min(starts, replaced.map(\.lowerBound).min() ?? .max)
        guard isMissingMessages, next > sequence + 1 else { return nil }
        let lost = sequence + 1...next - 1
        (sequence, checksum) = (next - 1, 0)
        advance()
        return lost
    }

    /// Forgets all messages from the first one on that is missing or belongs to an open group.
    ///
    /// If the author goes on, they are missing again. Returns the messages of open groups.
    mutating func forgetUnfinished() -> [ClosedRange<UInt64>] {
        (sequence, checksum) = resolved
        (later, replaced, confirmed) = ([:], [], 0)
        let unfinished = groups.discardAll()
        groups = GroupAssembly()
        return unfinished
    }

    /// Counts messages as known whose documents others have brought.
    ///
    /// Returns false if there is no room for another range after a missing message.
    mutating func replace(_ range: ClosedRange<UInt64>) -> Bool {
        guard range.upperBound > sequence else { return true }
        guard replaced.count < Self.maximumReplacedRanges else { return false }
        replaced.append(range)
        advance()
        return true
    }

    /// Passes over the messages that follow the first ones without a gap.
    private mutating func advance() {
        while sequence < .max {
            if let next = later.removeValue(forKey: sequence + 1) {
                (sequence, checksum) = (sequence + 1, next.checksum)
            } else if let range = replaced.first(where: { $0.contains(sequence + 1) }) {
                (sequence, checksum) = (range.upperBound, later[range.upperBound]?.checksum ?? 0)
                for number in later.keys where number <= sequence { later[number] = nil }
            } else {
                break
            }
        }
        replaced.removeAll { $0.upperBound <= sequence }
    }

    /// Returns the ranges of missing messages, the first ones.
    func missingRanges(limit: Int) -> [ClosedRange<UInt64>] {
        let known = later.keys.map { $0...$0 } + replaced
        var ranges: [ClosedRange<UInt64>] = []
        var end = sequence
        for range in known.sorted(by: { $0.lowerBound < $1.lowerBound }) {
            if range.lowerBound > end, range.lowerBound - end > 1 {
                ranges.append(end + 1...range.lowerBound - 1)
            }
            end = max(end, range.upperBound)
            if ranges.count == limit { break }
        }
        return ranges
    }

    /// The first entry that must be read again to learn what is missing or incomplete.
    var firstUnresolvedEntry: UInt64? {
        [later.values.lazy.map(\.entry).min(), groups.firstEntry].compactMap(\.self).min()
    }

    /// Sequence up to which no message is missing or belongs to an open group, and its checksum.
    var resolved: (sequence: UInt64, checksum: UInt64) {
        guard let open = groups.firstSequence, open.sequence <= sequence else {
            return (sequence, checksum)
        }
        return (open.sequence - 1, open.previous)
    }
}
