import SheafBytes
package import SheafDocument
import SheafStorage
import Synchronization

/// What a commit has to write of the site of its store.
struct SiteWriting {
    let record: SiteRecord
    /// The sites of before; nil where the log has them.
    let former: FormerSites?

    func put(into batch: inout WriteBatch) throws(StorageError) {
        try batch.put(StoreKey.site.bytes, record.bytes)
        if let former { try batch.put(StoreKey.formerSites.bytes, former.bytes) }
    }
}

extension DocumentEngine.WriterState {
    /// What the next commit has to write of the site; nil where the log has it.
    var siteWriting: SiteWriting? {
        guard !isSiteWritten else { return nil }
        let former = formerSites(with: loggedSite)
        return SiteWriting(record: siteRecord, former: former == formerSites ? nil : former)
    }

    /// Records that the log has the site now.
    mutating func noteSiteWritten() {
        guard !isSiteWritten else { return }
        (formerSites, loggedSite) = (formerSites(with: loggedSite), clock.site)
        isSiteWritten = true
    }

    private func formerSites(with site: Site?) -> FormerSites {
        guard let site, site != clock.site else { return formerSites }
        var sites = formerSites
        sites.add(site)
        return sites
    }
}

extension DocumentEngine {
    static func formerSites(of snapshot: LogSnapshot) throws(EngineError) -> FormerSites {
        guard let payload = try payload(of: .formerSites, in: snapshot) else {
            return FormerSites()
        }
        return try onDocument(StoreKey.formerSites.bytes) { () throws(Malformed) in
            try payload.span.withUnsafeBytes { bytes throws(Malformed) in
                try FormerSites(decoding: bytes)
            }
        }
    }

    /// The sites that this store has written as, the current one included.
    package var ownSites: [Site] {
        state.withLock { state in
            let former = state.formerSites.sites
            guard let logged = state.loggedSite, logged != state.clock.site else {
                return former + [state.clock.site]
            }
            return former + [logged, state.clock.site]
        }
    }
}
