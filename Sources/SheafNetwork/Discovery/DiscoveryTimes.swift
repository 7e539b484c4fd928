/// The times of discovery, in nanoseconds; the sections are those of RFC 6762.
enum DiscoveryTimes {
    static let second: UInt64 = 1_000_000_000
    static let millisecond: UInt64 = 1_000_000

    /// Maximum delay of the first probe, so that hosts that start together do not collide (8.1).
    static let firstProbe = 250 * millisecond
    /// Time between two probes, and from the last one to the announcement (8.1).
    static let probe = 250 * millisecond
    static let probes = 3
    /// Time between the announcements (8.3).
    static let announcement = second
    static let announcements = 2
    /// Delay of answers that several hosts may give (6).
    static let answer = (20 * millisecond)...(120 * millisecond)
    /// Delay of answers to a query whose known answers continue in another packet (7.2).
    static let continuedAnswer = (400 * millisecond)...(500 * millisecond)
    /// Minimum time between two multicasts of a record (6).
    static let sameRecord = second
    /// Delay of the first question for peers (5.2).
    static let firstQuestion = 20 * millisecond...120 * millisecond
    /// Time from the first question to the second one; it then triples up to the longest (5.2).
    static let (question, longestQuestion) = (second, 3_600 * second)
    /// Period from which a question is suppressed if another host asks it (7.3).
    static let suppressedQuestion = 27 * second
    /// Time from the announced end of a peer to its removal (10.1).
    static let goodbye = second
    /// Time in which a doubted peer must answer (10.4).
    static let doubt = 10 * second
    /// Percentages of the time to live at which a peer is asked for again, plus up to 2 (5.2).
    static let refreshes: [UInt64] = [80, 85, 90, 95]
    /// Number of conflicts in ten seconds after which each one costs a pause (8.1).
    static let (conflicts, conflictPeriod, conflictPause) = (15, 10 * second, 5 * second)
    /// Time under one name; the range is wide, so that peers that start together do not send the
    /// packets of new names together.
    static let name = (1_800 * second)...(3_600 * second)
}
