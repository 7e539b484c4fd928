import SheafBytes
import SheafDocument
import SheafStorage
package import SheafSync
import Synchronization

/// The site that the writes a store has forgotten are assigned to.
struct ForgottenSite: Sendable {
    let derived: Site
    /// The site that made the writes.
    let site: Site
    let pause: WritePause
    /// All sites of this store: the additions of one include earlier ones of the others.
    let siblings: Set<Site>

    /// Returns those of all pauses of a site.
    static func all(of site: Site, _ pauses: [WritePause]) -> [ForgottenSite] {
        let derived = pauses.map { site.forgotten(in: $0) }
        let siblings = Set(derived + [site])
        return zip(derived, pauses).map {
            ForgottenSite(derived: $0, site: site, pause: $1, siblings: siblings)
        }
    }
}

/// Documents with writes that the store which made them has forgotten.
struct ForgottenWrites: Sendable {
    /// Those that have kept them.
    var kept: [DocumentAddress] = []
    /// Those with forgotten additions to a counter that were removed, because the store has added to it since.
    var removed: [DocumentAddress] = []
    /// Those that could not keep them.
    var unkept: [UnmovedDocument] = []

    static func += (all: inout ForgottenWrites, more: ForgottenWrites) {
        all.kept += more.kept
        all.removed += more.removed
        all.unkept += more.unkept
    }
}

/// The pauses of the sites of other stores.
///
/// A document can come from any peer, also from one that has taken it from a store that was put back to an older
/// state. So peers forward a pause before the documents written after it, and keep it in the log.
struct KnownPauses: Sendable {
    private var pauses: [Site: [WritePause]] = [:]
    private var origins: [Site: ForgottenSite] = [:]
    /// The sites that have pauses in the log, and those of which it has others.
    private var logged: Set<Site> = []
    private var unsaved: Set<Site> = []
    /// Number of changes.
    private(set) var version: UInt64 = 0

    /// Maximum number of sites: those whose last pause ended last.
    ///
    /// In whatever order peers forward pauses, the same sites remain, so that forwarding ends.
    static let mostSites = 256

    var isEmpty: Bool { pauses.isEmpty }
    var all: [SitePauses] {
        pauses.sorted { $0.key < $1.key }.map { SitePauses(site: $0.key, pauses: $0.value) }
    }

    /// Reads what the log has.
    init(_ snapshot: LogSnapshot) throws(EngineError) {
        var keys: [[UInt8]] = []
        snapshot.tree.forEach(in: StoreKey.pauses) { (key, _) in
            keys.append(Array(key))
            return true
        }
        for bytes in keys.prefix(Self.mostSites) {
            guard case .pauses(let site)? = bytes.span.withUnsafeBytes({ StoreKey($0) }),
                let payload = try DocumentEngine.payload(of: .pauses(site), in: snapshot)
            else { continue }
            let known = try onDocument(bytes) { () throws(Malformed) in
                try payload.span.withUnsafeBytes { payload throws(Malformed) in
                    var reader = ByteReader(payload)
                    return try reader.readPauses()
                }
            }
            // Peers refuse what says nothing.
            guard site != .initial, !known.isEmpty else { continue }
            set(known, of: site)
            logged.insert(site)
        }
    }

    init() {}

    /// Adds pauses of a site; returns all of them, or nil where nothing is new.
    mutating func add(_ reported: SitePauses) -> SitePauses? {
        let site = reported.site
        var known = pauses[site] ?? []
        for pause in reported.pauses where !known.contains(pause) { known.add(pause) }
        guard known != pauses[site] ?? [] else { return nil }
        set(known, of: site)
        if pauses.count > Self.mostSites {
            let least = pauses.min { Self.isBefore($0, $1) }?.key ?? site
            set(nil, of: least)
            if logged.contains(least) { unsaved.insert(least) } else { unsaved.remove(least) }
            guard least != site else { return nil }
        }
        unsaved.insert(site)
        version += 1
        return SitePauses(site: site, pauses: known)
    }

    private mutating func set(_ known: [WritePause]?, of site: Site) {
        for old in ForgottenSite.all(of: site, pauses[site] ?? []) { origins[old.derived] = nil }
        for new in ForgottenSite.all(of: site, known ?? []) { origins[new.derived] = new }
        pauses[site] = known
    }

    private static func isBefore(
        _ left: (key: Site, value: [WritePause]), _ right: (key: Site, value: [WritePause])
    ) -> Bool {
        let ends = [left, right].map { $0.value.map(\.before).max() ?? .initial }
        return (ends[0], left.key) < (ends[1], right.key)
    }

    /// Returns the site for the forgotten writes of a document, of which this is the latest, if another document has
    /// writes of their site since the pause, or has the forgotten writes with the derived site; nil otherwise.
    ///
    /// Of several pauses, it is the one that begins first, to include all forgotten writes. Of those with one beginning,
    /// as several restores of one backup have them, it is the one that ends first.
    func forgotten(
        _ latest: VersionVector.Entry, endedIn vector: VersionVector
    ) -> ForgottenSite? {
        let site = latest.site
        let pause = pauses[site]?.filter { pause in
            pause.contains(latest.time)
                && (pause.before <= vector.time(of: site)
                    || vector.time(of: site.forgotten(in: pause)) > .initial)
        }
        .min { ($0.after, $0.before) < ($1.after, $1.before) }
        return pause.flatMap { origins[site.forgotten(in: $0)] }
    }

    /// Returns what the site of forgotten writes was derived from; nil for all other sites.
    func origin(of site: Site) -> ForgottenSite? { origins[site] }

    // MARK: The log

    /// Writes what the log does not have.
    func write(into batch: inout WriteBatch) throws(StorageError) {
        for site in unsaved.sorted() {
            let key = StoreKey.pauses(site).bytes
            if let pauses = pauses[site] {
                var writer = ByteWriter(capacity: 16 * pauses.count)
                writer.write(pauses)
                try batch.put(key, writer.bytes)
            } else if logged.contains(site) {
                try batch.remove(key)
            }
        }
    }

    /// Records that the log has all pauses.
    mutating func noteWritten() {
        guard !unsaved.isEmpty else { return }
        (logged, unsaved) = (Set(pauses.keys), [])
    }
}

extension DocumentEngine.WriterState {
    /// The pauses of the site of this store.
    var ownPauses: SitePauses {
        SitePauses(site: clock.site, pauses: ownWrites.endedPauses)
    }
}

extension DocumentEngine {
    /// What tells whether a peer may not know all pauses.
    struct PausesVersion: Equatable {
        let known: UInt64
        let site: Site
        let hasWritten: Bool
    }

    /// The pauses of the sites of other stores, as peers have reported them.
    package var knownPauses: [SitePauses] { state.withLock(\.knownPauses.all) }

    /// The pauses of the sites of all stores, including this one; nil if they are those of `version`.
    func pauses(
        since version: PausesVersion?
    ) -> (version: PausesVersion, all: [SitePauses])? {
        state.withLock { state in
            let newest = PausesVersion(
                known: state.knownPauses.version, site: state.clock.site,
                hasWritten: state.ownWrites.first != nil)
            guard newest != version else { return nil }
            let own = state.ownPauses
            let known = state.knownPauses.all.filter { $0.site != own.site }
            return (newest, known + (own.pauses.isEmpty ? [] : [own]))
        }
    }

    /// Takes in pauses of a site; returns all that are known of it, or nil where nothing is new.
    package func learn(_ reported: SitePauses) -> SitePauses? {
        state.withLock { $0.knownPauses.add(reported) }
    }
}
