package import SheafAttachments
import SheafDocument
import SheafEngine
import SheafQuery
package import SheafStatements
package import SheafStorage
import SheafSystem
package import Synchronization

/// An embedded document database in a directory.
///
///     let store = try await Store.open(at: "cars.sheaf")
///     try await store.execute("INSERT INTO cars DOCUMENTS (:car)", ["car": car])
///     let result = try await store.execute("SELECT * FROM cars WHERE color = \(color)")
///     try await store.close()
///
/// It can be used from any number of tasks. Reading statements run immediately, on a snapshot of
/// the last durable commit, and never wait. Writing statements return when their commit survives a
/// power cut.
public final class Store: Sendable {
    package let queries: QueryEngine
    private let backing: Backing
    /// The dispatcher of observers.
    let dispatcher: ObserverDispatcher
    /// The monitor of slow transactions and of the writers that wait for them.
    let slowTransactionMonitor: SlowTransactionMonitor
    package let tombstoneClock = TombstoneCollectionClock()
    /// The files that documents reference.
    package let attachments: AttachmentStore
    package let attachmentCollection = AttachmentCollectionClock()
    /// The queue of writers.
    package let gate = WriteGateLock()
    /// The last number assigned to a waiting writer or a transaction.
    package let lastNumber = Atomic<UInt64>(0)
    private let phase = Mutex(Phase.open)
    /// Whether the store is closed or being closed; read without a lock.
    let isClosed = Atomic(false)

    /// The thread that reads the commits of other processes for observers of a read-only store.
    let follower: CommitFollower

    fileprivate enum Backing: Sendable {
        case log(LogStore)
        case reader(LogReader)
    }

    /// The result of closing.
    private typealias Closing = Result<Void, any Error>

    private enum Phase: Sendable {
        case open
        /// One caller closes the store; the closures resume the other callers with its result.
        case closing([@Sendable (Closing) -> Void])
        case closed(Closing)
    }

    private init(_ backing: Backing, _ options: StoreOptions) throws(StoreError) {
        self.backing = backing
        attachments = AttachmentStore(
            in: backing.volume, options: options.attachments(inMemory: backing.isInMemory))
        do throws(StoreError) {
            switch backing {
            case .log(let log):
                queries = try QueryEngine(
                    opening: log.engine, log: options.log, isStrict: options.isStrict)
            case .reader(let reader):
                queries = try QueryEngine(
                    reading: reader, options: options.logStore, log: options.log,
                    isStrict: options.isStrict)
            }
            let queries = queries
            dispatcher = ObserverDispatcher(queries)
            follower = CommitFollower(queries)
            slowTransactionMonitor = SlowTransactionMonitor(options.log, gate) {
                SlowTransactionMonitor.Settings(queries.parameters.values)
            }
        } catch {
            backing.abandon()
            throw error
        }
        installReferenceHandler()
        if case .log(let log) = backing {
            Self.registerCollections(in: queries, dispatcher, log.engine)
        } else {
            Self.registerCollections(in: queries, dispatcher, nil)
        }
    }

    deinit {
        follower.stop()
        attachments.close()
        dispatcher.stop()
        slowTransactionMonitor.stop()
    }

    /// Opens the store in the directory at `path`; creates it if missing, unless opened read-only.
    ///
    /// A store can be open for writing only once; another opening throws an error that names the
    /// holder. Any number of processes can have it open for reading at the same time, whether or
    /// not another one writes.
    public static nonisolated(nonsending) func open(
        at path: String, options: StoreOptions = StoreOptions()
    ) async throws -> Store {
        try await open(options, at: path) { () throws(StorageError) in
            options.isReadOnly
                ? .reader(try LogReader.open(at: path))
                : .log(try LogStore.open(at: path, options: options.logStore))
        }
    }

    /// Creates an in-memory store, discarded on close.
    public static nonisolated(nonsending) func inMemory(
        options: StoreOptions = StoreOptions()
    ) async throws -> Store {
        try await open(options) { () throws(StorageError) in
            .log(try LogStore(volume: MemoryVolume(), options: options.logStore))
        }
    }

    /// Opens the store on a volume, such as one of a simulated disk.
    package static nonisolated(nonsending) func open(
        on volume: any Volume, options: StoreOptions = StoreOptions()
    ) async throws -> Store {
        try await open(options, at: volume.path) { () throws(StorageError) in
            options.isReadOnly
                ? .reader(try LogReader(volume))
                : .log(try LogStore(volume: volume, options: options.logStore))
        }
    }

    private static nonisolated(nonsending) func open(
        _ options: StoreOptions, at path: String? = nil,
        _ open: @escaping @Sendable () throws(StorageError) -> Backing
    ) async throws -> Store {
        try await runOnThread("sheaf-open") { () throws(StoreError) in
            let backing: Backing
            do throws(StorageError) {
                backing = try open()
            } catch {
                throw StoreError(error, openingAt: path ?? "memory")
            }
            let store = try Store(backing, options)
            store.logOpening()
            store.loadAttachments()
            return store
        }
    }

    private func logOpening() {
        guard let log = queries.log else { return }
        log.write(.info, "the store is open", ["commit": "\(queries.snapshot().log.commit)"])
        guard let failure = queries.source.indexFailure else { return }
        log.write(
            .error, "the store was opened without indexes: a document is damaged",
            ["reason": "\(failure)"])
    }

    /// Whether the store was opened for reading only.
    public var isReadOnly: Bool {
        if case .reader = backing { true } else { false }
    }

    /// The directory of the store; nil if it is in memory.
    package var path: String? { backing.isInMemory ? nil : backing.volume.path }

    /// The log of the store; throws if the store is read-only.
    package var log: LogStore {
        get throws(StoreError) {
            switch backing {
            case .log(let log): return log
            case .reader: throw StoreError(StorageError.readOnly)
            }
        }
    }

    /// The source of backups.
    var backupSource: BackupSource {
        switch backing {
        case .log(let log): BackupSource(volume: log.engine.volume) { log.engine.snapshot() }
        case .reader(let reader):
            BackupSource(volume: reader.currentVolume) { [queries] in queries.snapshot().log }
        }
    }

    /// Releases the caches: columns in memory, and earlier states that `AS OF` has read.
    ///
    /// Call it when the system reports memory pressure.
    public func releaseMemory() {
        queries.releaseMemory()
    }

    /// Waits for all transactions, makes everything durable, and closes the store.
    ///
    /// Waiting writers still write; later ones are refused. Another call returns when the store is
    /// closed, and throws the same error. Existing results stay valid. A store that is released
    /// without being closed loses nothing. The cancellation of the task does not end the closing:
    /// a canceled task can close its store.
    public nonisolated(nonsending) func close() async throws {
        if let transaction = enclosingTransaction {
            throw StoreError(
                .nestedTransaction,
                "closing would wait forever for the transaction\(transaction.quotedHint), in whose "
                    + "block it was requested",
                hint: "close the store after the transaction has ended")
        }
        if let result = await beginClosing() { return try result.get() }
        isClosed.store(true, ordering: .releasing)
        await waitUntilIdle()
        let (backing, hub, monitor, queries) = (
            backing, dispatcher, slowTransactionMonitor, queries
        )
        let (attachments, follower) = (attachments, follower)
        let result: Closing
        do {
            try await Self.runOnThread("sheaf-close") { () throws(StoreError) in
                follower.stop()
                hub.stop()
                monitor.stop()
                queries.log?.write(.info, "closing the store")
                attachments.close()
                do throws(StorageError) { try backing.close() } catch { throw StoreError(error) }
            }
            result = .success(())
        } catch {
            result = .failure(error)
        }
        endClosing(result)
        try result.get()
    }

    /// Returns nil if the caller must close the store, otherwise the result of another caller, once
    /// that has closed it.
    private nonisolated(nonsending) func beginClosing() async -> Closing? {
        await withUnsafeContinuation { (continuation: UnsafeContinuation<Closing?, Never>) in
            let before = phase.withLock { phase in
                let before = phase
                switch phase {
                case .open: phase = .closing([])
                case .closing(let others):
                    phase = .closing(others + [{ continuation.resume(returning: $0) }])
                case .closed: break
                }
                return before
            }
            switch before {
            case .open: continuation.resume(returning: nil)
            case .closing: break
            case .closed(let result): continuation.resume(returning: result)
            }
        }
    }

    private func endClosing(_ result: Closing) {
        let others = phase.withLock { phase in
            defer { phase = .closed(result) }
            guard case .closing(let others) = phase else {
                return [@Sendable (Closing) -> Void]()
            }
            return others
        }
        for resume in others { resume(result) }
    }

    /// Runs blocking work on a new thread, which the cancellation of the task ends early.
    ///
    /// `body` throws an error whose reason is `cancelled` soon after the flag is set.
    static nonisolated(nonsending) func runOnThread<Result: Sendable>(
        cancellably name: String,
        _ body: @escaping @Sendable (EvaluationStop) throws(StoreError) -> Result
    ) async throws -> Result {
        // The thread runs outside of the task, so it cannot see whether the task was canceled.
        let stop = EvaluationStop()
        return try await withTaskCancellationHandler {
            do {
                return try await runOnThread(name) { () throws(StoreError) in try body(stop) }
            } catch let error as StoreError where error.reason == .cancelled {
                throw CancellationError()
            }
        } onCancel: {
            stop.set()
        }
    }

    /// Runs blocking work on a new thread, so that no thread of the task pool blocks.
    static nonisolated(nonsending) func runOnThread<Result: Sendable>(
        _ name: String, _ body: @escaping @Sendable () throws(StoreError) -> Result
    ) async throws -> Result {
        do {
            return try await Thread.run(name: name) { () -> Swift.Result<Result, StoreError> in
                do throws(StoreError) {
                    return .success(try body())
                } catch {
                    return .failure(error)
                }
            }.get()
        } catch let refusal as ThreadRefused {
            throw StoreError(refusal)
        }
    }
}

extension Store.Backing {
    fileprivate var volume: any Volume {
        switch self {
        case .log(let log): log.engine.volume
        case .reader(let reader): reader.volume
        }
    }

    fileprivate var isInMemory: Bool { volume.isInstant }

    fileprivate func close() throws(StorageError) {
        switch self {
        case .log(let log): try log.close()
        case .reader: break
        }
    }

    /// Closes the files after a failed opening, ignoring further errors.
    fileprivate func abandon() {
        do throws(StorageError) { try close() } catch {
            // The error that made the opening fail is thrown instead.
        }
    }
}
