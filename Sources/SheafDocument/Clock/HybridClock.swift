/// Hands out the stamps of a site, each later than all that the site has written or seen.
///
/// The clock on the wall may stand still or go back; times go on. It is passed in, and so is
/// everything else: this is a machine without effects.
package struct HybridClock: Sendable {
    /// Why a time is not believed.
    package enum Refusal: Error, Hashable, Sendable {
        /// Somebody's clock is further ahead than ours could go astray.
        case ahead(milliseconds: UInt64, limit: UInt64)
        /// There are no times left.
        case exhausted
    }

    /// So much may a time of somebody else be ahead of our clock.
    package static let defaultLeniencyMilliseconds: UInt64 = 300_000

    package let site: Site
    package let leniencyMilliseconds: UInt64
    /// The latest time that was handed out or seen.
    package private(set) var latest: HybridTime

    /// A clock that goes on behind `latest`, which is in the log of a store that was opened again.
    package init(
        site: Site, latest: HybridTime = .initial,
        leniencyMilliseconds: UInt64 = defaultLeniencyMilliseconds
    ) {
        self.site = site
        self.latest = latest
        self.leniencyMilliseconds = leniencyMilliseconds
    }

    /// The stamp of a write that happens now.
    package mutating func next(at wallMilliseconds: UInt64) throws(Refusal) -> Stamp {
        let now = min(wallMilliseconds, HybridTime.maximumMilliseconds)
        if now > latest.milliseconds {
            latest = HybridTime(milliseconds: now)
        } else if latest.counter < HybridTime.maximumCounter {
            latest = HybridTime(rawValue: latest.rawValue + 1)
        } else {
            guard latest.milliseconds < HybridTime.maximumMilliseconds else { throw .exhausted }
            latest = HybridTime(milliseconds: latest.milliseconds + 1)
        }
        return Stamp(latest, site)
    }

    /// Notes a time that somebody else has written with; one that is far ahead is refused, and
    /// changes nothing.
    ///
    /// Otherwise one wrong clock could win every register for years. What counts is the clock on
    /// the wall: times that were seen before would let others push it on step by step.
    package mutating func observe(
        _ time: HybridTime, at wallMilliseconds: UInt64
    ) throws(Refusal) {
        guard isAcceptable(time, at: wallMilliseconds) else {
            throw .ahead(
                milliseconds: time.milliseconds - min(time.milliseconds, wallMilliseconds),
                limit: leniencyMilliseconds)
        }
        latest = max(latest, time)
    }

    /// Advances the clock to the first time of a millisecond, if it is earlier.
    package mutating func advance(toMilliseconds milliseconds: UInt64) {
        latest = max(
            latest, HybridTime(milliseconds: min(milliseconds, HybridTime.maximumMilliseconds)))
    }

    /// Whether a time of somebody else is not further ahead than it may be.
    package func isAcceptable(_ time: HybridTime, at wallMilliseconds: UInt64) -> Bool {
        time.milliseconds - min(time.milliseconds, wallMilliseconds) <= leniencyMilliseconds
    }
}

extension HybridClock.Refusal: CustomStringConvertible {
    package var description: String {
        switch self {
        case .ahead(let milliseconds, let limit):
            "the time is \(milliseconds) ms ahead of the clock here, and \(limit) ms are allowed; "
                + "set the clock of the device that wrote it, or of this one"
        case .exhausted:
            "the clock has come to the last time there is"
        }
    }
}
