import SheafDocument

/// When a store goes on as somebody else: stamps of one site must not mean two things.
extension DocumentTransaction {
    /// Writes as another site from now on: what comes back of what this one has written, and forgotten, must
    /// not be taken for seen.
    mutating func changeSite() {
        clock = HybridClock(
            site: clock.site.following(clock.latest), latest: clock.latest,
            leniencyMilliseconds: clock.leniencyMilliseconds)
        stamp = nil
        hasChangedSite = true
    }

    /// Takes in until when a document that comes knows the writes of this store: if it knows of later ones than
    /// this store, or not of all that it has written and forgotten, the store goes on as somebody else.
    ///
    /// `seen` is what the document here knows of it.
    mutating func noteOwnWrites(_ time: HybridTime, of position: Int, seen: HybridTime? = nil) {
        if ownWrites.lack(time) || seen.map({ time > $0 }) ?? false { lacksOwnWrites = true }
        if time > clock.latest || time < working[position].forgottenTime(of: clock.site) {
            metOwnFuture = true
        }
    }
}
