import SheafDocument
import SheafEngine
import SheafStatements
import SheafStorage
import SheafSystem
import Synchronization

/// The thread that reads the commits of other processes, while a read-only store has observers.
final class CommitFollower: Sendable {
    private enum Phase: Sendable {
        case idle
        case running(Thread, (any VolumeWatch)?)
        case stopped
    }

    /// The time between two refreshes of a store that cannot be watched.
    private static let pollingMilliseconds = 20
    /// The time between two refreshes of a watched store without events.
    private static let watchedMilliseconds = 1_000

    private let queries: QueryEngine
    private let phase = Monitor(Phase.idle)

    init(_ queries: QueryEngine) {
        self.queries = queries
    }

    /// Starts the thread, unless it runs; a store that is open for writing needs none.
    func start() throws(StoreError) {
        guard case .reader(let reader) = queries.source else { return }
        do throws(ThreadRefused) {
            try phase.withLock { phase throws(ThreadRefused) in
                guard case .idle = phase else { return }
                let thread = try Thread(name: "sheaf-follow") { [weak self] in
                    CommitFollower.run(reader) { self }
                }
                phase = .running(thread, nil)
            }
        } catch {
            throw StoreError(error)
        }
    }

    /// Ends the thread and waits for it.
    func stop() {
        let before = phase.withLock { phase in
            defer { phase = .stopped }
            return phase
        }
        phase.broadcast()
        guard case .running(let thread, let watch) = before else { return }
        watch?.interrupt()
        thread.join()
    }

    private var isStopped: Bool {
        phase.withLock { if case .stopped = $0 { true } else { false } }
    }

    /// Reads commits until the follower is stopped or released.
    private static func run(_ reader: DocumentReader, _ follower: () -> CommitFollower?) {
        var watch: (any VolumeWatch)?
        var failure: EngineError?
        while let self = follower(), !self.isStopped {
            if watch == nil {
                watch = reader.watch()
                self.setWatch(watch)
            }
            do throws(EngineError) {
                try reader.refresh()
                failure = nil
            } catch {
                // The next attempt may succeed; a lasting error is logged once.
                if error != failure { self.log(error) }
                failure = error
            }
            self.wait(watch)
        }
    }

    private func setWatch(_ watch: (any VolumeWatch)?) {
        phase.withLock { phase in
            if case .running(let thread, _) = phase { phase = .running(thread, watch) }
        }
    }

    private func wait(_ watch: (any VolumeWatch)?) {
        if let watch {
            guard !isStopped else { return }
            return watch.wait(milliseconds: Self.watchedMilliseconds)
        }
        let deadline =
            Clock.system.monotonicNanoseconds() + UInt64(Self.pollingMilliseconds) * 1_000_000
        _ = phase.wait(
            until: deadline, while: { if case .stopped = $0 { false } else { true } })
    }

    private func log(_ error: EngineError) {
        queries.log?.write(
            .error, "new commits of another process cannot be read",
            ["reason": "\(StoreError(error).message)"])
    }
}
