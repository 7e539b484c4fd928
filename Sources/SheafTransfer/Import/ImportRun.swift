import SheafBytes
package import SheafDocument
package import SheafEngine
import SheafStatements
import SheafStorage
import SheafSystem

/// The treatment of rows by an import.
package struct ImportOptions: Sendable {
    /// The name of the field that becomes the `_id`.
    package var idName = "_id"
    /// The treatment of a row whose id a document has already.
    package var conflict = DocumentChange.Conflict.fail
    /// Maximum number of bad rows; one more ends the import.
    package var badRowLimit = UInt64.max
    /// Whether an interrupted import of the same source continues.
    package var resumes = false
    /// Whether the progress of an interrupted import of the same source is discarded.
    package var restarts = false

    package init() {}
}

/// The state of an import.
package struct ImportReport: Sendable {
    /// Maximum number of bad rows with their reasons.
    package static let maximumListed = 20

    /// Number of documents written by this run.
    package fileprivate(set) var importedCount: UInt64 = 0
    /// Number of documents written before the import was interrupted.
    package fileprivate(set) var earlierCount: UInt64 = 0
    /// Number of rows skipped because their document exists.
    package fileprivate(set) var skippedCount: UInt64 = 0
    /// Number of bad rows of this run, and of the runs that it continues.
    package fileprivate(set) var badRowCount: UInt64 = 0
    package fileprivate(set) var earlierBadRowCount: UInt64 = 0
    /// The first bad rows of this run.
    package fileprivate(set) var badRows: [BadRow] = []
    /// The meaning of the numbers of bad rows.
    package fileprivate(set) var numbering = RowNumbering.lines
    /// The position after the last row that was written, which may not be durable yet.
    package fileprivate(set) var position = ImportPosition()
    /// The position at which this run began.
    package fileprivate(set) var start = ImportPosition()
    /// The offset at the end of the source, if it is known.
    package fileprivate(set) var end: UInt64?
    /// Whether the import ended early because of bad rows.
    package fileprivate(set) var isStopped = false
    /// Whether the import ended early because it was interrupted.
    package fileprivate(set) var isInterrupted = false
    /// Whether the store has the position at which another run can continue.
    package fileprivate(set) var isResumable = false
}

/// An import: one thread reads rows and others encode them while another one writes them.
///
/// Each commit has several thousand rows, and the position after them (`ImportProgress`). One flush
/// makes several commits durable while the next ones are prepared.
package final class ImportRun {
    private let target: ImportTarget
    private let options: ImportOptions
    private let source: SourceBox
    private let hash: UInt64
    private var progress: ImportProgress
    /// Whether the log has the progress of this import.
    private var hasProgress: Bool
    private var report = ImportReport()
    private let rows = RowQueue()
    /// The requested flushes that may not have ended yet, oldest first.
    private var flushes: [Flush] = []
    /// The last commit without a requested flush, and the length of all such commits.
    private var unflushed: (commit: CommitID, byteCount: Int)?
    private var lastFlushRequest = Clock.system.monotonicNanoseconds()

    /// The result of a flush; nil before it has ended.
    private typealias Flush = Monitor<Result<CommitID, StorageError>?>
    /// Time after which the next commit requests a flush, even if there are few bytes to write.
    ///
    /// An interrupted import repeats the work of commits that were not flushed.
    private static let flushIntervalNanoseconds: UInt64 = 50_000_000

    /// Prepares an import; throws if it cannot begin or continue.
    package init(
        _ source: sending any ImportSource, into target: ImportTarget, _ options: ImportOptions
    ) throws(ImportError) {
        (self.target, self.options) = (target, options)
        let identity = source.identity
        hash = identity.hash(into: target.collection)
        let earlier = try InterruptedImports(target)
        let found = earlier.progress(hash)
        hasProgress = found != nil
        if options.resumes {
            if found == nil { try earlier.checkBeginning(identity, source.numbering) }
        } else if let found, !options.restarts {
            throw InterruptedImports.refusal(toRepeat: found, source.numbering)
        }
        let new = ImportProgress(collection: target.collection, source: identity.name)
        progress = options.resumes ? found ?? new : new
        (report.end, report.numbering) = (source.end, source.numbering)
        var source = source
        if progress.position.row > 1 || progress.position.offset > 0 {
            try source.skip(to: progress.position)
        }
        self.source = SourceBox(source)
        (report.start, report.position) = (progress.position, progress.position)
        report.earlierCount = progress.importedCount
        report.earlierBadRowCount = progress.badRowCount
    }

    /// A function that interrupts the import after the current commit, from any thread.
    package var interruption: @Sendable () -> Void {
        let rows = rows
        return { rows.cancel() }
    }

    /// Imports all rows; returns when they are durable.
    ///
    /// `onProgress` is called after each commit.
    package func run(
        _ onProgress: (ImportReport) -> Void = { _ in }
    ) throws(ImportError) -> ImportReport {
        try startReading()
        // The reading thread may wait for room in the queue.
        defer { rows.cancel() }
        do throws(ImportError) {
            while var rows = try nextRows() {
                let refused = try write(&rows)
                onProgress(report)
                if let refused { throw failure(at: refused) }
                if report.isStopped { break }
            }
        } catch {
            // The error names rows as imported, so their commits must be durable.
            try flush()
            throw error
        }
        (report.isInterrupted, report.isResumable) = (rows.isCancelled, hasProgress)
        try flush()
        return report
    }

    /// Makes all commits durable.
    private func flush() throws(ImportError) {
        requestFlush()
        while !flushes.isEmpty { try waitForFlush() }
    }

    /// Returns the next batch; adds the rows that were imported to an error of the source.
    private func nextRows() throws(ImportError) -> ImportedRows? {
        do throws(ImportError) { return try rows.next() } catch .source(let text) {
            guard hasProgress else { throw .source(text) }
            throw .source(
                text + "; \(report.numbering.names(before: progress.position)) were imported")
        }
    }

    private func startReading() throws(ImportError) {
        let catalog = target.queries.documents.newestCatalog
        let settings = ImportBatch.Settings(
            collection: catalog.number(ofCollection: target.collection)
                ?? UInt16(clamping: catalog.collections.count),
            idName: options.idName, badRowLimit: options.badRowLimit,
            documentLimit: target.queries.parameters.values.hardSizeLimit,
            documents: target.queries.documents)
        let (source, rows) = (source, rows)
        do throws(ThreadRefused) {
            _ = try Thread(name: "sheaf-import") { rows.fill(from: source, settings) }
            for _ in 0..<(settings.encodesLater ? RowQueue.encoderCount : 0) {
                _ = try Thread(name: "sheaf-encode") { rows.encodeAll(settings) }
            }
        } catch {
            rows.cancel()
            throw .store("cannot start a thread: \(VolumeError.Code(error.code))")
        }
    }

    /// Writes rows and the position after them in one commit, whose flush may end later.
    ///
    /// Returns the row that the store refuses, before which the batch ends.
    private func write(_ batch: inout ImportedRows) throws(ImportError) -> BadRow? {
        // One flush runs while the commits of the next one are written.
        while flushes.count > 1 || flushes.first?.withLock({ $0 != nil }) == true {
            try waitForFlush()
        }
        let byteCount = batch.documents.byteCount
        var writer = RowWriter(
            target, options, &batch, badRowRoom: options.badRowLimit - report.badRowCount)
        var commit: CommitID?
        while commit == nil {
            if case .before(let row)? = writer.cut, writer.isEmpty { return row }
            commit = try append(batch, by: &writer)
        }
        report.importedCount += writer.importedCount
        report.skippedCount += writer.skippedCount
        report.badRowCount += UInt64(writer.badRows.count)
        report.badRows += writer.badRows.prefix(ImportReport.maximumListed - report.badRows.count)
        report.position = progress.position
        if case .after? = writer.cut { report.isStopped = true }
        if let commit { flush(commit, byteCount) }
        if case .before(let row)? = writer.cut { return row }
        return nil
    }

    /// Requests a flush of a commit, if that is due.
    private func flush(_ commit: CommitID, _ byteCount: Int) {
        let pending = byteCount + (unflushed?.byteCount ?? 0)
        unflushed = (commit, pending)
        let elapsed = Clock.system.monotonicNanoseconds() - lastFlushRequest
        let isDue = flushes.isEmpty && elapsed >= Self.flushIntervalNanoseconds
        if isDue || pending >= ImportTarget.flushLength { requestFlush() }
    }

    /// Commits the rows of a batch; returns nil if that must be repeated with fewer rows.
    private func append(
        _ batch: ImportedRows, by writer: inout RowWriter
    ) throws(ImportError) -> CommitID? {
        var progress = progress
        var isEnd = false
        let log = target.log
        do throws(EngineError) {
            let (commit, _) = try target.queries.documents.write(
                from: nil, append: { (batch) throws(StorageError) in try log.append(batch) }
            ) { (transaction) throws(EngineError) in
                try writer.write(to: &transaction)
                isEnd = batch.isLast && writer.cut == nil
                progress.position = batch.end(writer.cut)
                progress.importedCount += writer.importedCount
                progress.badRowCount += UInt64(writer.badRows.count)
                guard hasProgress || !isEnd else { return }
                transaction.importProgress = (hash, isEnd ? nil : progress)
            }
            (self.progress, hasProgress) = (progress, !isEnd)
            return commit
        } catch .rolledBack {
            return nil
        } catch {
            throw ImportError(error)
        }
    }

    /// Requests a flush of all commits so far.
    private func requestFlush() {
        guard let commit = unflushed?.commit else { return }
        unflushed = nil
        lastFlushRequest = Clock.system.monotonicNanoseconds()
        let flush = Flush(nil)
        target.log.whenDurable(commit) { result in
            flush.withLock { $0 = result }
            flush.broadcast()
        }
        flushes.append(flush)
    }

    /// Returns the error of an import that ends before a row.
    private func failure(at row: BadRow) -> ImportError {
        let source = ImportIdentity.shown(progress.source)
        var text = "\(source), \(report.numbering.name(of: row.row)): \(row.reason)"
        if hasProgress {
            let names = report.numbering.names(before: progress.position)
            text += "; \(names) were imported, and --resume continues after them"
        }
        return .source(text)
    }

    /// Waits until the oldest requested flush has ended.
    private func waitForFlush() throws(ImportError) {
        let result = flushes.removeFirst().wait(while: { $0 == nil }, then: { $0 })
        do throws(StorageError) {
            _ = try result?.get()
        } catch {
            throw ImportError(.storage(error))
        }
    }
}
