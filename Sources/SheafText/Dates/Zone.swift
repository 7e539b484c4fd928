/// A time zone.
package enum Zone: Sendable {
    /// A constant offset from UTC.
    case fixed(seconds: Int)
    /// The recorded transitions of a region.
    case history(ZoneHistory)

    package static let utc = Zone.fixed(seconds: 0)

    /// Returns the local clock at a moment.
    package func clock(at moment: Moment) -> ZoneClock {
        switch self {
        case .fixed(let seconds): ZoneClock(offset: seconds)
        case .history(let history): history.clock(at: moment.seconds)
        }
    }
}

/// The offset and name of local time during a period.
package struct ZoneClock: Hashable, Sendable {
    /// Offset from UTC in seconds; at most about a day.
    package let offset: Int
    package let isDaylight: Bool
    /// Abbreviation such as CET, in ASCII.
    package let abbreviation: String

    package init(offset: Int, isDaylight: Bool, abbreviation: String) {
        self.offset = offset
        self.isDaylight = isDaylight
        self.abbreviation = abbreviation
    }

    /// Creates a clock that is named by its offset.
    package init(offset: Int) {
        var printer = DatePrinter()
        printer.write(offset: offset)
        self.init(
            offset: offset, isDaylight: false, abbreviation: offset == 0 ? "UTC" : printer.text)
    }
}

/// The recorded transitions of a region, with the rule for later ones.
package struct ZoneHistory: Hashable, Sendable {
    /// A transition of local time: from `start`, in seconds since 1970, `clock` applies.
    package struct Change: Hashable, Sendable {
        package let start: Int64
        package let clock: ZoneClock

        package init(start: Int64, clock: ZoneClock) {
            self.start = start
            self.clock = clock
        }
    }

    /// The clock before the first transition.
    package let first: ZoneClock
    /// Transitions in ascending order of time.
    package let changes: [Change]
    /// The rule after the last transition; without it, the last clock is permanent.
    package let rule: ZoneRule?

    package init(first: ZoneClock, changes: [Change], rule: ZoneRule?) {
        self.first = first
        self.changes = changes
        self.rule = rule
    }

    /// Returns the local clock at a second since 1970.
    package func clock(at second: Int64) -> ZoneClock {
        var lower = 0
        var upper = changes.count
        while lower < upper {
            let middle = (lower + upper) / 2
            if changes[middle].start <= second {
                lower = middle + 1
            } else {
                upper = middle
            }
        }
        if lower == changes.count, let rule { return rule.clock(at: second) }
        return lower == 0 ? first : changes[lower - 1].clock
    }
}
