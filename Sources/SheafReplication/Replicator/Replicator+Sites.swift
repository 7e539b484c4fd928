import SheafBytes
import SheafDocument
import SheafEngine
import SheafStatements
import SheafStorage
import SheafSync
import SheafTransport

/// Stores that were restored to an older state, and copies of stores in use at the same time.
extension Replicator {
    /// Minimum time before another peer with the same key replaces a connection, in nanoseconds.
    package static let turn: UInt64 = 5_000_000_000
    private static let contested = "another peer with the same key is connected"

    // MARK: Lost writes

    /// Changes the site of this store, since a peer has a write that the store lacks.
    func processLostWrite(_ message: LostWrite, on connection: Connection) {
        // Implausible reports are ignored: the site changes at most once per opening of the store.
        guard message.site == queries.documents.site,
            let time = queries.documents.uniqueThrough(message.time)
        else { return }
        queries.log?.writeMissingWrites(knownBy: connection.session.remote?.peerKey)
        emit(
            .write(
                WriteJob(
                    connection: connection.number, steps: [], peer: message.site, writable: nil,
                    separation: (message.site, time))))
    }

    /// Reports the site to which writes were moved, to all peers that know another site.
    ///
    /// After the report a peer does not check documents against the pauses of the old site, so the
    /// report must follow all documents of earlier snapshots.
    func reportNewSite() {
        guard mayReportSite else { return }
        let report = queries.documents.siteReport(through: recent.snapshot.log.commit)
        guard let commit = report.movedBy else { return }
        mayReportSite = false
        for connection in orderedConnections where connection.exchange.sites.reported != report.site
        {
            guard connection.session.isOpen, !isPending(before: commit, connection) else {
                mayReportSite = true
                continue
            }
            connection.session.report(NewSite(site: report.site))
            connection.exchange.sites.reported = report.site
        }
    }

    /// Whether documents of snapshots before a commit remain to be sent to the peer.
    private func isPending(before commit: CommitID, _ connection: Connection) -> Bool {
        let delayed = connection.delayed
        let states = [delayed?.questionSnapshot, delayed?.wanted?.snapshot]
        if states.contains(where: { $0.map { $0.log.commit < commit } ?? false }) { return true }
        return connection.session.hasUnsent || connection.sender?.isPending(before: commit) == true
    }

    /// Records the new site of a peer, which has no pauses.
    ///
    /// A peer can report the site of another store, so no decision depends on it.
    func record(_ site: Site, of connection: Connection) {
        connection.exchange.sites.recordMove()
        change(connection) { $0.site = site }
    }

    /// Records the site of a peer; if another store writes with it, both must change their sites.
    func recordSite(_ hello: Hello, on connection: Connection) {
        connection.exchange.sites.open(hello)
        addPauses(SitePauses(site: hello.site, pauses: hello.pauses), from: connection)
        let rivals = table.connections(withSite: hello.site).filter { other in
            other !== connection && !other.exchange.sites.hasMoved
                && other.session.isOpen
                && other.session.remote?.log != hello.log
        }
        guard !rivals.isEmpty || openings.isContested(hello.peerKey) else { return }
        for other in rivals + [connection] {
            other.session.report(LostWrite(site: hello.site, time: nil))
        }
    }

    /// Accepts reported pauses of a site.
    ///
    /// False pauses would restore removed fields, so they are accepted only from a peer that may
    /// write everything. Pauses of the peer's own site are always used to check its batches.
    func addPauses(_ reported: SitePauses, from connection: Connection) {
        connection.exchange.sites.receive(reported)
        guard connection.access.writable == nil, queries.documents.addPauses(reported) != nil else {
            return
        }
        connection.exchange.sites.recordKnown(reported)
    }

    // MARK: Two peers with one key

    /// Ends other connections to a peer after its hello; returns false if the new one was ended.
    ///
    /// Two connections to one peer would send everything twice, so the older one is ended. Two
    /// peers with one key would end each other's connections immediately, so they take turns.
    func replaceConnection(_ connection: Connection, _ hello: Hello) -> Bool {
        let isContested = openings.record(hello)
        connection.greetedAt = now
        for other in table.connections(to: hello.peerKey) where other !== connection {
            let isTwin = isContested && other.session.remote?.log != hello.log
            if isTwin, let greetedAt = other.greetedAt, now < greetedAt + Self.turn {
                fail(connection, .sameKey, Self.contested)
                return false
            }
            fail(
                other, .sameKey,
                isTwin ? Self.contested : "there is a newer connection to this peer")
        }
        return true
    }

    /// Logs that two peers have the same key, on all three peers involved.
    func logContested(_ closeMessage: CloseMessage, on connection: Connection) {
        guard closeMessage.code == .sameKey, closeMessage.text == Self.contested,
            let key = connection.session.remote?.peerKey
        else { return }
        let remote = connection.session.remote?.log ?? log
        guard openings.isMessageDue(key, remote, at: now) else { return }
        queries.log?.write(
            .warning,
            "two peers with the same key are connected: one is a copy of the other, or the key is used twice; "
                + "use a different key for each",
            ["peer": PeerKey(unchecked: key).description])
    }
}
