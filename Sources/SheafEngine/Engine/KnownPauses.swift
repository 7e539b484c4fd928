import SheafBytes
package import SheafDocument
package import SheafStorage
import Synchronization

/// The derived site to which the lost writes of a store are assigned.
///
/// A store loses writes when its files are restored to an older state.
package struct DerivedSite: Sendable {
    let derived: Site
    /// The site that made the writes.
    package let site: Site
    let pause: WritePause
    /// All sites of this store: the sum of one includes earlier increments of the others.
    let siblings: Set<Site>

    /// Returns the derived sites for all pauses of a site.
    static func all(of site: Site, _ pauses: [WritePause]) -> [DerivedSite] {
        let derived = pauses.map { site.derivedSite(in: $0) }
        let siblings = Set(derived + [site])
        return zip(derived, pauses).map {
            DerivedSite(derived: $0, site: site, pause: $1, siblings: siblings)
        }
    }
}

/// Documents with writes that their store has lost, by outcome.
package struct LostWrites: Sendable {
    /// Documents that kept the writes.
    package var kept: [DocumentAddress] = []
    /// Documents that lost a sum of a counter, because they have a later sum of its store.
    package var removed: [DocumentAddress] = []
    /// Documents that have no room for another site.
    package var unmoved: [UnmovedDocument] = []

    package init() {}

    package static func += (all: inout LostWrites, more: LostWrites) {
        all.kept += more.kept
        all.removed += more.removed
        all.unmoved += more.unmoved
    }
}

/// The pauses of the sites of other stores.
///
/// Any peer can send a document of a store that was restored to an older state. So peers forward a
/// pause before the documents written after it, and store it in the log.
package struct KnownPauses: Sendable {
    private var pauses: [Site: [WritePause]] = [:]
    private var origins: [Site: DerivedSite] = [:]
    /// Sites with pauses in the log; `unsaved` are sites whose pauses in the log are outdated.
    private var logged: Set<Site> = []
    private var unsaved: Set<Site> = []
    /// Number of changes so far.
    private(set) var version: UInt64 = 0

    /// Maximum number of sites; the sites whose last pause ended last are kept.
    ///
    /// The same sites remain in whatever order peers forward pauses, so that forwarding ends.
    package static let maximumSites = 256

    package var isEmpty: Bool { pauses.isEmpty }
    var all: [SitePauses] {
        pauses.sorted { $0.key < $1.key }.map { SitePauses(site: $0.key, pauses: $0.value) }
    }

    /// Reads the pauses in the log.
    package init(_ snapshot: LogSnapshot) throws(EngineError) {
        var keys: [[UInt8]] = []
        snapshot.tree.forEach(in: StoreKey.pauses) { (key, _) in
            keys.append(Array(key))
            return true
        }
        for bytes in keys.prefix(Self.maximumSites) {
            guard case .pauses(let site)? = bytes.span.withUnsafeBytes({ StoreKey($0) }),
                let payload = try DocumentEngine.payload(of: .pauses(site), in: snapshot)
            else { continue }
            let known = try onDocument(bytes) { () throws(Malformed) in
                try payload.span.withUnsafeBytes { payload throws(Malformed) in
                    var reader = ByteReader(payload)
                    return try reader.readPauses()
                }
            }
            // Peers refuse reports without a site or without pauses.
            guard site != .initial, !known.isEmpty else { continue }
            set(known, of: site)
            logged.insert(site)
        }
    }

    package init() {}

    /// Adds pauses of a site; returns all its pauses, or nil if none were added.
    package mutating func add(_ reported: SitePauses) -> SitePauses? {
        let site = reported.site
        var known = pauses[site] ?? []
        for pause in reported.pauses where !known.contains(pause) { known.add(pause) }
        guard known != pauses[site] ?? [] else { return nil }
        set(known, of: site)
        if pauses.count > Self.maximumSites {
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
        for old in DerivedSite.all(of: site, pauses[site] ?? []) { origins[old.derived] = nil }
        for new in DerivedSite.all(of: site, known ?? []) { origins[new.derived] = new }
        pauses[site] = known
    }

    private static func isBefore(
        _ left: (key: Site, value: [WritePause]), _ right: (key: Site, value: [WritePause])
    ) -> Bool {
        let ends = [left, right].map { $0.value.map(\.before).max() ?? .initial }
        return (ends[0], left.key) < (ends[1], right.key)
    }

    /// Returns the derived site for the lost writes of a document.
    ///
    /// `latest` is the last of these writes. The result is nil unless the other document has writes
    /// of their site since the pause, or has the lost writes under the derived site. Of several
    /// pauses the one that begins first is used, to include all lost writes. Pauses with the same
    /// beginning come from several restores of one backup; of these, the one that ends first is
    /// used.
    package func derivedSite(
        _ latest: VersionVector.Entry, endedIn vector: VersionVector
    ) -> DerivedSite? {
        let site = latest.site
        let pause = pauses[site]?.filter { pause in
            pause.contains(latest.time)
                && (pause.before <= vector.time(of: site)
                    || vector.time(of: site.derivedSite(in: pause)) > .initial)
        }
        .min { ($0.after, $0.before) < ($1.after, $1.before) }
        return pause.flatMap { origins[site.derivedSite(in: $0)] }
    }

    /// Returns the origin of a derived site; nil for other sites.
    package func origin(of site: Site) -> DerivedSite? { origins[site] }

    /// Writes the pauses that the log lacks to a batch.
    package func write(into batch: inout WriteBatch) throws(StorageError) {
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
    mutating func markWritten() {
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
    /// A version of all pauses; a peer that has another version may lack some.
    package struct PausesVersion: Equatable {
        let known: UInt64
        package let site: Site
        let hasWritten: Bool
    }

    /// The pauses of the sites of other stores, as peers have reported them.
    package var knownPauses: [SitePauses] { state.withLock(\.knownPauses.all) }

    /// Returns the pauses of all stores, including this one; nil if `version` is current.
    package func pauses(
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

    /// Adds reported pauses of a site; returns all its pauses, or nil if none were added.
    package func addPauses(_ reported: SitePauses) -> SitePauses? {
        state.withLock { $0.knownPauses.add(reported) }
    }
}
