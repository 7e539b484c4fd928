package import SheafDocument
import SheafSync

/// Number of documents that one side of a connection has quarantined, and how far they are ahead.
package struct QuarantineSummary: Sendable, Equatable {
    package let count: UInt64
    /// Distance between their latest stamp and the clock of that side at the time of the report.
    package let aheadMilliseconds: UInt64

    package init(count: UInt64, aheadMilliseconds: UInt64) {
        (self.count, self.aheadMilliseconds) = (count, aheadMilliseconds)
    }
}

/// The state of a peer's clock, as shown in the log, the status and explanations.
package struct ClockReport: Sendable, Equatable {
    /// The clock of the peer minus the local clock on connection, not corrected for latency.
    package var offsetMilliseconds: Int64?
    /// Summary of the peer's documents that are quarantined locally; nil if there are none.
    package var quarantined: QuarantineSummary?
    /// Summary of the local documents that the peer has quarantined; nil if there are none.
    package var quarantinedRemotely: QuarantineSummary?

    /// Smallest offset that causes a warning, in milliseconds.
    package static let remarkableOffset: Int64 = 60_000

    package init() {}

    /// Whether the clocks differ enough for a warning.
    package var isRemarkable: Bool {
        (offsetMilliseconds?.magnitude ?? 0) >= Self.remarkableOffset.magnitude
    }

    /// Kinds of clock faults.
    package struct Faults: OptionSet, Sendable {
        package let rawValue: Int
        package static let offset = Faults(rawValue: 1)
        package static let quarantined = Faults(rawValue: 2)
        package static let quarantinedRemotely = Faults(rawValue: 4)

        package init(rawValue: Int) { self.rawValue = rawValue }
    }

    package var faults: Faults {
        var faults: Faults = isRemarkable ? .offset : []
        if quarantined != nil { faults.insert(.quarantined) }
        if quarantinedRemotely != nil { faults.insert(.quarantinedRemotely) }
        return faults
    }

    /// One sentence for each fault; empty without faults.
    package var sentences: [String] {
        var sentences: [String] = []
        if isRemarkable, let offset = offsetMilliseconds {
            sentences.append(
                "its clock is about \(Self.text(offset.magnitude)) "
                    + (offset > 0 ? "ahead of the local clock" : "earlier than the local clock"))
        }
        if let quarantined {
            sentences.append(
                "\(Self.documents(quarantined.count)) from it "
                    + (quarantined.count == 1 ? "is" : "are") + " quarantined here, stamped up to "
                    + "\(Self.text(quarantined.aheadMilliseconds)) ahead of the local clock; "
                    + Self.remedy)
        }
        if let quarantinedRemotely {
            sentences.append(
                "it has quarantined \(Self.documents(quarantinedRemotely.count)) from here, "
                    + "stamped up to \(Self.text(quarantinedRemotely.aheadMilliseconds)) "
                    + "ahead of its clock; " + Self.remedy)
        }
        return sentences
    }

    /// The report as an object in a row of a system collection.
    package var object: Value {
        func count(_ summary: QuarantineSummary?) -> Value {
            .integer(Int64(clamping: summary?.count ?? 0))
        }
        return .object([
            "about_ahead_milliseconds": offsetMilliseconds.map { .integer($0) } ?? .null,
            "quarantined_documents": count(quarantined),
            "quarantined_by_peer": count(quarantinedRemotely),
            "reasons": .array(sentences.map { .string($0) }),
        ])
    }

    private static let remedy =
        "correct the wrong clock, then run 'sheaf clock PATH --repair' on the store that wrote them"

    private static func documents(_ count: UInt64) -> String {
        count == 1 ? "1 document" : "\(count) documents"
    }

    /// Returns a readable duration, in the largest unit of which it has at least two.
    package static func text(_ milliseconds: UInt64) -> String {
        let units: [(name: String, length: UInt64)] = [
            ("years", 31_557_600_000), ("days", 86_400_000), ("hours", 3_600_000),
            ("minutes", 60_000), ("seconds", 1_000),
        ]
        for (name, length) in units where milliseconds >= 2 * length {
            return "\(milliseconds / length) \(name)"
        }
        return "\(milliseconds) ms"
    }
}

/// The schedule of clock warnings.
///
/// Each new kind of fault of a peer causes a warning, which is repeated at growing intervals.
package struct ClockWarnings {
    private struct Peer {
        var at: UInt64
        var wait: UInt64
        var faults: ClockReport.Faults
    }

    private var next: [[UInt8]: Peer] = [:]

    package static let firstWait: UInt64 = 60_000_000_000
    package static let maximumWait: UInt64 = 86_400_000_000_000
    /// Maximum number of peers in the schedule.
    package static let maximumCount = 1_024

    package init() {}

    /// Whether a warning for a peer is due; if it is, schedules the next one.
    package mutating func isDue(
        _ key: [UInt8], _ faults: ClockReport.Faults, at now: UInt64
    ) -> Bool {
        guard !faults.isEmpty else { return false }
        let known = next[key]
        if let known, known.faults.isSuperset(of: faults) {
            guard known.at <= now else { return false }
            next[key] = Peer(
                at: now + known.wait, wait: min(2 * known.wait, Self.maximumWait),
                faults: known.faults)
            return true
        }
        if known == nil, next.count >= Self.maximumCount { next = [:] }
        next[key] = Peer(
            at: now + Self.firstWait, wait: 2 * Self.firstWait,
            faults: faults.union(known?.faults ?? []))
        return true
    }
}
