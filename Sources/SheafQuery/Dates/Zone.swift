/// How far clocks are ahead of UTC, at any moment.
package enum Zone: Sendable {
    /// Always the same.
    case fixed(seconds: Int)
    /// As the history of a place has it.
    case history(ZoneHistory)

    package static let utc = Zone.fixed(seconds: 0)

    /// What clocks show at a moment.
    package func clock(at moment: Moment) -> ZoneClock {
        switch self {
        case .fixed(let seconds): ZoneClock(offset: seconds)
        case .history(let history): history.clock(at: moment.seconds)
        }
    }
}

/// How clocks go in a place, for some time.
package struct ZoneClock: Hashable, Sendable {
    /// Seconds ahead of UTC: at most about a day.
    package let offset: Int
    package let isDaylight: Bool
    /// Such as CET; ASCII.
    package let abbreviation: String

    package init(offset: Int, isDaylight: Bool, abbreviation: String) {
        self.offset = offset
        self.isDaylight = isDaylight
        self.abbreviation = abbreviation
    }

    /// A clock of no place, which is called by its offset.
    package init(offset: Int) {
        var printer = DatePrinter()
        printer.write(offset: offset)
        self.init(
            offset: offset, isDaylight: false, abbreviation: offset == 0 ? "UTC" : printer.text)
    }
}

/// When the clocks of a place were changed, and the rule by which they will be.
package struct ZoneHistory: Hashable, Sendable {
    /// From a second since 1970 on, another clock.
    package struct Change: Hashable, Sendable {
        package let start: Int64
        package let clock: ZoneClock

        package init(start: Int64, clock: ZoneClock) {
            self.start = start
            self.clock = clock
        }
    }

    /// The clock before the first change.
    package let first: ZoneClock
    /// By their starts, each later than the one before.
    package let changes: [Change]
    /// What holds from the last change on; without one that change is the last ever.
    package let rule: ZoneRule?

    package init(first: ZoneClock, changes: [Change], rule: ZoneRule?) {
        self.first = first
        self.changes = changes
        self.rule = rule
    }

    /// What clocks show at a second since 1970.
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
