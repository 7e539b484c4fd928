import SheafBytes
import SheafDocument
import SheafStorage
import SheafSync

/// Documents on their way out: long steps part by part, and all in the numbers that names have on the
/// connection.
extension SyncHost {
    /// Sends some documents of a long step.
    func sendPart(_ link: Link) throws(EngineError) {
        guard let outgoing = link.telling?.outgoing else { return }
        reportPauses(on: link)
        // It is changed where it is.
        link.telling?.outgoing = nil
        var rest = outgoing
        let isDone: Bool
        // What was told until then is a step by itself, if there is more.
        let unfinished = link.isLimited ? link.telling?.limited.partLength ?? 0 : 0
        let isCut = outgoing.length - unfinished > lengths.step
        let number = outgoing.number ?? outgoing.snapshot.log.commit
        if !link.isLimited { link.session.beginCommit(number, stamp: nil, isCut: isCut) }
        switch outgoing.documents {
        case .keys(let keys, let next):
            let end = try send(
                keys, from: next, of: outgoing, on: link, &rest.length, &rest.newest)
            rest.documents = .keys(keys, next: end)
            isDone = end == keys.count
        case .all(var collections, var key):
            try sendMatches(
                &collections, from: &key, of: outgoing.snapshot, on: link, &rest.length,
                &rest.newest)
            rest.documents = .all(collections: collections, from: key)
            isDone = collections.isEmpty
        }
        if link.isLimited {
            // The end of a turn of the loop depends on all peers; the end of a part must not.
            guard isDone || link.telling?.limited.partLength ?? 0 >= lengths.part else {
                link.telling?.outgoing = rest
                return
            }
            link.session.beginCommit(number, stamp: nil, isCut: isCut)
            for document in link.telling?.limited.takePart() ?? [] {
                addToSegment(
                    document.collection, id: document.id[...], document.form, document.bytes,
                    document.unproven, to: link)
            }
        }
        link.session.endCommit(isContinued: !isCut && (!isDone || outgoing.isPart))
        if isDone, outgoing.isPart {
            link.telling?.newest = rest.newest
            link.session.endPart(number)
        } else if isCut {
            rest.length = 0
            link.telling?.outgoing = rest
        } else if isDone {
            link.telling?.sent = outgoing.snapshot.log.commit
            link.telling?.echoDue = nil
            noteSent(outgoing, on: link)
            try noteDelivery(of: rest, on: link)
        } else {
            link.telling?.outgoing = rest
        }
    }

    /// Sends documents until there are enough for a part; returns the place of the next one.
    private func send(
        _ keys: [[UInt8]], from first: Int, of outgoing: Outgoing, on link: Link,
        _ total: inout Int, _ newest: inout NewestDocument
    ) throws(EngineError) -> Int {
        guard let telling = link.telling else { return keys.count }
        var next = first
        let known = link.telling?.limited.partLength ?? 0
        var length = known
        defer { total += length - known }
        while next < keys.count, length < lengths.part {
            let document: ShippedDocument?
            do throws(EngineError) {
                try telling.matcher.visit()
                document = try shipped(keys[next], outgoing, telling, link)
            } catch {
                // The rest follows in a later part.
                guard error == .paused else { throw error }
                return next
            }
            next += 1
            guard let document else { continue }
            length += document.id.count
            newest.note(keys[next - 1], in: outgoing.snapshot)
            let commit = outgoing.snapshot.log.commit
            noteSentAgain(
                document.collection, document.id[...],
                with: outgoing.isRepeated ? commit + 1 : commit, on: link)
            length += try add(document, outgoing.snapshot, to: link)
        }
        return next
    }

    /// The same with all documents that match.
    private func sendMatches(
        _ collections: inout ArraySlice<String>, from first: inout [UInt8]?,
        of snapshot: DocumentSnapshot, on link: Link, _ total: inout Int,
        _ newest: inout NewestDocument
    ) throws(EngineError) {
        guard let matcher = link.telling?.matcher else { return }
        let isFree = link.readable == nil && link.sendable == nil
        prepareNames(snapshot.names, on: link)
        // A subscription with a LIMIT is sent by its keys.
        let rankings = SubscriptionRankings()
        let known = link.telling?.limited.partLength ?? 0
        var length = known
        defer { total += length - known }
        while let collection = collections.first {
            guard isShared(collection, on: link) else {
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
                        guard try maySend(link, document, before: nil, key, address, snapshot)
                        else {
                            return true
                        }
                    }
                    let bytes = try onDocument(key) { () throws(Malformed) in
                        try document.read { (bytes) throws(Malformed) in
                            try spoken(try EncodedDocument(bytes), on: link)
                        }
                    }
                    length += id.count + bytes.count
                    newest.note(key, in: snapshot)
                    noteSentAgain(collection, id, with: snapshot.log.commit, on: link)
                    let unproven = try document.read { (bytes) throws(EngineError) in
                        try unprovenTokens(in: bytes, of: key, snapshot)
                    }
                    add(collection, id: id, .state, bytes, unproven, to: link)
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

    /// Sends a commit by itself.
    func ship(
        _ documents: [ShippedDocument], of commit: CommitID, stamp: Stamp?, on link: Link
    ) throws(EngineError) {
        reportPauses(on: link)
        link.session.beginCommit(commit, stamp: stamp)
        for document in documents {
            noteSentAgain(document.collection, document.id[...], with: commit, on: link)
            _ = try add(document, news.snapshot, to: link)
        }
        link.session.endCommit()
    }

    /// Adds a document that is in the numbers of the store; returns the length that it has on the connection.
    private func add(
        _ document: ShippedDocument, _ snapshot: DocumentSnapshot, to link: Link
    ) throws(EngineError) -> Int {
        prepareNames(snapshot.names, on: link)
        let address = DocumentAddress(collection: document.collection, id: document.id)
        var unproven: [[UInt8]] = []
        if let key = snapshot.key(of: address) {
            unproven = try document.bytes.span.withUnsafeBytes { (bytes) throws(EngineError) in
                try unprovenTokens(in: bytes, of: key, snapshot)
            }
        }
        let bytes = try onDocument(document.id) { () throws(Malformed) in
            try document.bytes.span.withUnsafeBytes { (bytes) throws(Malformed) in
                try spoken(try EncodedDocument(bytes), on: link)
            }
        }
        add(document.collection, id: document.id[...], document.form, bytes, unproven, to: link)
        return bytes.count
    }

    /// Returns the ids of the attachments whose tokens are unproven in what is sent of a document, in their order.
    ///
    /// What is sent may be older than the snapshot. A token that the document does not have any more counts
    /// as unproven: nothing is known of it.
    private func unprovenTokens(
        in bytes: UnsafeRawBufferPointer, of key: [UInt8], _ snapshot: DocumentSnapshot
    ) throws(EngineError) -> [[UInt8]] {
        guard queries.documents.mayHaveUnprovenTokens else { return [] }
        let named = try onDocument(key) { () throws(Malformed) in
            try EncodedDocument(bytes).attachments(snapshot.names)
        }
        guard !named.isEmpty else { return [] }
        let current = try snapshot.attachments(namedBy: key)
        let proven = snapshot.proven(named.intersection(current), inDocument: key)
        let unproven = named.subtracting(proven)
        guard unproven.count <= SyncLimits.unprovenTokens else {
            return [UnprovenTokens.everyAttachment]
        }
        return unproven.map(\.bytes).sorted { $0.lexicographicallyPrecedes($1) }
    }

    private func add(
        _ collection: String, id: ArraySlice<UInt8>, _ form: ShippedDocument.Form, _ bytes: [UInt8],
        _ unproven: [[UInt8]], to link: Link
    ) {
        guard link.isLimited else {
            return addToSegment(collection, id: id, form, bytes, unproven, to: link)
        }
        link.telling?.limited.add(
            ShippedDocument(
                collection: collection, id: Array(id), form, bytes, unproven: unproven))
    }

    private func addToSegment(
        _ collection: String, id: ArraySlice<UInt8>, _ form: ShippedDocument.Form, _ bytes: [UInt8],
        _ unproven: [[UInt8]], to link: Link
    ) {
        statistics.documentsSent += 1
        link.refusableCount += 1
        id.withUnsafeBytes { id in
            bytes.withUnsafeBytes {
                link.session.add(collection, id: id, form, $0, unproven: unproven)
            }
        }
    }

    // MARK: Names

    private func prepareNames(_ names: NameTable, on link: Link) {
        link.spoken.update(from: names, to: link.spoken.target)
    }

    /// Returns a document as a peer with limited rights is sent it.
    ///
    /// Which names have numbers in the store depends on all documents. So the connection numbers the names of
    /// what is sent on it: each with the second document that has it, since many come in one alone.
    private func spokenToLimited(
        _ document: EncodedDocument, on link: Link
    ) throws(Malformed) -> [UInt8] {
        let spelled = try document.spelled(link.spoken.source)
        return try spelled.span.withUnsafeBytes { (bytes) throws(Malformed) in
            let document = try EncodedDocument(bytes)
            var names: [[UInt8]] = []
            try document.forEachSpelledName { names.append(Array($0)) }
            var known = link.spoken.target
            for name in names where known.number(of: name) == nil {
                guard name.count <= NameTable.maximumNameLength else { continue }
                guard link.metNames.remove(name) != nil else {
                    if link.metNames.count < SyncLimits.names { link.metNames.insert(name) }
                    continue
                }
                guard link.session.teach(name) else { break }
                _ = known.add(name)
            }
            link.spoken.update(from: link.spoken.source, to: known)
            return try document.renamed(from: NameTable(), to: known)
        }
    }

    /// A document in the numbers of the connection, without what it was written on.
    private func spoken(
        _ document: EncodedDocument, on link: Link
    ) throws(Malformed) -> [UInt8] {
        guard !link.isLimited else { return try spokenToLimited(document, on: link) }
        guard document.hasBase, !document.isPartial else {
            return try renumbered(document, on: link)
        }
        let plain = try document.settingBase(nil)
        return try plain.span.withUnsafeBytes { (bytes) throws(Malformed) in
            try renumbered(try EncodedDocument(bytes), on: link)
        }
    }

    private func renumbered(
        _ document: EncodedDocument, on link: Link
    ) throws(Malformed) -> [UInt8] {
        if let bytes = try link.spoken.translateAll(document).bytes { return bytes }
        var known = link.spoken.target
        for name in try link.spoken.unknownNames(of: document) {
            guard link.session.teach(name) else { break }
            _ = known.add(name)
        }
        link.spoken.update(from: link.spoken.source, to: known)
        return try link.spoken.translate(document).bytes ?? []
    }
}
