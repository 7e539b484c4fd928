package import SheafDocument
package import SheafEngine
package import SheafSync

/// The site of a peer, and the sites and write pauses exchanged with it.
package struct SiteExchange {
    /// The site in the peer's hello.
    package private(set) var peer = Site.initial
    /// Whether the peer has reported a site that differs from the one in its hello.
    package private(set) var hasMoved = false
    /// The write pauses of the peer's site.
    package private(set) var pauses: [WritePause] = []
    /// The local site that was last reported to the peer.
    var reported = Site.initial
    /// Write pauses exchanged with the peer, by site, and the version of those last reported.
    private var reportedPauses: [Site: [WritePause]] = [:]
    private var pausesVersion: DocumentEngine.PausesVersion?

    package init() {}

    /// Records the site and the write pauses in the hello of the peer.
    package mutating func open(_ hello: Hello) {
        (peer, pauses) = (hello.site, hello.pauses)
    }

    /// Records that the peer has moved to another site, which has no pauses.
    package mutating func recordMove() {
        (hasMoved, pauses, pausesVersion) = (true, [], nil)
    }

    /// Records pauses of the peer's own site, which are used to check its batches.
    package mutating func receive(_ reported: SitePauses) {
        if reported.site == peer, !hasMoved { pauses = reported.pauses }
    }

    /// Records pauses that both sides know.
    package mutating func recordKnown(_ known: SitePauses) {
        if reportedPauses.count >= 2 * KnownPauses.maximumSites { reportedPauses = [:] }
        reportedPauses[known.site] = known.pauses
    }

    /// Returns pauses that the peer may lack, to be reported before it is sent documents.
    package mutating func drainUnreported(of documents: DocumentEngine) -> [SitePauses] {
        guard let (version, all) = documents.pauses(since: pausesVersion) else { return [] }
        pausesVersion = version
        // Entries of other sites are dropped, since a peer can report any number of them.
        let sites = Set(all.map(\.site))
        reportedPauses = reportedPauses.filter { sites.contains($0.key) }
        // A store that was restored twice does not know the pause of the first restore.
        let unreported = all.filter { known in
            reportedPauses[known.site] != known.pauses
                && (known.site != peer || known.pauses != pauses)
        }
        for known in unreported { reportedPauses[known.site] = known.pauses }
        return unreported
    }
}
