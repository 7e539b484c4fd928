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

    private var quarantineClock: QuarantineClock {
        QuarantineClock(wall: wallMilliseconds, now: now)
    }

    /// The time of the next check of quarantined documents; nil if no connected peer sent any.
    var quarantineDeadline: UInt64? {
        guard let checkAt = quarantine.checkAt,
            quarantine.containsPeer(where: { key in
                table.connections(to: key).contains { $0.session.isOpen }
            })
        else { return nil }
        return checkAt
    }

    // MARK: Local quarantine

    /// Records documents that a job has quarantined, or written after a quarantine.
    func recordQuarantined(_ outcome: WriteJob.Outcome, isComplete: Bool, on connection: Connection)
    {
        guard !outcome.ahead.isEmpty || !quarantine.isEmpty else { return }
        guard let key = connection.session.remote?.peerKey,
            outcome.generation == connection.receiver.generation
        else { return }
        for address in outcome.settled { quarantine.removeWritten(address, of: key, at: now) }
        for (address, time) in outcome.ahead.documents {
            connection.receiver.retried.remove(address)
            quarantine.add(address, time, of: key, at: now)
        }
        if let (count, earliest) = outcome.ahead.omitted {
            connection.receiver.reconcilesQuarantine = false
            quarantine.omit(count, earliest, of: key, at: now)
        }
        if isComplete {
            // A document that was requested again and not received is deleted or withheld from this
            // peer.
            for address in connection.receiver.retried { quarantine.remove(address, of: key) }
            if connection.receiver.reconcilesQuarantine { quarantine.removeOmitted(of: key) }
            if !connection.receiver.retried.isEmpty || connection.receiver.missesCheck {
                quarantine.scheduleCheck(at: now)
            }
            (connection.receiver.retried, connection.receiver.reconcilesQuarantine) = ([], false)
            connection.receiver.missesCheck = false
        }
        reportQuarantine(connection)
    }

    /// Records that a reconciliation requests all quarantined documents of the peer again.
    func recordFullRetry(_ connection: Connection) {
        guard let key = connection.session.remote?.peerKey, let documents = quarantine[key] else {
            return
        }
        connection.receiver.retried.formUnion(documents.entries.keys)
        connection.receiver.reconcilesQuarantine = documents.omitted != nil
    }

    /// Requests quarantined documents whose times have become acceptable.
    func checkQuarantine() {
        guard let checkAt = quarantine.checkAt, checkAt <= now else { return }
        let clock = quarantineClock
        for connection in orderedConnections {
            guard let key = connection.session.remote?.peerKey, connection.session.isOpen,
                quarantine[key] != nil
            else { continue }
            // A pending request must be answered first; the check is repeated then.
            guard connection.receiver.hasCaughtUp, !connection.receiver.isWriting,
                connection.receiver.retried.isEmpty, !connection.receiver.reconcilesQuarantine
            else {
                connection.receiver.missesCheck = true
                continue
            }
            let (addresses, comparesAll) = quarantine.retriable(of: key, clock)
            if comparesAll {
                subscriptions.cursors[key] = nil
                renewSubscription(connection)
            } else if !addresses.isEmpty {
                renewSubscription(connection, complete: addresses)
                connection.receiver.retried = Set(addresses)
            }
        }
        quarantine.scheduleCheck(after: quarantine.earliest(clock), wall: clock.wall, at: now)
    }

    /// Discards the quarantined documents of peers that are not in `known`.
    func discardQuarantines(but known: Set<[UInt8]>) {
        for key in quarantine.keys where !known.contains(key) { quarantine.remove(peer: key) }
    }

    /// Reports a changed number of quarantined documents to the peer, the status and the log.
    func reportQuarantine(_ connection: Connection) {
        guard let key = connection.session.remote?.peerKey else { return }
        let wall = wallMilliseconds
        let documents = quarantine[key]
        let count = UInt64(documents?.count ?? 0)
        let latest = documents?.latest.milliseconds ?? 0
        guard count != connection.receiver.reportedQuarantineCount else { return }
        connection.receiver.reportedQuarantineCount = count
        connection.session.report(
            QuarantineNotice(
                count: count, latestMilliseconds: latest, wallMilliseconds: wall))
        change(connection) { status in
            status.clock.quarantined =
                count == 0
                ? nil
                : QuarantineSummary(
                    count: count, aheadMilliseconds: latest - min(latest, wall))
        }
        warnOfClock(connection)
    }

    // MARK: Remote quarantine

    /// Handles a report about local documents that the peer has quarantined.
    func recordQuarantined(_ notice: QuarantineNotice, on connection: Connection) {
        let ahead =
            notice.latestMilliseconds - min(notice.latestMilliseconds, notice.wallMilliseconds)
        change(connection) { status in
            status.clock.quarantinedRemotely =
                notice.count == 0
                ? nil : QuarantineSummary(count: notice.count, aheadMilliseconds: ahead)
        }
        // Acknowledgments received meanwhile are valid once nothing is quarantined.
        if notice.count == 0, let sender = connection.sender, sender.acknowledged > 0 {
            recordSynced(through: sender.acknowledged, connection)
        }
        warnOfClock(connection)
    }

    // MARK: Clocks

    /// Compares the clock of the peer with the local one.
    func compareClock(of hello: Hello, on connection: Connection) {
        let wall = wallMilliseconds
        let offset =
            hello.wallMilliseconds >= wall
            ? Int64(clamping: hello.wallMilliseconds - wall)
            : -Int64(clamping: wall - hello.wallMilliseconds)
        change(connection) { status in
            status.clock.offsetMilliseconds = offset
            // The peer reports its quarantine again on each connection.
            status.clock.quarantinedRemotely = nil
        }
        reportQuarantine(connection)
        warnOfClock(connection)
    }

    private func warnOfClock(_ connection: Connection) {
        guard let key = connection.session.remote?.peerKey, let status = peers[key] else {
            return
        }
        guard clockWarnings.isDue(key, status.clock.faults, at: now) else { return }
        emit(.clockWarning(peer: key, status.clock.sentences))
    }

    // MARK: Explanations

    /// Returns the time of a peer's quarantined document in milliseconds since 1970, or nil.
    func quarantineTime(of collection: String, _ id: Value, from key: [UInt8]) -> UInt64? {
        guard let bytes = try? DocumentID.key(of: id) else { return nil }
        let address = DocumentAddress(collection: collection, id: bytes)
        return quarantine[key]?.entries[address]?.time.milliseconds
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
