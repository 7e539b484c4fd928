import SheafDocument
import SheafSync

/// Documents that one side of a connection has set aside, since they are stamped too far ahead of its clock.
package struct SetAsideSummary: Sendable, Equatable {
    package let count: UInt64
    /// How far the latest of them was ahead when this was reported.
    package let aheadMilliseconds: UInt64
}

/// What people read about the clock of a peer: in the log, in the status, and in explanations.
package struct ClockReport: Sendable, Equatable {
    /// The clock of the peer less the clock here when it connected; about, since the message was under way.
    package internal(set) var offsetMilliseconds: Int64?
    /// Documents of the peer that are set aside here.
    package internal(set) var setAside: SetAsideSummary?
    /// Documents from here that the peer has set aside.
    package internal(set) var setAsideThere: SetAsideSummary?

    /// Offsets from this on are worth a warning.
    package static let remarkableOffset: Int64 = 60_000

    /// Whether the clocks differ enough for a warning.
    package var isRemarkable: Bool {
        (offsetMilliseconds?.magnitude ?? 0) >= Self.remarkableOffset.magnitude
    }

    /// Kinds of clock faults.
    struct Faults: OptionSet {
        let rawValue: Int
        static let offset = Faults(rawValue: 1)
        static let setAside = Faults(rawValue: 2)
        static let setAsideThere = Faults(rawValue: 4)
    }

    var faults: Faults {
        var faults: Faults = isRemarkable ? .offset : []
        if setAside != nil { faults.insert(.setAside) }
        if setAsideThere != nil { faults.insert(.setAsideThere) }
        return faults
    }

    /// A sentence for each thing that is wrong; none where nothing is.
    package var sentences: [String] {
        var sentences: [String] = []
        if isRemarkable, let offset = offsetMilliseconds {
            sentences.append(
                "its clock is about \(Self.text(offset.magnitude)) "
                    + (offset > 0 ? "ahead of" : "behind") + " the clock here")
        }
        if let setAside {
            sentences.append(
                "\(Self.documents(setAside.count)) of it "
                    + (setAside.count == 1 ? "is" : "are") + " set aside here, stamped up to "
                    + "\(Self.text(setAside.aheadMilliseconds)) ahead of the clock here; "
                    + Self.remedy)
        }
        if let setAsideThere {
            sentences.append(
                "it has set aside \(Self.documents(setAsideThere.count)) from here, stamped up to "
                    + "\(Self.text(setAsideThere.aheadMilliseconds)) ahead of its clock; "
                    + Self.remedy)
        }
        return sentences
    }

    /// The report as the row of a system collection has it.
    var object: Value {
        func count(_ summary: SetAsideSummary?) -> Value {
            .integer(Int64(clamping: summary?.count ?? 0))
        }
        return .object([
            "about_ahead_milliseconds": offsetMilliseconds.map { .integer($0) } ?? .null,
            "set_aside_documents": count(setAside),
            "set_aside_by_peer": count(setAsideThere),
            "reasons": .array(sentences.map { .string($0) }),
        ])
    }

    private static let remedy =
        "set the wrong clock, and run 'sheaf clock PATH --repair' on the store that wrote them"

    private static func documents(_ count: UInt64) -> String {
        count == 1 ? "1 document" : "\(count) documents"
    }

    /// A length of time for people, in the largest unit of which there are at least two.
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

/// Schedule of the warnings about clocks: one for each peer, one for each new kind of fault, and repetitions at
/// growing intervals.
struct ClockWarnings {
    private struct Peer {
        var at: UInt64
        var wait: UInt64
        var faults: ClockReport.Faults
    }

    private var next: [[UInt8]: Peer] = [:]

    private static let firstWait: UInt64 = 60_000_000_000
    private static let mostWait: UInt64 = 86_400_000_000_000
    /// Maximum number of peers that are remembered.
    private static let most = 1_024

    /// Whether it is time to warn of the faults of a peer; if so, the next time comes later.
    mutating func isDue(
        _ key: [UInt8], _ faults: ClockReport.Faults, at now: UInt64
    ) -> Bool {
        guard !faults.isEmpty else { return false }
        let known = next[key]
        if let known, known.faults.isSuperset(of: faults) {
            guard known.at <= now else { return false }
            next[key] = Peer(
                at: now + known.wait, wait: min(2 * known.wait, Self.mostWait),
                faults: known.faults)
            return true
        }
        if known == nil, next.count >= Self.most { next = [:] }
        next[key] = Peer(
            at: now + Self.firstWait, wait: 2 * Self.firstWait,
            faults: faults.union(known?.faults ?? []))
        return true
    }
}
