import SheafBytes
import SheafDocument
import SheafStorage
package import SheafSync
import Synchronization

/// The pauses of the sites of other stores.
///
/// A document can come from any peer, also from one that has taken it from a store that was put back to an older
/// state. So peers forward a pause before the documents written after it, and keep it in the log.
struct KnownPauses: Sendable {
    private var pauses: [Site: [WritePause]] = [:]
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
            pauses[site] = known
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
        pauses[site] = known
        if pauses.count > Self.mostSites {
            let least = pauses.min { Self.isBefore($0, $1) }?.key ?? site
            pauses[least] = nil
            if logged.contains(least) { unsaved.insert(least) } else { unsaved.remove(least) }
            guard least != site else { return nil }
        }
        unsaved.insert(site)
        version += 1
        return SitePauses(site: site, pauses: known)
    }

    private static func isBefore(
        _ left: (key: Site, value: [WritePause]), _ right: (key: Site, value: [WritePause])
    ) -> Bool {
        let ends = [left, right].map { $0.value.map(\.before).max() ?? .initial }
        return (ends[0], left.key) < (ends[1], right.key)
    }

    /// Whether a time of a site lies in one of its pauses.
    func has(_ time: HybridTime, of site: Site) -> Bool {
        pauses[site]?.contains { $0.contains(time) } ?? false
    }

    /// Returns the pause that contains the latest write of a site in a document, if another document has writes of
    /// the site since then, or its forgotten writes under the derived site; nil if there is none.
    ///
    /// Of several, it is the one that begins first, to include all forgotten writes. Of those with one beginning, as
    /// several restores of one backup have them, it is the one that ends first.
    func pause(
        containing latest: VersionVector.Entry, endedIn vector: VersionVector
    ) -> WritePause? {
        let site = latest.site
        return pauses[site]?.filter { pause in
            pause.contains(latest.time)
                && (pause.before <= vector.time(of: site)
                    || vector.time(of: site.forgotten(in: pause)) > .initial)
        }
        .min { ($0.after, $0.before) < ($1.after, $1.before) }
    }

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
