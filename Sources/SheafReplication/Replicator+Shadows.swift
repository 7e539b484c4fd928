import SheafDocument
import SheafEngine
import SheafQuery
import SheafStatements
import SheafStorage
import SheafSync
import SheafTransport

/// Hidden, deleted and evicted documents in the view of a peer with limited rights.
extension Replicator {
    /// Records the peer's writes to hidden documents, and logs those that were dropped.
    func recordHidden(_ outcome: WriteJob.Outcome, from connection: Connection) {
        let documents = outcome.hidden
        guard let key = connection.session.remote?.peerKey else { return }
        for address in outcome.revealed { connection.exchange.limitedPeer?.shadows.remove(address) }
        guard !documents.isEmpty else { return }
        for document in documents {
            connection.exchange.limitedPeer?.shadows.set(
                document.address, document.write.shadow)
        }
        // For the peer, the changes are the same as if the documents had been written.
        let changes = documents.compactMap { document in
            news.snapshot.key(of: document.address).map {
                FreshChange(key: $0, before: document.write.before, shadowCommit: document.commit)
            }
        }
        do throws(EngineError) { try collect(changes, for: connection) } catch {
            return failSending(connection, error)
        }
        guard let (count, last) = outcome.dropped else { return }
        queries.log?.write(
            .warning,
            "dropped writes of a peer with limited rights to documents that it may not read: it may "
                + "not write them, or the results exceed a limit",
            [
                "peer": PeerKey(unchecked: key).description, "documents": "\(count)",
            ].merging(last.logFields) { $1 })
    }

    // MARK: Deleted documents

    /// Records documents that were received from a peer with limited rights and written.
    func recordReceived(_ outcome: WriteJob.Outcome) {
        guard let key = outcome.limitedPeer, !outcome.received.isEmpty else { return }
        for address in outcome.received {
            limitedPeers[key]?.received.add(address)
        }
    }

    // MARK: Read repair

    /// Queues read repairs of documents of which a limited peer has sent older states.
    ///
    /// Documents are counted per peer, and only those that the peer may read: otherwise a
    /// reconciliation would reveal the number of other documents.
    func repairLimited(
        _ known: [WriteJob.OutdatedDocument], after localCommit: CommitID?,
        on connection: Connection
    ) {
        guard let key = connection.session.remote?.peerKey else { return }
        guard let matcher = connection.sender?.matcher else {
            // The queries are not known before the subscription is active.
            guard rateLimiters.hasSubscribed(key) else { return }
            for document in known {
                connection.exchange.limitedPeer?.judgeLater(document.address)
            }
            return
        }
        var addresses = Set(connection.sender?.limited.repairs.map(\.address) ?? [])
        for document in known
        where matcher.selects(for: document.address.collection)
            && addresses.insert(document.address).inserted
        {
            connection.sender?.limited.repairs.append(
                LimitedSender.Repair(
                    requiredCommit: localCommit ?? 0, address: document.address,
                    before: document.before))
        }
        // The repairs of a peer that grants no credit are never evaluated, so their number is
        // limited.
        guard addresses.count > LimitedPeer.maximumRepairs else { return }
        connection.sender?.limited.repairs = []
        if connection.sender?.isStreaming == true {
            restart(connection)
        } else {
            connection.sender?.isListOutdated = true
        }
    }

    /// Queues durable read repairs of documents that did not match before.
    ///
    /// Throws `.paused` if the evaluation slice is used up.
    func judgeRepairs(_ matcher: SubscriptionMatcher, _ connection: Connection) throws(EngineError)
    {
        guard let all = connection.sender?.limited.repairs, !all.isEmpty else { return }
        let snapshot = news.snapshot
        let due = all.filter { $0.requiredCommit <= snapshot.log.commit }
        connection.sender?.limited.repairs.removeAll { $0.requiredCommit <= snapshot.log.commit }
        let shown = context(of: connection).shown(snapshot)
        for (index, repair) in due.enumerated() {
            let address = repair.address
            guard let key = snapshot.key(of: address) else { continue }
            do throws(EngineError) {
                try matcher.visit()
                // A document that matched before is sent without a repair.
                if try matcher.matches(
                    repair.before, key: key, in: address.collection, snapshot.names)
                {
                    continue
                }
            } catch {
                if error == .paused { connection.sender?.limited.repairs += due[index...] }
                throw error
            }
            guard let version = versionToRepair(address, in: shown, on: connection),
                connection.sender?.limited.repaired[address] != version
            else { continue }
            if connection.sender?.limited.repaired.count ?? 0 >= LimitedPeer.maximumRepairs {
                connection.sender?.limited.repaired = [:]
            }
            connection.sender?.limited.repaired[address] = version
            guard connection.exchange.limitedPeer?.repair(address) == true else {
                connection.sender?.limited.named = []
                return restart(connection)
            }
            connection.sender?.limited.named.insert(address)
        }
    }

    /// Returns a hash of a document's version; nil if the peer may not be sent the document.
    private func versionToRepair(
        _ address: DocumentAddress, in snapshot: DocumentSnapshot, on connection: Connection
    ) -> UInt64? {
        let counted = connection.access.readMeter.counted
        defer { slice.charge(connection.access.readMeter.counted - counted) }
        guard let key = snapshot.key(of: address), let document = try? snapshot.document(key),
            !document.isRemnant
        else { return nil }
        let outgoing = Outgoing(snapshot: snapshot, documents: .keys([], next: 0), since: nil)
        guard (try? maySend(document, key, address, outgoing, toLimited: connection)) == true else {
            return nil
        }
        return document.read { bytes in try? EncodedDocument(bytes).vector().hash }
    }
}
