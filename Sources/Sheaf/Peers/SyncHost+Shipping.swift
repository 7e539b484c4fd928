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
        // It is changed where it is.
        link.telling?.outgoing = nil
        var rest = outgoing
        let isDone: Bool
        // What was told until then is a step by itself, if there is more.
        let isCut = outgoing.length > lengths.step
        link.session.beginCommit(outgoing.snapshot.log.commit, stamp: nil, isCut: isCut)
        switch outgoing.documents {
        case .keys(let keys, let next):
            let end = try send(keys, from: next, of: outgoing, on: link, &rest.length)
            rest.documents = .keys(keys, next: end)
            isDone = end == keys.count
        case .all(var collections, var key):
            try sendMatches(
                &collections, from: &key, of: outgoing.snapshot, on: link, &rest.length)
            rest.documents = .all(collections: collections, from: key)
            isDone = collections.isEmpty
        }
        link.session.endCommit(isContinued: !isDone && !isCut)
        if isCut {
            rest.length = 0
            link.telling?.outgoing = rest
        } else if isDone {
            link.telling?.sent = outgoing.snapshot.log.commit
            link.telling?.echoDue = nil
            noteSent(outgoing, on: link)
        } else {
            link.telling?.outgoing = rest
        }
    }

    /// Sends documents until there are enough for a part; returns the place of the next one.
    private func send(
        _ keys: [[UInt8]], from first: Int, of outgoing: Outgoing, on link: Link,
        _ total: inout Int
    ) throws(EngineError) -> Int {
        guard let telling = link.telling else { return keys.count }
        var next = first
        var length = 0
        defer { total += length }
        while next < keys.count, length < lengths.part {
            defer { next += 1 }
            guard let document = try shipped(keys[next], outgoing, telling, link) else { continue }
            length += document.bytes.count + document.id.count
            try add(document, outgoing.snapshot.names, to: link)
        }
        return next
    }

    /// The same with all documents that match.
    private func sendMatches(
        _ collections: inout ArraySlice<String>, from first: inout [UInt8]?,
        of snapshot: DocumentSnapshot, on link: Link, _ total: inout Int
    ) throws(EngineError) {
        guard let matcher = link.telling?.matcher else { return }
        let isFree = link.readable == nil && link.sendable == nil
        prepareNames(snapshot.names, on: link)
        let rankings = try matcher.rankings(
            in: snapshot, where: rankFilter(link, in: snapshot, isOwn: false))
        var length = 0
        defer { total += length }
        while let collection = collections.first {
            guard isShared(collection, on: link) else {
                collections.removeFirst()
                continue
            }
            var next: [UInt8]?
            try snapshot.forEachMatch(matcher, rankings, in: collection, from: first ?? []) {
                (key, document) throws(EngineError) in
                guard length < lengths.part else {
                    next = key
                    return false
                }
                let id = key[StoreKey.documentPrefixLength...]
                if !isFree {
                    let address = DocumentAddress(collection: collection, id: Array(id))
                    guard try maySend(link, document, before: nil, key, address, snapshot) else {
                        return true
                    }
                }
                let bytes = try onDocument(key) { () throws(Malformed) in
                    try document.read { (bytes) throws(Malformed) in
                        try spoken(try EncodedDocument(bytes), on: link)
                    }
                }
                length += id.count + bytes.count
                add(collection, id: id, .state, bytes, to: link)
                return true
            }
            first = next
            if next != nil { return }
            collections.removeFirst()
        }
    }

    /// Sends a commit by itself.
    func ship(
        _ documents: [ShippedDocument], of commit: CommitID, stamp: Stamp?, on link: Link
    ) throws(EngineError) {
        link.session.beginCommit(commit, stamp: stamp)
        for document in documents { try add(document, news.snapshot.names, to: link) }
        link.session.endCommit()
    }

    /// Adds a document that is in the numbers of the store.
    private func add(
        _ document: ShippedDocument, _ names: NameTable, to link: Link
    ) throws(EngineError) {
        prepareNames(names, on: link)
        let bytes = try onDocument(document.id) { () throws(Malformed) in
            try document.bytes.span.withUnsafeBytes { (bytes) throws(Malformed) in
                try spoken(try EncodedDocument(bytes), on: link)
            }
        }
        add(document.collection, id: document.id[...], document.form, bytes, to: link)
    }

    private func add(
        _ collection: String, id: ArraySlice<UInt8>, _ form: ShippedDocument.Form, _ bytes: [UInt8],
        to link: Link
    ) {
        statistics.documentsSent += 1
        id.withUnsafeBytes { id in
            bytes.withUnsafeBytes { link.session.add(collection, id: id, form, $0) }
        }
    }

    // MARK: Names

    private func prepareNames(_ names: NameTable, on link: Link) {
        link.spoken.update(from: names, to: link.spoken.target)
    }

    /// A document in the numbers of the connection, without what it was written on.
    private func spoken(
        _ document: EncodedDocument, on link: Link
    ) throws(Malformed) -> [UInt8] {
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
