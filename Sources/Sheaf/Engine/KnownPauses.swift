import SheafBytes
import SheafDocument
import SheafStorage
package import SheafSync
import Synchronization

/// The pauses of the sites of other stores.
///
/// A document can come from any peer, also from one that has taken it from a store that was put back to an older
/// state. So pauses go from peer to peer, each before the documents that came after it, and are kept in the log.
struct KnownPauses: Sendable {
    private var pauses: [Site: [WritePause]] = [:]
    /// The sites, in the order in which they were learned.
    private var order: [Site] = []
    /// The sites that have pauses in the log, and those of which it has others.
    private var logged: Set<Site> = []
    private var unsaved: Set<Site> = []

    /// Maximum number of sites; beyond it, those learned first are forgotten.
    static let mostSites = 256

    var isEmpty: Bool { pauses.isEmpty }
    var all: [SitePauses] {
        order.map { SitePauses(site: $0, pauses: pauses[$0] ?? []) }
    }

    /// Reads what the log has.
    init(_ snapshot: LogSnapshot) throws(EngineError) {
        var keys: [[UInt8]] = []
        snapshot.tree.forEach(in: StoreKey.pauses) { (key, _) in
            keys.append(Array(key))
            return true
        }
        for bytes in keys {
            guard case .pauses(let site)? = bytes.span.withUnsafeBytes({ StoreKey($0) }),
                let payload = try DocumentEngine.payload(of: .pauses(site), in: snapshot)
            else { continue }
            pauses[site] = try onDocument(bytes) { () throws(Malformed) in
                try payload.span.withUnsafeBytes { payload throws(Malformed) in
                    var reader = ByteReader(payload)
                    return try reader.readPauses()
                }
            }
            order.append(site)
            logged.insert(site)
        }
    }

    init() {}

    /// Adds pauses of a site; returns all of them, or nil where they were known.
    ///
    /// One that was reported before and has lasted longer since takes the place of the earlier.
    mutating func add(_ reported: SitePauses) -> SitePauses? {
        var known = pauses[reported.site] ?? []
        for pause in reported.pauses {
            let same = known.first { $0.after == pause.after }
            if let same, same.before >= pause.before { continue }
            known.removeAll { $0.after == pause.after }
            known.add(pause)
        }
        guard known != pauses[reported.site] ?? [] else { return nil }
        if pauses[reported.site] == nil { order.append(reported.site) }
        pauses[reported.site] = known
        unsaved.insert(reported.site)
        if order.count > Self.mostSites {
            let oldest = order.removeFirst()
            pauses[oldest] = nil
            unsaved.insert(oldest)
        }
        return SitePauses(site: reported.site, pauses: known)
    }

    /// Returns the pause in which a site has made a write that it does not have any more; nil where there is none.
    func pause(of site: Site, containing time: HybridTime) -> WritePause? {
        guard let known = pauses[site] else { return nil }
        return known.first { $0.contains(time) }
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

    /// Records that the log has all of it.
    mutating func noteWritten() {
        guard !unsaved.isEmpty else { return }
        (logged, unsaved) = (Set(order), [])
    }
}

extension DocumentEngine {
    /// The pauses of the sites of other stores, as peers have reported them.
    package var knownPauses: [SitePauses] { state.withLock(\.knownPauses.all) }

    /// Takes in pauses of a site; returns all that are known of it, or nil where nothing is new.
    package func learn(_ reported: SitePauses) -> SitePauses? {
        state.withLock { $0.knownPauses.add(reported) }
    }
}
