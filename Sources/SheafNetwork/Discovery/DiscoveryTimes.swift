/// The times of discovery, in nanoseconds; the sections are those of RFC 6762.
package enum DiscoveryTimes {
    package static let second: UInt64 = 1_000_000_000
    package static let millisecond: UInt64 = 1_000_000

    /// Maximum delay of the first probe, so that hosts that start together do not collide (8.1).
    package static let firstProbe = 250 * millisecond
    /// Time between two probes, and from the last one to the announcement (8.1).
    package static let probe = 250 * millisecond
    package static let probes = 3
    /// Time between the announcements (8.3).
    package static let announcement = second
    package static let announcements = 2
    /// Delay of answers that several hosts may give (6).
    package static let answer = (20 * millisecond)...(120 * millisecond)
    /// Delay of answers to a query whose known answers continue in another packet (7.2).
    package static let continuedAnswer = (400 * millisecond)...(500 * millisecond)
    /// Minimum time between two multicasts of a record (6).
    package static let sameRecord = second
    /// Delay of the first question for peers (5.2).
    package static let firstQuestion = 20 * millisecond...120 * millisecond
    /// Time from the first question to the second one; it then triples up to the longest (5.2).
    package static let (question, longestQuestion) = (second, 3_600 * second)
    /// Period from which a question is suppressed if another host asks it (7.3).
    package static let suppressedQuestion = 27 * second
    /// Time from the announced end of a peer to its removal (10.1).
    package static let goodbye = second
    /// Time in which a doubted peer must answer (10.4).
    package static let doubt = 10 * second
    /// Percentages of the time to live at which a peer is asked for again, plus up to 2 (5.2).
    package static let refreshes: [UInt64] = [80, 85, 90, 95]
    /// Number of conflicts in ten seconds after which each one costs a pause (8.1).
    package static let (conflicts, conflictPeriod, conflictPause) = (15, 10 * second, 5 * second)
    /// Time under one name; the range is wide, so that peers that start together do not send the
    /// packets of new names together.
    package static let name = (1_800 * second)...(3_600 * second)
}
