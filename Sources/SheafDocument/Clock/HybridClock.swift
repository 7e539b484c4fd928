/// A hybrid logical clock of a site: each stamp is later than all times issued or observed.
///
/// The wall clock may stop or go back. It is passed in: the clock is a machine without effects.
package struct HybridClock: Sendable {
    /// Default tolerance for times ahead of the local clock.
    package static let defaultLeniencyMilliseconds: UInt64 = 300_000

    package let site: Site
    package let leniencyMilliseconds: UInt64
    /// The latest time issued or observed.
    package private(set) var latest: HybridTime

    /// Creates a clock that continues after `latest`, which a store reads from its log.
    package init(
        site: Site, latest: HybridTime = .initial,
        leniencyMilliseconds: UInt64 = defaultLeniencyMilliseconds
    ) {
        self.site = site
        self.latest = latest
        self.leniencyMilliseconds = leniencyMilliseconds
    }

    /// Returns the stamp of the next write.
    package mutating func next(at wallMilliseconds: UInt64) throws(DocumentError) -> Stamp {
        let now = min(wallMilliseconds, HybridTime.maximumMilliseconds)
        if now > latest.milliseconds {
            latest = HybridTime(milliseconds: now)
        } else if latest.counter < HybridTime.maximumCounter {
            latest = HybridTime(rawValue: latest.rawValue + 1)
        } else {
            guard latest.milliseconds < HybridTime.maximumMilliseconds else {
                throw .time(.exhausted)
            }
            latest = HybridTime(milliseconds: latest.milliseconds + 1)
        }
        return Stamp(latest, site)
    }

    /// Advances the clock to a time of another site; throws if it is too far ahead.
    ///
    /// Otherwise one wrong clock could win every register for years. The limit is relative to the
    /// wall clock and not to `latest`, which peers could push forward step by step.
    package mutating func observe(
        _ time: HybridTime, at wallMilliseconds: UInt64
    ) throws(DocumentError) {
        guard isAcceptable(time, at: wallMilliseconds) else {
            throw .time(
                .ahead(
                    milliseconds: time.milliseconds - min(time.milliseconds, wallMilliseconds),
                    limit: leniencyMilliseconds))
        }
        latest = max(latest, time)
    }

    /// Advances the clock to the start of a millisecond, if it is earlier.
    package mutating func advance(toMilliseconds milliseconds: UInt64) {
        latest = max(
            latest, HybridTime(milliseconds: min(milliseconds, HybridTime.maximumMilliseconds)))
    }

    /// Whether a time of another site is within the tolerance.
    package func isAcceptable(_ time: HybridTime, at wallMilliseconds: UInt64) -> Bool {
        time.milliseconds - min(time.milliseconds, wallMilliseconds) <= leniencyMilliseconds
    }
}
