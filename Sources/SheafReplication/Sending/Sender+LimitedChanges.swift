import SheafBytes
import SheafDocument
import SheafEngine
import SheafQuery
import SheafStorage
import SheafSync

/// Changed documents and read repairs for peers with limited rights, and the evaluation of their
/// queries.
extension Sender {
    // MARK: Changes

    /// Collects the changed documents that the peer may read; its queries are evaluated later.
    mutating func collect(
        _ changes: [ChangedDocument], _ context: PeerContext, on exchange: inout DocumentExchange
    ) throws(EngineError) {
        guard isStreaming || compared != nil || preparation != nil else { return }
        let snapshot = context.shown(context.snapshot)
        for change in changes {
            let isShadowed = snapshot.shadows[change.key] != nil
            guard let address = snapshot.address(of: change.key),
                matcher.selects(for: address.collection),
                isShadowed || change.shadowCommit == nil
            else { continue }
            let isFromPeer =
                change.commit.map { self.isFromPeer($0, context) }
                ?? change.shadowCommit.map { $0 > remoteCommit } ?? false
            guard !isFromPeer || matcher.isRanked else { continue }
            var before = change.before
            if let document = before, try !context.maySelect(document, change.key, address) {
                before = nil
            }
            // The peer sees its shadow of a hidden document, and only its own writes change the
            // shadow.
            if before == nil, isShadowed, change.shadowCommit == nil { continue }
            if before == nil {
                guard let document = try snapshot.document(change.key),
                    try context.maySelect(document, change.key, address)
                else { continue }
            }
            limited.changes.add(
                LimitedChanges.Incoming(
                    key: change.key, address: address, before: before, isFromPeer: isFromPeer,
                    beforeLength: try before?.spelledLength(change.key, snapshot.names) ?? 0))
            guard limited.changes.count <= context.limits.limitedChanges,
                limited.changeLength <= context.limits.limitedChangeBytes
            else {
                limited.discardChanges()
                return reconcile(on: &exchange)
            }
        }
        limited.isJudging = limited.changes.first != nil
    }

    /// Evaluates the queries of a peer on changed documents, until the slice is used up.
    ///
    /// Evaluation does not wait for credit: until it is done, former states of the documents are
    /// kept.
    mutating func judgeChanges(
        _ context: PeerContext, on exchange: inout DocumentExchange
    ) throws(EngineError) {
        guard limited.isJudging, exchange.session.isOpen else { return }
        limited.isJudging = false
        do throws(EngineError) {
            try judgeIncoming(context)
            if isStreaming { try judgeRepairs(context, on: &exchange) }
        } catch {
            guard error == .paused else { throw error }
            limited.isJudging = true
        }
    }

    /// Evaluates queries on changed documents; throws `.paused` if the slice is used up.
    mutating func judgeIncoming(_ context: PeerContext) throws(EngineError) {
        guard limited.changes.first != nil else { return }
        let snapshot = context.shown(context.snapshot)
        while let change = limited.changes.first {
            try matcher.visit()
            try judge(change, snapshot)
            limited.changes.removeFirst()
        }
    }

    private mutating func judge(
        _ change: LimitedChanges.Incoming, _ snapshot: DocumentSnapshot
    ) throws(EngineError) {
        let collection = change.address.collection
        let known = limited.changes.changed[change.key]
        var entry = known ?? LimitedChanges.Change()
        let hasLimit = matcher.hasLimit(in: collection)
        if try matcher.matches(
            change.before, key: change.key, in: collection, snapshot.names)
        {
            entry.hasMatched = true
        }
        // With a LIMIT, any state between two batches may have been in the result.
        if hasLimit, known != nil, change.before != nil { entry.hasMatched = true }
        if !entry.hasMatched, !hasLimit {
            let matches = try matcher.matches(
                try snapshot.document(change.key), key: change.key, in: collection,
                snapshot.names)
            guard matches else { return }
        }
        if !change.isFromPeer { entry.isOnlyFromPeer = false }
        limited.changes.set(entry, for: change.key)
    }

    // MARK: Read repair

    /// Queues read repairs of documents of which a limited peer has sent older states.
    ///
    /// Documents are counted per peer, and only those that the peer may read: otherwise a
    /// reconciliation would reveal the number of other documents.
    mutating func repairLimited(
        _ known: [WriteJob.OutdatedDocument], after localCommit: CommitID?,
        _ context: PeerContext, on exchange: inout DocumentExchange
    ) {
        var addresses = Set(limited.repairs.map(\.address))
        for document in known
        where matcher.selects(for: document.address.collection)
            && addresses.insert(document.address).inserted
        {
            limited.repairs.append(
                LimitedSender.Repair(
                    requiredCommit: localCommit ?? 0, address: document.address,
                    before: document.before))
        }
        // The repairs of a peer that grants no credit are never evaluated, so their number is
        // limited.
        guard addresses.count > context.limits.limitedRepairs else { return }
        limited.repairs = []
        reconcile(on: &exchange)
    }

    /// Queues durable read repairs of documents that did not match before.
    ///
    /// Throws `.paused` if the evaluation slice is used up.
    mutating func judgeRepairs(
        _ context: PeerContext, on exchange: inout DocumentExchange
    ) throws(EngineError) {
        guard !limited.repairs.isEmpty, let peer = context.limitedPeer else { return }
        let snapshot = context.snapshot
        let due = limited.repairs.filter { $0.requiredCommit <= snapshot.log.commit }
        limited.repairs.removeAll { $0.requiredCommit <= snapshot.log.commit }
        let shown = context.shown(snapshot)
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
                if error == .paused { limited.repairs += due[index...] }
                throw error
            }
            guard let version = versionToRepair(address, in: shown, context),
                limited.repaired[address] != version
            else { continue }
            if limited.repaired.count >= context.limits.limitedRepairs { limited.repaired = [:] }
            limited.repaired[address] = version
            guard peer.repair(address) else {
                limited.named = []
                return restart(on: &exchange)
            }
            limited.named.insert(address)
        }
    }

    /// Returns a hash of a document's version; nil if the peer may not be sent the document.
    private func versionToRepair(
        _ address: DocumentAddress, in snapshot: DocumentSnapshot, _ context: PeerContext
    ) -> UInt64? {
        let counted = context.access.readMeter.counted
        defer { context.slice.charge(context.access.readMeter.counted - counted) }
        guard let key = snapshot.key(of: address), let document = try? snapshot.document(key),
            !document.isRemnant
        else { return nil }
        let outgoing = Outgoing(snapshot: snapshot, documents: .keys([], next: 0), since: nil)
        guard (try? maySend(document, key, address, outgoing, toLimited: context)) == true else {
            return nil
        }
        return document.read { bytes in try? EncodedDocument(bytes).vector().hash }
    }
}

extension StoredDocument {
    /// Returns the length of the document in bytes with all field names spelled out.
    fileprivate func spelledLength(
        _ key: [UInt8], _ names: NameTable
    ) throws(EngineError) -> Int {
        try onDocument(key) { () throws(Malformed) in
            try read { bytes throws(Malformed) in
                try EncodedDocument(bytes).renamed(from: names, to: NameTable()).count
            }
        }
    }
}
