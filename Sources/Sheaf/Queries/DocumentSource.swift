import SheafStorage

/// Where statements find documents: in a store that is open for writing, or in one that is only read.
enum DocumentSource: Sendable {
    case engine(DocumentEngine)
    /// The state as it was when the store was opened, and why it has no indexes, where it has none for
    /// being damaged.
    case fixed(DocumentSnapshot, EngineError?)

    /// The newest state of a store that nobody has opened for writing.
    ///
    /// Entries of indexes that no checkpoint has are made in memory, as an opening would make them.
    init(reading reader: LogReader) throws(EngineError) {
        let state = try onStorage { () throws(StorageError) in try reader.mendableSnapshot() }
        let directory = try Directory(state.snapshot)
        // Without indexes everything can still be read, but for what is damaged.
        let log: LogSnapshot
        var failure: EngineError?
        do throws(EngineError) {
            log = try LinkMender.mend(state, directory)
        } catch {
            log = state.snapshot
            failure = error
        }
        self = .fixed(DocumentSnapshot(log, directory), failure)
    }

    /// The newest durable state.
    func snapshot() -> DocumentSnapshot {
        switch self {
        case .engine(let engine): engine.snapshot()
        case .fixed(let snapshot, _): snapshot
        }
    }

    var linkFailure: EngineError? {
        switch self {
        case .engine(let engine): engine.linkFailure
        case .fixed(_, let failure): failure
        }
    }
}
