package import SheafEngine
package import SheafStorage

/// The source of the documents of statements: a store open for writing, or a read-only one.
package enum DocumentSource: Sendable {
    case engine(DocumentEngine)
    /// The snapshot of a read-only store, and the damage that prevents its indexes, if any.
    case readOnly(DocumentSnapshot, EngineError?)

    /// Reads the newest snapshot of a store that is not open for writing.
    ///
    /// Index entries missing from the checkpoint are created in memory.
    package init(reading reader: LogReader) throws(EngineError) {
        let state = try onStorage { () throws(StorageError) in try reader.mendableSnapshot() }
        let catalog = try Catalog(state.snapshot)
        // Without indexes, all undamaged documents can still be read.
        let log: LogSnapshot
        var failure: EngineError?
        do throws(EngineError) {
            log = try IndexRepair.repairInMemory(state, catalog)
        } catch {
            log = state.snapshot
            failure = error
        }
        self = .readOnly(DocumentSnapshot(log, catalog), failure)
    }

    /// Returns the newest durable snapshot; that of a read-only store never changes.
    package func snapshot() -> DocumentSnapshot {
        switch self {
        case .engine(let engine): engine.snapshot()
        case .readOnly(let snapshot, _): snapshot
        }
    }

    package var indexFailure: EngineError? {
        switch self {
        case .engine(let engine): engine.indexFailure
        case .readOnly(_, let failure): failure
        }
    }
}
