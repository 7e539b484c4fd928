package import SheafBytes
package import SheafDocument
package import SheafStorage

/// All documents as of one durable commit.
package struct DocumentSnapshot: Sendable {
    package let log: LogSnapshot
    /// A catalog with at least the names used by documents of this snapshot.
    package let catalog: Catalog
    /// Documents that replace those of the log, by key, in the view of one peer (`ShadowTable`).
    package var shadows: [[UInt8]: StoredDocument] = [:]

    package init(_ log: LogSnapshot, _ catalog: Catalog) {
        self.log = log
        self.catalog = catalog
    }

    package var names: NameTable { catalog.names }

    /// Returns the key of a document; nil if its collection does not exist.
    package func key(collection: String, id: Value) throws(EngineError) -> [UInt8]? {
        guard let number = catalog.number(ofCollection: collection) else { return nil }
        let key = try onDocument { () throws(DocumentError) in try DocumentID.key(of: id) }
        return StoreKey.document(collection: number, id: key).bytes
    }

    /// Returns a document or its tombstone; nil if there is neither.
    package func document(_ key: [UInt8]) throws(EngineError) -> StoredDocument? {
        if !shadows.isEmpty, let shadow = shadows[key] { return shadow }
        let operations = try onStorage { () throws(StorageError) in
            try key.span.withUnsafeBytes { key throws(StorageError) in
                try log.operations(of: key)
            }
        }
        return try document(operations, key)
    }

    /// Returns a document as of an older commit; `.none` if the log does not reach back that far.
    package func document(
        _ key: [UInt8], asOf commit: CommitID
    ) throws(EngineError) -> StoredDocument?? {
        let operations = try onStorage { () throws(StorageError) in
            try key.span.withUnsafeBytes { key throws(StorageError) in
                try log.operations(of: key, asOf: commit)
            }
        }
        guard let operations else { return .none }
        return .some(try document(operations, key))
    }

    private func document(
        _ operations: [LoggedOperation], _ key: [UInt8]
    ) throws(EngineError) -> StoredDocument? {
        do throws(Malformed) { return try StoredDocument(operations, in: log, names) } catch {
            throw damaged(key, error, at: operations.first?.position)
        }
    }

    /// Returns the error for a document whose operations violate the format.
    ///
    /// `position` is that of the newest operation.
    package func damaged(
        _ key: [UInt8], _ reason: Malformed, at position: LogPosition?
    ) -> EngineError {
        let error = EngineError.damaged(key: key, reason)
        return position.map { .storage(log.disagreement(at: $0, "\(error)")) } ?? error
    }

    /// The changes of a document since a commit.
    package enum ChangesSince: Equatable {
        case nothing
        /// The changed parts, with their current values.
        case delta([UInt8])
        /// The complete document: it is new or rewritten, or the log does not reach back.
        case state([UInt8])
        /// The document was removed without a tombstone.
        case removed
    }

    /// Returns the changes of a document since `commit`.
    package func changes(
        of key: [UInt8], since commit: CommitID
    ) throws(EngineError) -> ChangesSince {
        guard let document = try document(key) else {
            let newest = try newestOperation(of: key)
            return newest.map { $0.commit > commit } ?? false ? .removed : .nothing
        }
        var history = key.span.withUnsafeBytes { log.history(of: $0) }
        var touched: [LoggedOperation] = []
        var before: LoggedOperation?
        while let logged = try onStorage({ () throws(StorageError) in try history.next() }) {
            if logged.commit <= commit {
                before = logged
                break
            }
            touched.append(logged)
        }
        guard !touched.isEmpty else { return .nothing }
        return try onDocument(key) { () throws(Malformed) in
            guard let before, before.operation.kind != .remove,
                !touched.contains(where: { $0.operation.kind == .remove })
            else {
                return .state(
                    try document.read { bytes throws(Malformed) in
                        try EncodedDocument(bytes).settingBase(nil)
                    })
            }
            let base = try DocumentPayload(before.operation.payload).vector()
            var deltas: [EncodedDocument] = []
            var isComplete = false
            for logged in touched {
                let payload = try DocumentPayload(logged.operation.payload)
                if let delta = payload.delta { deltas.append(delta) }
                if payload.isComplete { isComplete = true }
            }
            return try document.read { bytes throws(Malformed) in
                let document = try EncodedDocument(bytes)
                if isComplete { return .state(try document.settingBase(nil)) }
                return .delta(
                    try Changes.extract(
                        from: document, since: base, touched: deltas, names))
            }
        }
    }

    private func newestOperation(of key: [UInt8]) throws(EngineError) -> LoggedOperation? {
        var history = key.span.withUnsafeBytes { log.history(of: $0) }
        return try onStorage { () throws(StorageError) in try history.next() }
    }
}
