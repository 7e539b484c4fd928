import SheafDocument
package import SheafStorage
package import SheafSystem
import Synchronization

/// The result of creating or dropping an index.
package struct IndexReceipt: Sendable {
    /// The commit with the change; the newest existing one if nothing was changed.
    package let commit: CommitID
    package let isChanged: Bool
}

extension DocumentEngine {
    /// Creates an index of a collection, which need not have documents yet.
    ///
    /// All documents are read while other writers wait, unless `stop` cancels that. `flush` makes
    /// all commits durable, and `append` adds the batch to the log; both run under the writer lock.
    package func createIndex(
        _ name: String, on collection: String, _ fields: [IndexDefinition.Field],
        ifNotExists: Bool = false, until stop: EvaluationStop? = nil,
        flush: () throws(StorageError) -> Void,
        append: (WriteBatch) throws(StorageError) -> CommitID
    ) throws(EngineError) -> IndexReceipt {
        try state.withLock { state throws(EngineError) in
            if state.catalog.index(name, onCollection: collection) != nil {
                guard ifNotExists else { throw .indexExists(collection: collection, name: name) }
                return IndexReceipt(commit: newestCommit(state), isChanged: false)
            }
            var catalog = state.catalog
            let definition = try catalog.newIndex(name, on: collection, fields)
            // The record pointers of documents are known once all commits are durable.
            try onStorage { () throws(StorageError) in try flush() }
            guard newestCommit(state) == store.snapshot().commit,
                try IndexRepair.repair(store, state.catalog)
            else { throw .storage(store.failure ?? .closed) }
            let snapshot = DocumentSnapshot(store.snapshot(), catalog)
            var entries = DocumentIndexEntries(
                [definition.collection: [definition]], catalog.names, includesTombstones: false,
                until: stop)
            var changes = IndexChanges()
            try entries.indexAll(in: snapshot, &changes)
            changes.sort()
            try state.mark.create(in: store)
            let batch = try state.batch(definition, definition.payload, catalog, changes)
            let commit = try onStorage { () throws(StorageError) in try append(batch) }
            state.markWritten(catalog, by: commit, in: store)
            state.catalog.add(definition.created(by: commit))
            publish(state.catalog)
            return IndexReceipt(commit: commit, isChanged: true)
        }
    }

    /// Drops an index; throws `noIndex` if there is none, unless `ifExists`.
    package func dropIndex(
        _ name: String, on collection: String, ifExists: Bool = false,
        append: (WriteBatch) throws(StorageError) -> CommitID
    ) throws(EngineError) -> IndexReceipt {
        try state.withLock { state throws(EngineError) in
            guard let definition = state.catalog.index(name, onCollection: collection) else {
                guard ifExists else { throw .noIndex(collection: collection, name: name) }
                return IndexReceipt(commit: newestCommit(state), isChanged: false)
            }
            var changes = IndexChanges()
            changes.removeEntries(in: definition.entries)
            // The index is removed first: no reader may use it with a snapshot that lacks its
            // entries.
            state.catalog.remove(definition)
            publish(state.catalog)
            do throws(EngineError) {
                try state.mark.create(in: store)
                let batch = try state.batch(definition, nil, state.catalog, changes)
                let commit = try onStorage { () throws(StorageError) in try append(batch) }
                state.markWritten(state.catalog, by: commit, in: store)
                return IndexReceipt(commit: commit, isChanged: true)
            } catch {
                state.catalog.add(definition)
                publish(state.catalog)
                throw error
            }
        }
    }

    private func newestCommit(_ state: borrowing WriterState) -> CommitID {
        max(store.snapshot().commit, state.pending.lastCommit)
    }
}

extension DocumentEngine.WriterState {
    /// Returns a batch with a definition or its removal, and all that the log lacks of the catalog.
    fileprivate func batch(
        _ definition: IndexDefinition, _ payload: [UInt8]?, _ catalog: Catalog,
        _ entries: IndexChanges
    ) throws(EngineError) -> WriteBatch {
        var batch = WriteBatch()
        batch.indexChanges = entries
        batch.keepsIndexProgress = true
        batch.earliestTime = clock.latest.milliseconds
        try onStorage { () throws(StorageError) in
            try nameDictionary.write(catalog, into: &batch)
            try siteRecordUpdate?.write(into: &batch)
            if let payload {
                try batch.put(definition.key, payload)
            } else {
                try batch.remove(definition.key)
            }
        }
        return batch
    }

    /// Records that the batch of an index change has become a commit.
    fileprivate mutating func markWritten(
        _ directory: Catalog, by commit: CommitID, in store: StoreEngine
    ) {
        self.catalog = directory
        markSiteWritten()
        mark.markWritten(by: commit, in: store)
        nameDictionary.markWritten(directory)
        pending.record([], of: commit)
    }
}
