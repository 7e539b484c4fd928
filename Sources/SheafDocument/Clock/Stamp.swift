/// The time of a write on a hybrid logical clock.
///
/// 48 bits of milliseconds since 1970, and a 16-bit counter within the millisecond.
package struct HybridTime: Hashable, Comparable, Sendable {
    package let rawValue: UInt64

    package static let maximumMilliseconds: UInt64 = 1 << 48 - 1
    package static let maximumCounter: UInt64 = 1 << 16 - 1

    /// The earliest time, used by INSERT INITIAL.
    package static let initial = HybridTime(rawValue: 0)

    package init(rawValue: UInt64) {
        self.rawValue = rawValue
    }

    package init(milliseconds: UInt64, counter: UInt64 = 0) {
        precondition(
            milliseconds <= Self.maximumMilliseconds && counter <= Self.maximumCounter,
            "Milliseconds take 48 bits, and the counter takes 16.")
        rawValue = milliseconds << 16 | counter
    }

    package var milliseconds: UInt64 { rawValue >> 16 }
    package var counter: UInt64 { rawValue & Self.maximumCounter }
    /// The next time; the last time is its own successor.
    package var next: HybridTime { HybridTime(rawValue: rawValue == .max ? .max : rawValue + 1) }

    package static func < (left: HybridTime, right: HybridTime) -> Bool {
        left.rawValue < right.rawValue
    }
}

/// The identity under which a store writes.
///
/// A random number, drawn when a store is created. Another one replaces it when the store was
/// copied, or has lost or evicted writes of the site.
package struct Site: Hashable, Comparable, Sendable {
    package let rawValue: UInt64

    /// The site of INSERT INITIAL, equal in all stores.
    package static let initial = Site(rawValue: 0)

    package init(rawValue: UInt64) {
        self.rawValue = rawValue
    }

    package static func < (left: Site, right: Site) -> Bool { left.rawValue < right.rawValue }

    /// The site as 16 hexadecimal digits, or as `initial`.
    package var text: String {
        guard self != .initial else { return "initial" }
        let digits = String(rawValue, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }
}

/// The time and site of a write; no two writes to a document share a stamp.
package struct Stamp: Hashable, Comparable, Sendable {
    package let time: HybridTime
    package let site: Site

    /// The stamp of INSERT INITIAL, earlier than any other.
    package static let initial = Stamp(.initial, .initial)

    package init(_ time: HybridTime, _ site: Site) {
        self.time = time
        self.site = site
    }

    /// Orders by time, then by site.
    package static func < (left: Stamp, right: Stamp) -> Bool {
        left.time != right.time ? left.time < right.time : left.site < right.site
    }
}
