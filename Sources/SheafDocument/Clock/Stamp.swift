/// When something was written, by the clock on the wall and by what had been seen before.
///
/// Milliseconds since 1970 in 48 bits, and a counter in 16 for what happens within one.
package struct HybridTime: Hashable, Comparable, Sendable {
    package let rawValue: UInt64

    package static let maximumMilliseconds: UInt64 = 1 << 48 - 1
    package static let maximumCounter: UInt64 = 1 << 16 - 1

    /// Before everything: what INSERT INITIAL writes.
    package static let initial = HybridTime(rawValue: 0)

    package init(rawValue: UInt64) {
        self.rawValue = rawValue
    }

    package init(milliseconds: UInt64, counter: UInt64 = 0) {
        precondition(
            milliseconds <= Self.maximumMilliseconds && counter <= Self.maximumCounter,
            "A time fits into its bits.")
        rawValue = milliseconds << 16 | counter
    }

    package var milliseconds: UInt64 { rawValue >> 16 }
    package var counter: UInt64 { rawValue & Self.maximumCounter }
    /// The next time; the last one is its own successor.
    package var next: HybridTime { HybridTime(rawValue: rawValue == .max ? .max : rawValue + 1) }

    package static func < (left: HybridTime, right: HybridTime) -> Bool {
        left.rawValue < right.rawValue
    }
}

/// A store that writes, in one of its lives.
///
/// Random bits, drawn when a store is made, and anew when it turns out to be a copy of an older
/// state of itself.
package struct Site: Hashable, Comparable, Sendable {
    package let rawValue: UInt64

    /// The site of what INSERT INITIAL writes: the same everywhere.
    package static let initial = Site(rawValue: 0)

    package init(rawValue: UInt64) {
        self.rawValue = rawValue
    }

    package static func < (left: Site, right: Site) -> Bool { left.rawValue < right.rawValue }
}

/// When and where something was written; no two writes have the same.
package struct Stamp: Hashable, Comparable, Sendable {
    package let time: HybridTime
    package let site: Site

    /// What INSERT INITIAL writes with: any other write is later.
    package static let initial = Stamp(.initial, .initial)

    package init(_ time: HybridTime, _ site: Site) {
        self.time = time
        self.site = site
    }

    /// By time, and by site where times are equal.
    package static func < (left: Stamp, right: Stamp) -> Bool {
        left.time != right.time ? left.time < right.time : left.site < right.site
    }
}
