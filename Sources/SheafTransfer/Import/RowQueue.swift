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

/// The batches that were read and not written yet, in the order of the source.
///
/// One thread reads batches. JSON texts are encoded by other threads (`encodeAll`).
final class RowQueue: Sendable {
    private struct State: Sendable {
        /// Batches of texts that no thread encodes yet, oldest first, by number.
        var texts: [(number: Int, rows: UnencodedRows)] = []
        /// Encoded batches and errors, by number.
        var batches: [Int: Result<ImportedRows, ImportError>] = [:]
        /// Number of batches read, and of batches returned by `next`.
        var readCount = 0
        var nextNumber = 0
        /// Whether no batch follows those read.
        var isEnded = false
        /// Whether no batch is wanted.
        var isCancelled = false
    }

    /// Number of threads that encode texts: encoding takes twice as long as writing.
    static let encoderCount = 2
    /// Number of batches in the queue beyond which the reader waits.
    private static let capacity = 4
    private let state = Monitor(State())

    /// Reads all rows of a source into the queue.
    func fill(from box: SourceBox, _ settings: ImportBatch.Settings) {
        guard var source = box.take() else { preconditionFailure("A source is read once.") }
        var batch = ImportBatch(settings, encodesLater: settings.encodesLater)
        var isWanted = true
        do throws(ImportError) {
            var hasMore = true
            while hasMore && isWanted {
                do throws(ImportError) { hasMore = try source.read(into: &batch) } catch {
                    // The rows that precede the error are complete.
                    if !batch.isEmpty { _ = try append(&batch, isLast: false) }
                    throw error
                }
                let isStopped = batch.isStopped
                isWanted = try append(&batch, isLast: !hasMore) && !isStopped
            }
        } catch {
            _ = append { $0.batches[$1] = .failure(error) }
        }
        state.withLock { $0.isEnded = true }
        state.broadcast()
    }

    /// Adds the rows of a batch, and empties it; returns false if no batch is wanted.
    private func append(_ batch: inout ImportBatch, isLast: Bool) throws(ImportError) -> Bool {
        if var texts = batch.takeTexts() {
            texts.isLast = isLast
            return append { $0.texts.append(($1, texts)) }
        }
        var rows: ImportedRows
        do throws(Malformed) { rows = try batch.finish() } catch { throw Self.failure(error) }
        rows.isLast = isLast
        let encoded = rows
        return append { $0.batches[$1] = .success(encoded) }
    }

    /// Adds a batch with the next number when there is room; returns false if no batch is wanted.
    private func append(_ body: (inout State, Int) -> Void) -> Bool {
        defer { state.broadcast() }
        return state.wait(
            while: { $0.readCount - $0.nextNumber >= Self.capacity && !$0.isCancelled }
        ) { state in
            guard !state.isCancelled else { return false }
            body(&state, state.readCount)
            state.readCount += 1
            return true
        }
    }

    /// Encodes batches of texts until there are no more; several threads may do this.
    func encodeAll(_ settings: ImportBatch.Settings) {
        var batch = ImportBatch(settings, encodesLater: false)
        while let (number, rows) = nextTexts() {
            let result = Result { () throws(ImportError) in
                do throws(Malformed) { return try batch.encode(rows) } catch {
                    throw Self.failure(error)
                }
            }
            state.withLock { $0.batches[number] = result }
            state.broadcast()
        }
    }

    private func nextTexts() -> (number: Int, rows: UnencodedRows)? {
        state.wait(while: { $0.texts.isEmpty && !$0.isEnded && !$0.isCancelled }) { state in
            state.isCancelled || state.texts.isEmpty ? nil : state.texts.removeFirst()
        }
    }

    private static func failure(_ error: Malformed) -> ImportError {
        .store("an encoded row is malformed: \(error)")
    }

    /// Removes and returns the next batch, once there is one; nil at the end.
    ///
    /// Throws the error of the source after the batches that precede it. Returns nil after
    /// `cancel`.
    func next() throws(ImportError) -> ImportedRows? {
        defer { state.broadcast() }
        let result = state.wait(while: { state in
            state.batches[state.nextNumber] == nil && !state.isCancelled
                && !(state.isEnded && state.nextNumber == state.readCount)
        }) { state -> Result<ImportedRows, ImportError>? in
            guard !state.isCancelled,
                let result = state.batches.removeValue(forKey: state.nextNumber)
            else { return nil }
            state.nextNumber += 1
            return result
        }
        return try result?.get()
    }

    /// Whether `cancel` was called.
    var isCancelled: Bool { state.withLock(\.isCancelled) }

    /// Ends the reading and the writing of further batches.
    func cancel() {
        state.withLock { $0.isCancelled = true }
        state.broadcast()
    }
}
