import SheafBytes
package import SheafDocument
package import SheafStorage
import Synchronization

/// The site record and the former sites that the next commit writes to the log.
struct SiteRecordUpdate {
    let record: SiteRecord
    /// Former sites; nil if the log has all of them.
    let former: FormerSites?

    package func write(into batch: inout WriteBatch) throws(StorageError) {
        try batch.put(StoreKey.site.bytes, record.bytes)
        if let former { try batch.put(StoreKey.formerSites.bytes, former.bytes) }
    }
}

extension DocumentEngine.WriterState {
    /// The site record for the next commit; nil if the log has the current site.
    var siteRecordUpdate: SiteRecordUpdate? {
        guard !isSiteWritten else { return nil }
        let former = formerSites(with: loggedSite)
        return SiteRecordUpdate(record: siteRecord, former: former == formerSites ? nil : former)
    }

    /// Records that the current site is in the log.
    mutating func markSiteWritten() {
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
    package static func formerSites(of snapshot: LogSnapshot) throws(EngineError) -> FormerSites {
        guard let payload = try payload(of: .formerSites, in: snapshot) else {
            return FormerSites()
        }
        return try onDocument(StoreKey.formerSites.bytes) { () throws(Malformed) in
            try payload.span.withUnsafeBytes { bytes throws(Malformed) in
                try FormerSites(decoding: bytes)
            }
        }
    }

    /// All sites of this store, including the current one.
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
