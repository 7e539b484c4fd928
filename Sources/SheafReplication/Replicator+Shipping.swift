import SheafBytes
import SheafDocument
import SheafEngine
import SheafStatements
import SheafStorage
import SheafSync

/// Encoding of sent documents: long batches in parts, with the name numbers of the connection.
extension Replicator {
    /// Sends the next part of a long batch.
    func sendPart(_ connection: Connection) throws(EngineError) {
        guard let outgoing = connection.sender?.outgoing else { return }
        reportPauses(on: connection)
        // The value is moved out of the struct, so that changes do not copy it.
        connection.sender?.outgoing = nil
        var rest = outgoing
        let isDone: Bool
        // Beyond the limit, the documents already sent become a separate batch.
        let unfinished = connection.isLimited ? connection.sender?.limited.partLength ?? 0 : 0
        let isCut = outgoing.length - unfinished > lengths.step
        let number = outgoing.number ?? outgoing.snapshot.log.commit
        if !connection.isLimited {
            connection.session.beginCommit(number, stamp: nil, isCut: isCut)
        }
        switch outgoing.documents {
        case .keys(let keys, let next):
            let end = try send(
                keys, from: next, of: outgoing, on: connection, &rest.length, &rest.newestDocument)
            rest.documents = .keys(keys, next: end)
            isDone = end == keys.count
        case .all(var collections, var key):
            try sendMatches(
                &collections, from: &key, of: outgoing.snapshot, on: connection, &rest.length,
                &rest.newestDocument)
            rest.documents = .all(collections: collections, from: key)
            isDone = collections.isEmpty
        }
        if connection.isLimited {
            // The end of an iteration depends on all peers; the end of a part must not.
            guard isDone || connection.sender?.limited.partLength ?? 0 >= lengths.part else {
                connection.sender?.outgoing = rest
                return
            }
            connection.session.beginCommit(number, stamp: nil, isCut: isCut)
            for document in connection.sender?.limited.removePart() ?? [] {
                connection.exchange.add(
                    document.collection, id: document.id[...], document.form, document.bytes,
                    document.unproven)
            }
        }
        connection.session.endCommit(isContinued: !isCut && (!isDone || outgoing.isPart))
        if isDone, outgoing.isPart {
            connection.sender?.newestDocument = rest.newestDocument
            connection.session.endPart(number)
        } else if isCut {
            rest.length = 0
            connection.sender?.outgoing = rest
        } else if isDone {
            connection.sender?.sent = outgoing.snapshot.log.commit
            connection.sender?.echoDue = nil
            recordSent(outgoing, on: connection)
            try connection.sender?.recordDelivery(of: rest)
        } else {
            connection.sender?.outgoing = rest
        }
    }

    /// Sends documents until a part is full; returns the index of the next one.
    private func send(
        _ keys: [[UInt8]], from first: Int, of outgoing: Outgoing, on connection: Connection,
        _ total: inout Int, _ newest: inout NewestDocument
    ) throws(EngineError) -> Int {
        guard let sender = connection.sender else { return keys.count }
        var next = first
        let known = connection.sender?.limited.partLength ?? 0
        var length = known
        defer { total += length - known }
        while next < keys.count, length < lengths.part {
            let document: ShippedDocument?
            do throws(EngineError) {
                try sender.matcher.visit()
                document = try shipped(keys[next], outgoing, sender, connection)
            } catch {
                // The remaining documents follow in a later part.
                guard error == .paused else { throw error }
                return next
            }
            next += 1
            guard let document else { continue }
            length += document.id.count
            newest.update(keys[next - 1], in: outgoing.snapshot)
            let commit = outgoing.snapshot.log.commit
            recordSentAgain(
                document.collection, document.id[...],
                with: outgoing.isRepeated ? commit + 1 : commit, on: connection)
            length += try add(document, outgoing.snapshot, to: connection)
        }
        return next
    }

    /// Sends matching documents of all collections until a part is full.
    private func sendMatches(
        _ collections: inout ArraySlice<String>, from first: inout [UInt8]?,
        of snapshot: DocumentSnapshot, on connection: Connection, _ total: inout Int,
        _ newest: inout NewestDocument
    ) throws(EngineError) {
        guard let matcher = connection.sender?.matcher else { return }
        let isFree = connection.access.readable == nil && connection.access.sendable == nil
        connection.exchange.prepareNames(snapshot.names)
        // Subscriptions with a LIMIT are sent by keys instead.
        let rankings = SubscriptionRankings()
        let known = connection.sender?.limited.partLength ?? 0
        var length = known
        defer { total += length - known }
        while let collection = collections.first {
            guard connection.access.isShared(collection) else {
                collections.removeFirst()
                continue
            }
            let isWhole: Bool
            do throws(EngineError) {
                isWhole = try snapshot.forEachMatch(
                    matcher, rankings, in: collection, from: &first
                ) { (key, document) throws(EngineError) in
                    guard length < lengths.part else { return false }
                    let id = key[StoreKey.documentPrefixLength...]
                    if !isFree {
                        let address = DocumentAddress(collection: collection, id: Array(id))
                        guard
                            try connection.access.maySend(
                                document, before: nil, key, address, snapshot.names)
                        else {
                            return true
                        }
                    }
                    let bytes = try onDocument(key) { () throws(Malformed) in
                        try document.read { (bytes) throws(Malformed) in
                            try connection.exchange.encoded(try EncodedDocument(bytes))
                        }
                    }
                    length += id.count + bytes.count
                    newest.update(key, in: snapshot)
                    recordSentAgain(collection, id, with: snapshot.log.commit, on: connection)
                    let unproven = try document.read { (bytes) throws(EngineError) in
                        try unprovenTokens(in: bytes, of: key, snapshot)
                    }
                    add(collection, id: id, .state, bytes, unproven, to: connection)
                    return true
                }
            } catch {
                guard error == .paused else { throw error }
                return
            }
            guard isWhole else { return }
            first = nil
            collections.removeFirst()
        }
    }

    /// Sends one commit as a batch.
    func ship(
        _ documents: [ShippedDocument], of commit: CommitID, stamp: Stamp?,
        on connection: Connection
    ) throws(EngineError) {
        reportPauses(on: connection)
        connection.session.beginCommit(commit, stamp: stamp)
        for document in documents {
            recordSentAgain(document.collection, document.id[...], with: commit, on: connection)
            _ = try add(document, news.snapshot, to: connection)
        }
        connection.session.endCommit()
    }

    /// Adds a document with the name numbers of the store; returns its length on the connection.
    private func add(
        _ document: ShippedDocument, _ snapshot: DocumentSnapshot, to connection: Connection
    ) throws(EngineError) -> Int {
        connection.exchange.prepareNames(snapshot.names)
        let address = DocumentAddress(collection: document.collection, id: document.id)
        var unproven: [[UInt8]] = []
        if let key = snapshot.key(of: address) {
            unproven = try document.bytes.span.withUnsafeBytes { (bytes) throws(EngineError) in
                try unprovenTokens(in: bytes, of: key, snapshot)
            }
        }
        let bytes = try onDocument(document.id) { () throws(Malformed) in
            try document.bytes.span.withUnsafeBytes { (bytes) throws(Malformed) in
                try connection.exchange.encoded(try EncodedDocument(bytes))
            }
        }
        add(
            document.collection, id: document.id[...], document.form, bytes, unproven,
            to: connection)
        return bytes.count
    }

    /// Returns the IDs of attachments whose tokens in a sent document are unproven, sorted.
    ///
    /// The sent version may be older than the snapshot. A token that the snapshot's version does
    /// not have counts as unproven. Beyond the maximum, the only ID stands for all attachments.
    private func unprovenTokens(
        in bytes: UnsafeRawBufferPointer, of key: [UInt8], _ snapshot: DocumentSnapshot
    ) throws(EngineError) -> [[UInt8]] {
        guard queries.documents.mayHaveUnprovenTokens else { return [] }
        let named = try onDocument(key) { () throws(Malformed) in
            try EncodedDocument(bytes).attachments(snapshot.names)
        }
        guard !named.isEmpty else { return [] }
        let current = try snapshot.attachments(referencedBy: key)
        let proven = snapshot.proven(named.intersection(current), inDocument: key)
        let unproven = named.subtracting(proven)
        guard unproven.count <= SyncLimits.unprovenTokens else {
            return [UnprovenTokens.allAttachments]
        }
        return unproven.map(\.bytes).sorted { $0.lexicographicallyPrecedes($1) }
    }

    private func add(
        _ collection: String, id: ArraySlice<UInt8>, _ form: ShippedDocument.Form, _ bytes: [UInt8],
        _ unproven: [[UInt8]], to connection: Connection
    ) {
        guard connection.isLimited else {
            return connection.exchange.add(collection, id: id, form, bytes, unproven)
        }
        connection.sender?.limited.add(
            ShippedDocument(
                collection: collection, id: Array(id), form, bytes, unproven: unproven))
    }
}
