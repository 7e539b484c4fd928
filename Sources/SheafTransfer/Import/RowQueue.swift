import SheafBytes
import SheafSystem
import Synchronization

/// A source on its way to the thread that reads it.
final class SourceBox: Sendable {
    private let source: Mutex<(any ImportSource)?>

    init(_ source: sending any ImportSource) {
        self.source = Mutex(source)
    }

    /// Returns the source, once.
    func take() -> sending (any ImportSource)? {
        source.withLock { source in
            let taken = source
            source = nil
            return taken
        }
    }
}

/// The batches that were read and not written yet.
final class RowQueue: Sendable {
    private struct State: Sendable {
        var batches: [ImportedRows] = []
        var failure: ImportError?
        /// Whether no batch follows.
        var isEnded = false
        /// Whether no batch is wanted.
        var isCancelled = false
    }

    /// Number of batches in the queue beyond which the reader waits.
    private static let capacity = 2
    private let state = Monitor(State())

    /// Reads all rows of a source into the queue.
    func fill(from box: SourceBox, _ settings: ImportBatch.Settings) {
        guard var source = box.take() else { preconditionFailure("A source is read once.") }
        var batch = ImportBatch(settings)
        var failure: ImportError?
        do throws(ImportError) {
            var hasMore = true
            while hasMore {
                hasMore = try source.read(into: &batch)
                var rows: ImportedRows
                do throws(Malformed) { rows = try batch.finish() } catch {
                    throw .store("an encoded row is malformed: \(error)")
                }
                rows.isLast = !hasMore
                hasMore = hasMore && !rows.isStopped
                guard append(rows) else { return }
            }
        } catch {
            failure = error
        }
        state.withLock { state in
            (state.failure, state.isEnded) = (failure, true)
        }
        state.broadcast()
    }

    /// Appends a batch when there is room; returns false if no batch is wanted.
    private func append(_ rows: ImportedRows) -> Bool {
        defer { state.broadcast() }
        return state.wait(while: { $0.batches.count >= Self.capacity && !$0.isCancelled }) {
            state in
            guard !state.isCancelled else { return false }
            state.batches.append(rows)
            return true
        }
    }

    /// Removes and returns the next batch, once there is one; nil at the end.
    ///
    /// Throws the error of the source after the batches that precede it. Returns nil after
    /// `cancel`.
    func next() throws(ImportError) -> ImportedRows? {
        defer { state.broadcast() }
        return try state.wait(while: { $0.batches.isEmpty && !$0.isEnded && !$0.isCancelled }) {
            (state) throws(ImportError) in
            if state.isCancelled { return nil }
            if !state.batches.isEmpty { return state.batches.removeFirst() }
            if let failure = state.failure { throw failure }
            return nil
        }
    }

    /// Whether `cancel` was called.
    var isCancelled: Bool { state.withLock(\.isCancelled) }

    /// Ends the reading and the writing of further batches.
    func cancel() {
        state.withLock { $0.isCancelled = true }
        state.broadcast()
    }
}
