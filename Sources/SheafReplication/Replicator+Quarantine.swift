import SheafBytes
import SheafDocument
import SheafEngine
import SheafStatements
import SheafStorage
import SheafSync
import SheafSystem

/// Quarantine of received documents whose stamps are too far ahead of the local clock.
extension Replicator {
    /// The wall-clock time in milliseconds since 1970.
    var wallMilliseconds: UInt64 { queries.options.clock.wallMilliseconds() }

    private var setAsideClock: QuarantineClock { QuarantineClock(wall: wallMilliseconds, now: now) }

    /// The time of the next check of quarantined documents; nil if no connected peer sent any.
    var setAsideDeadline: UInt64? {
        guard let checkAt = setAside.checkAt,
            connections.values.contains(where: { link in
                link.session.isOpen
                    && link.session.remote.map { setAside[$0.peerKey] != nil } ?? false
            })
        else { return nil }
        return checkAt
    }

    // MARK: Local quarantine

    /// Records documents that a job has quarantined, or written after a quarantine.
    func recordQuarantined(_ outcome: WriteJob.Outcome, isComplete: Bool, on link: Connection) {
        guard !outcome.ahead.isEmpty || !setAside.isEmpty else { return }
        guard let key = link.session.remote?.peerKey,
            outcome.generation == link.receiver.generation
        else { return }
        for address in outcome.settled { setAside.removeWritten(address, of: key, at: now) }
        for (address, time) in outcome.ahead.documents {
            link.receiver.retried.remove(address)
            setAside.add(address, time, of: key, at: now)
        }
        if let (count, earliest) = outcome.ahead.omitted {
            link.receiver.comparesSetAside = false
            setAside.omit(count, earliest, of: key, at: now)
        }
        if isComplete {
            // A document that was requested again and not received is deleted or withheld from this
            // peer.
            for address in link.receiver.retried { setAside.remove(address, of: key) }
            if link.receiver.comparesSetAside { setAside.removeOmitted(of: key) }
            if !link.receiver.retried.isEmpty || link.receiver.missesCheck {
                setAside.scheduleCheck(at: now)
            }
            (link.receiver.retried, link.receiver.comparesSetAside) = ([], false)
            link.receiver.missesCheck = false
        }
        reportSetAside(link)
    }

    /// Records that a reconciliation requests all quarantined documents of the peer again.
    func recordFullRetry(_ link: Connection) {
        guard let key = link.session.remote?.peerKey, let documents = setAside[key] else { return }
        link.receiver.retried.formUnion(documents.entries.keys)
        link.receiver.comparesSetAside = documents.omitted != nil
    }

    /// Requests quarantined documents whose times have become acceptable.
    func checkSetAside() {
        guard let checkAt = setAside.checkAt, checkAt <= now else { return }
        let clock = setAsideClock
        for link in allLinks {
            guard let key = link.session.remote?.peerKey, link.session.isOpen,
                setAside[key] != nil
            else { continue }
            // A pending request must be answered first; the check is repeated then.
            guard link.receiver.hasCaughtUp, !link.receiver.isWriting,
                link.receiver.retried.isEmpty, !link.receiver.comparesSetAside
            else {
                link.receiver.missesCheck = true
                continue
            }
            let (addresses, comparesAll) = setAside.retriable(of: key, clock)
            if comparesAll {
                wishes.cursors[key] = nil
                renewSubscription(link)
            } else if !addresses.isEmpty {
                renewSubscription(link, complete: addresses)
                link.receiver.retried = Set(addresses)
            }
        }
        setAside.scheduleCheck(after: setAside.earliest(clock), wall: clock.wall, at: now)
    }

    /// Discards the quarantine records of forgotten peers.
    func discardQuarantines(but known: Set<[UInt8]>) {
        for key in setAside.keys where !known.contains(key) { setAside.remove(peer: key) }
    }

    /// Reports a changed number of quarantined documents to the peer, the status and the log.
    func reportSetAside(_ link: Connection) {
        guard let key = link.session.remote?.peerKey else { return }
        let wall = wallMilliseconds
        let documents = setAside[key]
        let count = UInt64(documents?.count ?? 0)
        let latest = documents?.latest.milliseconds ?? 0
        guard count != link.receiver.reportedSetAside else { return }
        link.receiver.reportedSetAside = count
        link.session.report(
            QuarantineNotice(
                count: count, latestMilliseconds: latest, wallMilliseconds: wall))
        change(link) { status in
            status.clock.setAside =
                count == 0
                ? nil
                : QuarantineSummary(
                    count: count, aheadMilliseconds: latest - min(latest, wall))
        }
        warnOfClock(link)
    }

    // MARK: Remote quarantine

    /// Handles a report about local documents that the peer has quarantined.
    func recordQuarantined(_ notice: QuarantineNotice, on link: Connection) {
        let ahead =
            notice.latestMilliseconds - min(notice.latestMilliseconds, notice.wallMilliseconds)
        change(link) { status in
            status.clock.setAsideThere =
                notice.count == 0
                ? nil : QuarantineSummary(count: notice.count, aheadMilliseconds: ahead)
        }
        // Acknowledgments received meanwhile are valid once nothing is quarantined.
        if notice.count == 0, let telling = link.sender, telling.acknowledged > 0 {
            recordSynced(through: telling.acknowledged, link)
        }
        warnOfClock(link)
    }

    // MARK: Clocks

    /// Compares the clock of the peer with the local one.
    func compareClock(of hello: Hello, on link: Connection) {
        let wall = wallMilliseconds
        let offset =
            hello.wallMilliseconds >= wall
            ? Int64(clamping: hello.wallMilliseconds - wall)
            : -Int64(clamping: wall - hello.wallMilliseconds)
        change(link) { status in
            status.clock.offsetMilliseconds = offset
            // The peer reports its quarantine again on each connection.
            status.clock.setAsideThere = nil
        }
        reportSetAside(link)
        warnOfClock(link)
    }

    private func warnOfClock(_ link: Connection) {
        guard let key = link.session.remote?.peerKey, let status = statuses[key] else { return }
        guard clockWarnings.isDue(key, status.clock.faults, at: now) else { return }
        emit(.clockWarning(peer: key, status.clock.sentences))
    }

    // MARK: Explanations

    /// Returns the time of a peer's quarantined document in milliseconds since 1970, or nil.
    func setAsideTime(of collection: String, _ id: Value, from key: [UInt8]) -> UInt64? {
        guard let bytes = try? DocumentID.key(of: id) else { return nil }
        let address = DocumentAddress(collection: collection, id: bytes)
        return setAside[key]?.entries[address]?.time.milliseconds
    }

    /// Returns how far a document's latest dot is ahead of the local clock; nil if it is not.
    func aheadMilliseconds(
        of document: StoredDocument?, _ key: [UInt8]?
    ) throws(EngineError) -> UInt64? {
        guard let document else { return nil }
        let wall = wallMilliseconds
        let latest = try onDocument(key ?? []) { () throws(Malformed) in
            try document.read { (bytes) throws(Malformed) in
                try EncodedDocument(bytes).latestDot().milliseconds
            }
        }
        return latest > wall ? latest - wall : nil
    }
}
