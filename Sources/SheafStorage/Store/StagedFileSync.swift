import Synchronization

/// A queue of files with staged records, synced while the transaction encodes more of them.
///
/// The flush of the commit then waits for the last records only. The maintenance thread does this;
/// a store without that thread ignores the requests.
final class StagedFileSync: Sendable {
    private struct State: Sendable {
        /// The files to sync; nil if there is no thread.
        var files: [StagedRecords.File]?
        var wake: (@Sendable () -> Void)?
    }

    private let state = Mutex(State())

    /// Begins to accept requests; each calls `wake`.
    func start(_ wake: @escaping @Sendable () -> Void) {
        state.withLock { $0 = State(files: [], wake: wake) }
    }

    /// Stops accepting requests, and drops those that are waiting.
    func stop() {
        state.withLock { $0 = State() }
    }

    /// Requests an early sync of a file.
    func requestSync(of file: StagedRecords.File) {
        let wake = state.withLock { state -> (@Sendable () -> Void)? in
            guard let files = state.files, !files.contains(where: { $0 === file }) else {
                return nil
            }
            state.files?.append(file)
            return state.wake
        }
        wake?()
    }

    /// Syncs all requested files.
    func syncRequestedFiles() {
        while let file = state.withLock({ $0.files?.popLast() }) { file.synchronizeEarly() }
    }
}
