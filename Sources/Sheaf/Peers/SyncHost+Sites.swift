import SheafBytes
import SheafDocument
import SheafStorage
import SheafSync

/// Stores that were put back to an older state, and copies of stores that run at the same time.
extension SyncHost {
    /// The openings in which the peers of one key were met.
    struct Openings {
        /// The opening that was met last.
        var newest: XXH3.Hash128
        /// Those before it, the last ones.
        var earlier: [XXH3.Hash128] = []
        /// Whether an earlier one came back, which the opening of one peer never does.
        var isContested = false
        /// When that was last written to the log.
        var notedAt: UInt64?
    }

    /// Time for which the connection to one of two peers with one key is left alone, in nanoseconds.
    static let turn: UInt64 = 5_000_000_000
    /// Time between two messages in the log about one key, in nanoseconds.
    private static let noteInterval: UInt64 = 60_000_000_000
    /// Maximum number of documents named in the log that could not be moved to another site.
    private static let mostUnmovedNotes = 16
    /// Number of earlier openings that are remembered for a key.
    private static let mostEarlier = 4
    private static let contested = "another peer with the same key is connected"

    /// Writes to the log that a peer knows writes of this store that the store has not.
    func noteLackingOwnWrites(knownBy link: Link) {
        guard let key = link.session.remote?.peerKey else { return }
        queries.log?.write(
            .error,
            "a peer knows writes of this store that are not in it: an older state was put in its place, or a "
                + "copy of it is in use; it writes with another site from now on",
            ["peer": PeerKey(unchecked: key).description])
    }

    // MARK: Writes that a store does not have any more

    /// Writes to the log what kept writes of this store from being moved to another site.
    func noteUnmoved(_ outcome: WriteJob.Outcome) {
        if outcome.isSeparation, let error = outcome.error {
            queries.log?.write(
                .error,
                "the store cannot go on as another site, and tries again when a peer reports a write that is not in it",
                ["reason": "\(error)"])
        }
        for document in outcome.unmoved.prefix(Self.mostUnmovedNotes) {
            queries.log?.write(
                .error,
                "a document cannot be assigned to the new site of this store: writes to it that peers know, and that "
                    + "are not in this store, are lost if it is sent; run sheaf verify, and copy what can be read to "
                    + "another store with sheaf salvage",
                [
                    "documents": "\(outcome.unmoved.count)", "reason": "\(document.reason)",
                ].merging(document.address?.logFields ?? [:]) { $1 })
        }
    }

    /// Writes to the log which documents have kept writes that their store has forgotten, and which have not.
    func note(_ forgotten: ForgottenWrites) {
        if let first = forgotten.kept.first {
            queries.log?.write(
                .warning,
                "documents have kept writes that the store which made them does not have any more: an older state was "
                    + "put in its place, or a copy of it is in use",
                first.logFields.merging(["documents": "\(forgotten.kept.count)"]) { $1 })
        }
        if let first = forgotten.removed.first {
            queries.log?.write(
                .warning,
                "additions to counters are lost: the store which made them does not have them any more, and has added "
                    + "to the same counters since",
                first.logFields.merging(["documents": "\(forgotten.removed.count)"]) { $1 })
        }
        if let first = forgotten.unkept.first, let address = first.address {
            queries.log?.write(
                .error,
                "a document has no room for writes that the store which made them does not have any more: they are lost, or "
                    + "count twice",
                address.logFields.merging([
                    "documents": "\(forgotten.unkept.count)", "reason": "\(first.reason)",
                ]) { $1 })
        }
    }

    /// Has the other side go on as another site: this peer knows a write that it does not have.
    func reportForgotten(_ time: HybridTime, to link: Link) {
        link.session.report(ForgottenWrite(site: link.site, time: time))
        fail(
            link, .forgotten,
            "this peer knows writes of that store that are not in it: an older state was put in its place, "
                + "or a copy of it is in use")
    }

    /// Has this store go on as another site, since it does not have all writes of its own.
    func noteForgotten(_ message: ForgottenWrite, on link: Link) {
        // What cannot be true has no effect: a new site is drawn once for each opening at most.
        guard message.site == queries.documents.site,
            let time = queries.documents.uniqueThrough(message.time)
        else { return }
        noteLackingOwnWrites(knownBy: link)
        emit(
            .write(
                WriteJob(
                    link: link.number, steps: [], peer: message.site, writable: nil,
                    separation: (message.site, time))))
    }

    /// Reports the site that writes were moved to, to all peers that know another site.
    ///
    /// After the report a peer no longer checks documents against the pauses of the old site, so it follows all
    /// documents of states before the move.
    func reportNewSite() {
        guard mayReportSite else { return }
        let report = queries.documents.siteReport(through: news.snapshot.log.commit)
        guard let commit = report.movedBy else { return }
        mayReportSite = false
        for link in allLinks where link.knownSite != report.site {
            guard link.session.isOpen, !isTelling(before: commit, link) else {
                mayReportSite = true
                continue
            }
            link.session.report(report.site)
            link.knownSite = report.site
            handle(link)
        }
    }

    /// Whether documents of states before a commit are still sent to a peer, or will be.
    private func isTelling(before commit: CommitID, _ link: Link) -> Bool {
        let (telling, delayed) = (link.telling, link.delayed)
        let states = [
            telling?.outgoing?.snapshot, telling?.catchingUp?.snapshot, telling?.compared,
            telling?.preparation?.snapshot, telling?.limited.draft?.outgoing.snapshot,
            delayed?.asked, delayed?.wanted?.snapshot,
        ]
        if states.contains(where: { $0.map { $0.log.commit < commit } ?? false }) { return true }
        if link.session.hasUnsent { return true }
        guard let telling else { return false }
        return telling.isStreaming && telling.sent < commit
    }

    /// Notes the site that a peer has drawn, which has no pauses.
    ///
    /// A peer can name the site of another one here, so the site decides nothing.
    func note(_ site: Site, of link: Link) {
        (link.hasNewSite, link.pauses, link.pausesVersion) = (true, [], nil)
        change(link) { $0.site = site }
    }

    /// Notes the site of a peer; two stores that write with one site both go on as others.
    func noteSite(_ hello: Hello, on link: Link) {
        (link.site, link.pauses) = (hello.site, hello.pauses)
        learn(SitePauses(site: hello.site, pauses: hello.pauses), from: link)
        let rivals = allLinks.filter { other in
            other !== link && other.site == hello.site && !other.hasNewSite
                && other.session.isOpen
                && other.session.remote?.log != hello.log
        }
        guard !rivals.isEmpty || openings[hello.peerKey]?.isContested == true else { return }
        for other in rivals + [link] {
            other.session.report(ForgottenWrite(site: hello.site, time: nil))
        }
    }

    /// Takes in the pauses of the site of a store.
    ///
    /// False pauses make removed fields come back, so pauses are accepted only from a peer that may write everything; for
    /// the check of its own steps, from any peer.
    func learn(_ reported: SitePauses, from link: Link) {
        if reported.site == link.site, !link.hasNewSite { link.pauses = reported.pauses }
        guard link.writable == nil, queries.documents.learn(reported) != nil else { return }
        if link.toldPauses.count >= 2 * KnownPauses.mostSites { link.toldPauses = [:] }
        link.toldPauses[reported.site] = reported.pauses
    }

    /// Reports pauses that the other side may not know, before it is sent documents.
    func reportPauses(on link: Link) {
        guard let (version, all) = queries.documents.pauses(since: link.pausesVersion) else {
            return
        }
        link.pausesVersion = version
        // A peer can report further sites without end.
        let sites = Set(all.map(\.site))
        link.toldPauses = link.toldPauses.filter { sites.contains($0.key) }
        // A store that was put back twice does not know the pause of the first time.
        for known in all where link.toldPauses[known.site] != known.pauses {
            guard known.site != link.site || known.pauses != link.pauses else { continue }
            link.toldPauses[known.site] = known.pauses
            link.session.report(known)
        }
    }

    // MARK: Two peers with one key

    /// Ends other connections to a peer that has greeted; false where the new connection was ended.
    ///
    /// Two connections to one peer would send everything twice: the older one goes. Where two peers have one
    /// key, each would end the connection of the other one at once, and neither would get anywhere: they take
    /// turns.
    func takeOver(_ link: Link, _ hello: Hello) -> Bool {
        let isContested = noteOpening(hello)
        link.greetedAt = now
        for other in allLinks
        where other !== link && other.session.remote?.peerKey == hello.peerKey {
            let isTwin = isContested && other.session.remote?.log != hello.log
            if isTwin, let greetedAt = other.greetedAt, now < greetedAt + Self.turn {
                fail(link, .sameKey, Self.contested)
                return false
            }
            fail(
                other, .sameKey,
                isTwin ? Self.contested : "there is a newer connection to this peer")
        }
        return true
    }

    /// Notes in which opening a peer was met; returns whether two peers have its key.
    private func noteOpening(_ hello: Hello) -> Bool {
        guard var known = openings[hello.peerKey] else {
            if openings.count >= Self.mostKnown { openings = [:] }
            openings[hello.peerKey] = Openings(newest: hello.log)
            return false
        }
        guard known.newest != hello.log else { return known.isContested }
        if known.earlier.contains(hello.log) { known.isContested = true }
        known.earlier = known.earlier.filter { $0 != hello.log }.suffix(Self.mostEarlier - 1)
        known.earlier.append(known.newest)
        known.newest = hello.log
        openings[hello.peerKey] = known
        return known.isContested
    }

    /// Writes to the log that two peers have one key, on all three sides.
    func noteContested(_ farewell: Farewell, on link: Link) {
        guard farewell.code == .sameKey, farewell.text == Self.contested,
            let key = link.session.remote?.peerKey
        else { return }
        var known = openings[key] ?? Openings(newest: link.session.remote?.log ?? log)
        if let notedAt = known.notedAt, now < notedAt + Self.noteInterval { return }
        known.notedAt = now
        openings[key] = known
        queries.log?.write(
            .warning,
            "two peers with one key are connected: one was copied from the other, or the same key is used twice; "
                + "give each a key of its own",
            ["peer": PeerKey(unchecked: key).description])
    }
}
