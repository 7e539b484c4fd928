import SheafBytes
package import SheafDocument
package import SheafStorage

/// The change of one document by a commit.
package struct LoggedChange: Sendable {
    package enum Action: String, Sendable {
        case insert, update, delete, evict
    }

    package let collection: String
    package let id: Value
    package let action: Action
    /// The paths of the changed and removed fields.
    package let fields: [[String]]
    /// The stamp of the latest write; nil if the document was evicted.
    package let stamp: Stamp?
}

extension DocumentSnapshot {
    /// Returns the origin of a commit, its first operation; nil if no peer sent the commit.
    package func origin(of commit: LoggedCommit) throws(EngineError) -> CommitOrigin? {
        let first = try onStorage { () throws(StorageError) in try commit.operations().first }
        guard let first, case .origin? = StoreKey(first.operation.key) else { return nil }
        do throws(Malformed) {
            return try CommitOrigin(decoding: first.operation.payload)
        } catch {
            throw .storage(
                log.disagreement(
                    at: first.position, "the origin of commit \(commit.id) is malformed: \(error)"))
        }
    }

    /// Calls `body` with the changes of documents by a commit of the log until it returns false.
    package func forEachChange<Failure: Error>(
        of commit: LoggedCommit, reading failure: (EngineError) -> Failure,
        _ body: (LoggedChange) throws(Failure) -> Bool
    ) throws(Failure) {
        let operations: [LoggedOperation]
        do throws(StorageError) { operations = try commit.operations() } catch {
            throw failure(.storage(error))
        }
        for (index, logged) in operations.enumerated() {
            let change: LoggedChange?
            do throws(EngineError) { change = try self.change(by: logged) } catch {
                throw failure(error)
            }
            guard let change else { continue }
            // A document that replaces the remnant of an evicted one follows a removal.
            let next = index + 1 < operations.count ? operations[index + 1] : nil
            do throws(EngineError) {
                if change.action == .evict, let next,
                    try isChange(next, of: logged.operation.key)
                {
                    continue
                }
            } catch {
                throw failure(error)
            }
            guard try body(change) else { return }
        }
    }

    /// Returns the number of documents that `forEachChange` visits, without decoding their fields.
    package func changeCount(of commit: LoggedCommit) throws(EngineError) -> Int {
        let operations = try onStorage { () throws(StorageError) in try commit.operations() }
        var count = 0
        for (index, logged) in operations.enumerated() where try isChange(logged) {
            let next = index + 1 < operations.count ? operations[index + 1] : nil
            if logged.operation.kind == .remove, let next,
                try isChange(next, of: logged.operation.key)
            {
                continue
            }
            count += 1
        }
        return count
    }

    /// Returns the site that all writes of a local commit have; nil if it only evicts.
    package func site(ofLocal commit: LoggedCommit) throws(EngineError) -> Site? {
        var site: Site?
        try forEachChange(of: commit, reading: { $0 }) { (change) throws(EngineError) in
            site = change.stamp?.site
            return site == nil
        }
        return site
    }

    /// Whether an operation changes the document with a key, and does not write its remnant.
    private func isChange(
        _ logged: LoggedOperation, of key: UnsafeRawBufferPointer
    ) throws(EngineError) -> Bool {
        guard logged.operation.key.elementsEqual(key) else { return false }
        return try isChange(logged)
    }

    /// Whether an operation changes a document, and does not write its remnant.
    private func isChange(_ logged: LoggedOperation) throws(EngineError) -> Bool {
        let operation = logged.operation
        guard case .document(let number, _)? = StoreKey(operation.key),
            catalog.collections.indices.contains(Int(number))
        else { return false }
        guard operation.kind != .remove else { return true }
        return try onDocument(Array(operation.key)) { () throws(Malformed) in
            try DocumentPayload(operation.payload).state?.isRemnant != true
        }
    }

    /// Returns the change by an operation; nil if it concerns no document, or writes a remnant.
    private func change(by logged: LoggedOperation) throws(EngineError) -> LoggedChange? {
        let operation = logged.operation
        guard case .document(let number, let id)? = StoreKey(operation.key),
            catalog.collections.indices.contains(Int(number))
        else { return nil }
        let collection = catalog.collections[Int(number)]
        let key = Array(operation.key)
        let document = try onDocument(key) { () throws(Malformed) in try DocumentID.id(of: id) }
        guard operation.kind != .remove else {
            return LoggedChange(
                collection: collection, id: document, action: .evict, fields: [], stamp: nil)
        }
        let changes = try onDocument(key) { () throws(Malformed) in
            try PayloadChanges(decoding: operation.payload, names)
        }
        guard !changes.isRemnant else { return nil }
        switch changes.form {
        case .tombstone:
            return LoggedChange(
                collection: collection, id: document, action: .delete, fields: [],
                stamp: changes.stamp)
        case .state, .delta:
            let isKnown = try changes.form == .delta ? true : hasDocument(before: logged)
            return LoggedChange(
                collection: collection, id: document, action: isKnown ? .update : .insert,
                fields: changes.paths(ofExisting: isKnown)
                    + (try fieldsRemoved(with: key, by: logged, except: changes)),
                stamp: changes.stamp)
        }
    }

    /// Returns the fields that a document lost because a commit wrote it anew.
    ///
    /// The commit has evicted or deleted it before, so the payload does not list them.
    private func fieldsRemoved(
        with key: [UInt8], by change: LoggedOperation, except changes: PayloadChanges
    ) throws(EngineError) -> [[String]] {
        let previous = try operation(at: change.operation.previous)
        let isAnew = changes.removed.contains([]) || previous?.operation.kind == .remove
        // The log may not reach back to the former document.
        guard isAnew, let former = try document(key, asOf: change.commit - 1) ?? nil else {
            return []
        }
        let fields = try onDocument(key) { () throws(Malformed) in
            try former.read { bytes throws(Malformed) in
                try EncodedDocument(bytes).existingFields()?.value(names)
            }
        }
        guard let fields else { return [] }
        let kept = Set(changes.changed.compactMap(\.first))
        return fields.map { [$0.name] }.filter { !kept.contains($0[0]) }
    }

    /// Returns the operation at a position; nil if compaction has dropped it.
    private func operation(at position: LogPosition) throws(EngineError) -> LoggedOperation? {
        guard position != .none else { return nil }
        return try onStorage { () throws(StorageError) in
            try log.segments.loggedOperation(at: position)
        }
    }

    /// Whether a document existed before the commit of an operation.
    private func hasDocument(
        before change: LoggedOperation
    ) throws(EngineError) -> Bool {
        var position = change.operation.previous
        var before: LoggedOperation?
        // A commit may evict a document and insert it again.
        while position < (before ?? change).position,
            let logged = try operation(at: position)
        {
            before = logged
            guard logged.commit == change.commit else { break }
            position = logged.operation.previous
        }
        guard let logged = before, logged.commit < change.commit,
            logged.operation.kind != .remove
        else { return false }
        guard logged.operation.kind == .put else { return true }
        return try onDocument(Array(logged.operation.key)) { () throws(Malformed) in
            try DocumentPayload(logged.operation.payload).state?.exists() ?? true
        }
    }
}
