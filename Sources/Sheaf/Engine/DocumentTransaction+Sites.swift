import SheafBytes
import SheafDocument

/// When a store goes on as somebody else: stamps of one site must not mean two things.
extension DocumentTransaction {
    /// Writes as another site from now on: what comes back of what this one has written, and forgotten, must
    /// not be taken for seen.
    mutating func changeSite() {
        clock = HybridClock(
            site: Self.site(after: clock.site, at: clock.latest), latest: clock.latest,
            leniencyMilliseconds: clock.leniencyMilliseconds)
        stamp = nil
        hasChangedSite = true
    }

    /// A site that nobody else has: it follows from one that nobody else has, and a time.
    private static func site(after site: Site, at time: HybridTime) -> Site {
        var number = site.rawValue
        repeat {
            number = withUnsafeBytes(of: (number.littleEndian, time.rawValue.littleEndian)) {
                XXH3.hash64($0)
            }
        } while number == Site.initial.rawValue || number == EncodedDocument.evictionSite.rawValue
        return Site(rawValue: number)
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
