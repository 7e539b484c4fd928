import SheafBytes
import SheafDocument
import SheafStorage
package import SheafSync

/// What peers are sent of a state.
extension DocumentSnapshot {
    /// All documents that match, and their versions.
    ///
    /// Rankings are those of this state, where somebody has them already.
    func versions(
        matching matcher: SubscriptionMatcher, _ rankings: SubscriptionRankings? = nil
    ) throws(EngineError) -> VersionList {
        try versions(matching: matcher, rankings) { (_, _, _) throws(EngineError) in true }
    }

    /// All documents that match, and may be shown, and their versions: what two peers compare.
    func versions(
        matching matcher: SubscriptionMatcher, _ rankings: SubscriptionRankings? = nil,
        where isShown: (StoredDocument, [UInt8], DocumentAddress) throws(EngineError) -> Bool
    ) throws(EngineError) -> VersionList {
        var listing = VersionListing()
        var scan = MatchScan(versionsIn: self, matcher)
        let ranked = try known(rankings, matcher)
        try scan.run(matcher, ranked) { (key, document, collection) throws(EngineError) in
            try listing.add(document, key, collection, where: isShown)
        }
        return listing.list
    }

    /// The newest commit that has touched a document; nil where none is known.
    func newestCommit(of key: [UInt8]) throws(EngineError) -> CommitID? {
        var history = key.span.withUnsafeBytes { log.history(of: $0) }
        return try onStorage { () throws(StorageError) in try history.next()?.commit }
    }

    /// Whether the addresses of one collection come before those of another.
    static func addressesPrecede(_ left: String, _ right: String) -> Bool {
        DocumentAddress(collection: left, id: []).bytes
            .lexicographicallyPrecedes(DocumentAddress(collection: right, id: []).bytes)
    }

    /// The keys of all documents that match.
    func keys(
        matching matcher: SubscriptionMatcher, _ rankings: SubscriptionRankings? = nil
    ) throws(EngineError) -> [[UInt8]] {
        var keys: [[UInt8]] = []
        var scan = MatchScan(self, matcher.collections)
        try scan.run(matcher, try known(rankings, matcher)) { key, _, _ in keys.append(key) }
        return keys
    }

    private func known(
        _ rankings: SubscriptionRankings?, _ matcher: SubscriptionMatcher
    ) throws(EngineError) -> SubscriptionRankings {
        if let rankings { return rankings }
        return try matcher.rankings(in: self, where: nil)
    }

    /// Visits the documents that match until `body` returns false; returns whether it has reached the end.
    ///
    /// `position` is the key from which to start, and, where the visit stops or evaluation pauses, the key of
    /// the document that comes next.
    func forEachMatch(
        _ matcher: SubscriptionMatcher, _ rankings: SubscriptionRankings, in collection: String,
        from position: inout [UInt8]?,
        _ body: ([UInt8], StoredDocument) throws(EngineError) -> Bool
    ) throws(EngineError) -> Bool {
        guard let number = directory.number(ofCollection: collection) else { return true }
        let ranked = rankings.ids(in: collection)
        let first = position ?? []
        guard matcher.asksPlainly(for: collection) else {
            for id in ranked.sorted(by: { $0.lexicographicallyPrecedes($1) }) {
                let key = StoreKey.document(collection: number, id: id).bytes
                guard !key.lexicographicallyPrecedes(first), let document = try document(key)
                else { continue }
                position = key
                try matcher.visit()
                guard try body(key, document) else { return false }
            }
            return true
        }
        var isWhole = true
        try forEachDocument(of: collection, from: first) { (key, document) throws(EngineError) in
            position = key
            try matcher.visit()
            guard
                try matcher.matches(document, key: key, in: collection, names)
                    || (!ranked.isEmpty
                        && ranked.contains(Array(key[StoreKey.documentPrefixLength...])))
            else { return true }
            isWhole = try body(key, document)
            return isWhole
        }
        return isWhole
    }

    /// Visits the documents of a collection in the order of their keys, until `body` returns false.
    func forEachDocument(
        of collection: String, from first: [UInt8] = [],
        _ body: ([UInt8], StoredDocument) throws(EngineError) -> Bool
    ) throws(EngineError) {
        guard let number = directory.number(ofCollection: collection) else { return }
        let range = StoreKey.documents(of: number).intersection(KeyRange(from: first))
        try log.forEachPlaces(in: range, .ascending) {
            (places) throws(EngineError) in
            for place in places {
                let operations = try onStorage { () throws(StorageError) in
                    try log.operations(at: place)
                }
                guard let newest = operations.first else { continue }
                let key = Array(newest.operation.key)
                var shown = shadows[key]
                if shown == nil { shown = try document(of: operations, key) }
                guard let document = shown else { continue }
                guard try body(key, document) else { return false }
            }
            return true
        }
    }

    private func document(
        of operations: [LoggedOperation], _ key: [UInt8]
    ) throws(EngineError) -> StoredDocument? {
        do throws(Malformed) { return try StoredDocument(operations, in: log, names) } catch {
            throw damaged(key, error, at: operations.first?.position)
        }
    }

    // MARK: What is sent

    /// The key of a document that a peer has named; none where nobody has written to its collection.
    func key(of address: DocumentAddress) -> [UInt8]? {
        guard let number = directory.number(ofCollection: address.collection) else { return nil }
        return StoreKey.document(collection: number, id: address.id).bytes
    }

    /// The collection and the id of a document.
    func address(of key: [UInt8]) -> DocumentAddress? {
        guard
            let number = key.span.withUnsafeBytes({ StoreKey.collection(ofDocument: $0) }),
            let name = directory.collectionName(number)
        else { return nil }
        return DocumentAddress(
            collection: name, id: Array(key[StoreKey.documentPrefixLength...]))
    }

    /// All of a document, in the numbers of the store.
    func whole(
        _ document: StoredDocument, _ key: [UInt8], _ address: DocumentAddress
    ) -> ShippedDocument {
        ShippedDocument(
            collection: address.collection, id: address.id, .state, document.bytes)
    }

    /// What was touched of a document, in the numbers of the store.
    private func delta(
        _ bytes: [UInt8], _ key: [UInt8], _ address: DocumentAddress
    ) -> ShippedDocument {
        ShippedDocument(collection: address.collection, id: address.id, .delta, bytes)
    }

    /// What has changed in a document since a commit that the peer has; all of it where that is not known,
    /// or it is asked for; nothing where it was taken away.
    func changes(
        of key: [UInt8], _ address: DocumentAddress, since commit: CommitID, isWhole: Bool
    ) throws(EngineError) -> ShippedDocument? {
        guard let document = try document(key) else { return nil }
        if isWhole { return whole(document, key, address) }
        switch try changes(of: key, since: commit) {
        case .nothing, .removed: return nil
        case .delta(let bytes): return delta(bytes, key, address)
        case .state: return whole(document, key, address)
        }
    }

    /// The commits behind one that have written a document before the last one did, the newest first; none
    /// where these are more than so many.
    func commits(
        of key: [UInt8], since commit: CommitID, most: Int
    ) throws(EngineError) -> [CommitID]? {
        var history = key.span.withUnsafeBytes { log.history(of: $0) }
        var found: [CommitID] = []
        var isLast = true
        while let logged = try onStorage({ () throws(StorageError) in try history.next() }),
            logged.commit > commit
        {
            defer { isLast = false }
            guard !isLast else { continue }
            guard found.count < most else { return nil }
            found.append(logged.commit)
        }
        return found
    }

    /// A document as it was after a commit that has written it, and what that commit has touched of it.
    struct Written {
        let document: StoredDocument
        /// None where the whole document was touched.
        fileprivate let touched: [UInt8]?
    }

    /// What one commit has made of a document; nothing where it was taken away, and where that is not
    /// known any more, since compaction has folded it away.
    func written(
        _ key: [UInt8], by commit: CommitID
    ) throws(EngineError) -> (isKnown: Bool, Written?) {
        var history = key.span.withUnsafeBytes { log.history(of: $0) }
        var isNewest = true
        while let found = try onStorage({ () throws(StorageError) in try history.next() }) {
            guard found.commit <= commit else {
                isNewest = false
                continue
            }
            guard found.commit == commit else { return (false, nil) }
            guard found.operation.kind != .remove else { return (true, nil) }
            let after: StoredDocument?
            if isNewest {
                after = try document(key)
            } else {
                guard let past = try document(key, asOf: commit) else { return (false, nil) }
                after = past
            }
            guard let after, !after.isRemnant else { return (true, nil) }
            let touched = try touched(by: found, after, key)
            return (true, Written(document: after, touched: touched))
        }
        return (false, nil)
    }

    private func touched(
        by logged: LoggedOperation, _ after: StoredDocument, _ key: [UInt8]
    ) throws(EngineError) -> [UInt8]? {
        try onDocument(key) { () throws(Malformed) in
            let payload = try DocumentPayload(logged.operation.payload)
            if let delta = payload.delta { return Array(delta.bytes) }
            let base = try payload.baseVector()
            guard !payload.isWhole, !base.entries.isEmpty else { return nil }
            return try after.read { (bytes) throws(Malformed) in
                try Changes.extract(
                    from: try EncodedDocument(bytes), since: base, touched: [], names)
            }
        }
    }

    /// What one commit has touched of a document; all of it where that is asked for.
    func shipped(
        _ written: Written, _ key: [UInt8], _ address: DocumentAddress, isWhole: Bool
    ) throws(EngineError) -> ShippedDocument {
        guard !isWhole, let touched = written.touched else {
            return whole(written.document, key, address)
        }
        return delta(touched, key, address)
    }
}

extension DocumentSnapshot {
    /// All documents that match, as everybody has them who has seen the same.
    package func spelledContents(
        matching matcher: SubscriptionMatcher
    ) throws(EngineError) -> [DocumentAddress: [UInt8]] {
        var found: [DocumentAddress: [UInt8]] = [:]
        for key in try keys(matching: matcher) {
            guard let address = address(of: key), let document = try document(key) else { continue }
            found[address] = try onDocument(key) { () throws(Malformed) in
                try document.read { (bytes) throws(Malformed) in
                    try EncodedDocument(bytes).spelled(names)
                }
            }
        }
        return found
    }
}

extension EncodedDocument {
    /// Returns the document with all names spelled and without a base: the bytes depend on what it is, and not
    /// on the store that has it.
    func spelled(_ names: NameTable) throws(Malformed) -> [UInt8] {
        let plain = try settingBase(nil)
        let spelled = try plain.span.withUnsafeBytes { (bytes) throws(Malformed) in
            try EncodedDocument(bytes).renamed(from: names, to: NameTable())
        }
        // A join copies what it finds as it is spelled: joined with itself, all are spelled alike.
        return try spelled.span.withUnsafeBytes { (bytes) throws(Malformed) in
            let document = try EncodedDocument(bytes)
            do throws(JoinError) {
                return try Join.join(document, document, NameTable())
            } catch {
                throw .invalid("a document that cannot be joined with itself", at: 0)
            }
        }
    }
}
