package import SheafBytes
package import SheafDocument
package import SheafEngine
import SheafQuery
package import SheafStorage
package import SheafSync

/// The parts of a snapshot that replication compares and sends.
extension DocumentSnapshot {
    /// Returns the matching documents and their versions.
    ///
    /// `rankings` are those of this snapshot; if nil, they are computed. If `allAreReadable`, the
    /// list may count tombstones in addition. If a peer may read only some collections, `readable`
    /// names these.
    package func versions(
        matching matcher: SubscriptionMatcher, _ rankings: SubscriptionRankings? = nil,
        readable: [String]? = nil, allAreReadable: Bool
    ) throws(EngineError) -> VersionList {
        var listing = VersionListing(
            self, matcher, of: matcher.collections(in: self, readable: readable),
            allAreReadable: allAreReadable)
        var scan = MatchScan(self, listing.scanned)
        let ranked = try known(rankings, matcher)
        try scan.run(matcher, ranked) { (key, document, collection) throws(EngineError) in
            try listing.add(document, key, collection) { (_, _, _) throws(EngineError) in true }
        }
        return listing.list
    }

    /// Returns the newest commit that changed a document; nil if none is known.
    package func newestCommit(of key: [UInt8]) throws(EngineError) -> CommitID? {
        var history = key.span.withUnsafeBytes { log.history(of: $0) }
        return try onStorage { () throws(StorageError) in try history.next()?.commit }
    }

    /// Returns the keys of the matching documents, by collection in the order of the matcher.
    func keys(
        matching matcher: SubscriptionMatcher, _ rankings: SubscriptionRankings? = nil
    ) throws(EngineError) -> [[UInt8]] {
        var keys: [[UInt8]] = []
        var scan = MatchScan(self, matcher.collections(in: self))
        try scan.run(matcher, try known(rankings, matcher)) { key, _, _ in keys.append(key) }
        return keys
    }

    private func known(
        _ rankings: SubscriptionRankings?, _ matcher: SubscriptionMatcher
    ) throws(EngineError) -> SubscriptionRankings {
        if let rankings { return rankings }
        return try matcher.rankings(in: self, where: nil)
    }

    /// Visits the matching documents until `body` returns false; returns whether all were visited.
    ///
    /// `position` is the key at which to start. If the visit stops or the evaluation pauses, it is
    /// the key at which to continue.
    func forEachMatch(
        _ matcher: SubscriptionMatcher, _ rankings: SubscriptionRankings, in collection: String,
        from position: inout [UInt8]?, to upper: [UInt8]? = nil,
        _ body: ([UInt8], StoredDocument) throws(EngineError) -> Bool
    ) throws(EngineError) -> Bool {
        guard let number = catalog.number(ofCollection: collection) else { return true }
        let ranked = rankings.ids(in: collection)
        let first = position ?? []
        guard matcher.selectsWithoutLimit(for: collection) else {
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
        var isComplete = true
        try forEachDocument(of: collection, from: first, to: upper) {
            (key, document) throws(EngineError) in
            position = key
            try matcher.visit()
            guard
                try matcher.matches(document, key: key, in: collection, names)
                    || (!ranked.isEmpty
                        && ranked.contains(Array(key[StoreKey.documentPrefixLength...])))
            else { return true }
            isComplete = try body(key, document)
            return isComplete
        }
        return isComplete
    }

    /// Visits the documents of a collection in key order, until `body` returns false.
    package func forEachDocument(
        of collection: String, from first: [UInt8] = [], to upper: [UInt8]? = nil,
        _ body: ([UInt8], StoredDocument) throws(EngineError) -> Bool
    ) throws(EngineError) {
        guard let number = catalog.number(ofCollection: collection) else { return }
        let range = StoreKey.documents(of: number).intersection(
            KeyRange(from: first, to: upper))
        try log.forEachPointers(in: range, .ascending) {
            (pointers) throws(EngineError) in
            for pointer in pointers {
                let operations = try onStorage { () throws(StorageError) in
                    try log.operations(at: pointer)
                }
                guard let newest = operations.first else { continue }
                let key = Array(newest.operation.key)
                var visible = shadows[key]
                if visible == nil { visible = try document(of: operations, key) }
                guard let document = visible else { continue }
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

    /// Returns the key of an address; nil if the collection does not exist.
    package func key(of address: DocumentAddress) -> [UInt8]? {
        guard let number = catalog.number(ofCollection: address.collection) else { return nil }
        return StoreKey.document(collection: number, id: address.id).bytes
    }

    /// Returns a document in full, with the field-name numbers of the store.
    package func complete(
        _ document: StoredDocument, _ key: [UInt8], _ address: DocumentAddress
    ) -> ShippedDocument {
        ShippedDocument(
            collection: address.collection, id: address.id, .state, document.bytes)
    }

    /// Returns the touched fields of a document, with the field-name numbers of the store.
    private func delta(
        _ bytes: [UInt8], _ key: [UInt8], _ address: DocumentAddress
    ) -> ShippedDocument {
        ShippedDocument(collection: address.collection, id: address.id, .delta, bytes)
    }

    /// Returns the changes of a document since `commit`; nil if it is unchanged or removed.
    ///
    /// Returns the document in full if requested, or if the changes are unknown.
    func changes(
        of key: [UInt8], _ address: DocumentAddress, since commit: CommitID, isComplete: Bool
    ) throws(EngineError) -> ShippedDocument? {
        guard let document = try document(key) else { return nil }
        if isComplete { return complete(document, key, address) }
        switch try changes(of: key, since: commit) {
        case .nothing, .removed: return nil
        case .delta(let bytes): return delta(bytes, key, address)
        case .state: return complete(document, key, address)
        }
    }

    /// Returns the commits of a document after `commit` except the last one, the newest first.
    ///
    /// Returns nil if there are more than `most`.
    package func commits(
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

    /// The state of a document after a commit, and the fields that the commit touched.
    struct Written {
        package let document: StoredDocument
        /// The touched fields; nil if the complete document was touched.
        fileprivate let touched: [UInt8]?
    }

    /// Returns the document written by one commit; nil if it was removed or is unknown.
    ///
    /// It is unknown if compaction has discarded the operation.
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
            guard !payload.isComplete, !base.entries.isEmpty else { return nil }
            return try after.read { (bytes) throws(Malformed) in
                try Changes.extract(
                    from: try EncodedDocument(bytes), since: base, touched: [], names)
            }
        }
    }

    /// Returns the fields that one commit touched, or the document in full if requested.
    func shipped(
        _ written: Written, _ key: [UInt8], _ address: DocumentAddress, isComplete: Bool
    ) throws(EngineError) -> ShippedDocument {
        guard !isComplete, let touched = written.touched else {
            return complete(written.document, key, address)
        }
        return delta(touched, key, address)
    }
}

extension DocumentSnapshot {
    /// Returns the IDs of attachments whose tokens in a sent document are unproven, sorted.
    ///
    /// The sent version may be older than the snapshot. A token that the snapshot's version does
    /// not have counts as unproven. Beyond the maximum, the only ID stands for all attachments.
    func unprovenTokens(
        in bytes: UnsafeRawBufferPointer, of key: [UInt8], _ engine: DocumentEngine
    ) throws(EngineError) -> [[UInt8]] {
        guard engine.mayHaveUnprovenTokens else { return [] }
        let named = try onDocument(key) { () throws(Malformed) in
            try EncodedDocument(bytes).attachments(names)
        }
        guard !named.isEmpty else { return [] }
        let current = try attachments(referencedBy: key)
        let proven = proven(named.intersection(current), inDocument: key)
        let unproven = named.subtracting(proven)
        guard unproven.count <= SyncLimits.unprovenTokens else {
            return [UnprovenTokens.allAttachments]
        }
        return unproven.map(\.bytes).sorted { $0.lexicographicallyPrecedes($1) }
    }
}

extension DocumentSnapshot {
    /// Returns the matching documents in an encoding that does not depend on the store.
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
    /// Returns the document with all names spelled and without a base.
    ///
    /// The bytes depend only on the document, not on the store that contains it.
    package func spelled(_ names: NameTable) throws(Malformed) -> [UInt8] {
        let plain = try settingBase(nil)
        let spelled = try plain.span.withUnsafeBytes { (bytes) throws(Malformed) in
            try EncodedDocument(bytes).renamed(from: names, to: NameTable())
        }
        // A join with itself normalizes the encoding.
        return try spelled.span.withUnsafeBytes { (bytes) throws(Malformed) in
            let document = try EncodedDocument(bytes)
            do throws(DocumentError) {
                return try Join.join(document, document, NameTable())
            } catch {
                throw .invalid("a document that cannot be joined with itself", at: 0)
            }
        }
    }
}
