package import SheafEngine
package import SheafStorage

/// The source of the documents of statements: a store open for writing, or a read-only one.
package enum DocumentSource: Sendable {
    case engine(DocumentEngine)
    case reader(DocumentReader)

    /// Returns the newest durable snapshot; that of a read-only store changes when it is refreshed.
    package func snapshot() -> DocumentSnapshot {
        switch self {
        case .engine(let engine): engine.snapshot()
        case .reader(let reader): reader.snapshot
        }
    }

    /// The damage that prevents the indexes, if any.
    package var indexFailure: EngineError? {
        switch self {
        case .engine(let engine): engine.indexFailure
        case .reader(let reader): reader.indexFailure
        }
    }

    /// Starts the feed of observers; returns the last commit that it may omit.
    package func startFeed() -> CommitID {
        switch self {
        case .engine(let engine): engine.startFeed()
        case .reader(let reader): reader.startFeed()
        }
    }

    /// Removes and returns the changes up to `commit` for observers, one per document.
    ///
    /// Returns nil if any document may have changed.
    package func drainFeed(through commit: CommitID) -> [CommitFeed.Change]? {
        switch self {
        case .engine(let engine): engine.drainFeed(through: commit)
        case .reader(let reader): reader.drainFeed(through: commit)
        }
    }

    /// Ends the feed of observers.
    package func stopFeed() {
        switch self {
        case .engine(let engine): engine.stopFeed()
        case .reader(let reader): reader.stopFeed()
        }
    }

    /// Sets a callback for each newer snapshot; it must not block.
    package func onNewSnapshot(_ body: (@Sendable () -> Void)?) {
        switch self {
        case .engine(let engine): engine.store.onPublishing(body)
        case .reader(let reader): reader.onRefresh(body)
        }
    }
}
