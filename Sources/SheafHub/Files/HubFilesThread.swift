import SheafHubLog
import SheafReplication
import SheafSystem

/// The thread that moves attachments between a hub and the object store, until the hub stops.
final class HubFilesThread: Sendable {
    private let isStopping = Monitor(false)
    private let stopped = EvaluationStop()
    private let thread: Thread

    /// Starts the thread; `report` is called on it after each step.
    init(
        _ peer: any HubPeer & Sendable, _ objects: any HubObjects, _ settings: HubSettings,
        _ report:
            @escaping @Sendable (HubFiles, Result<[HubFiles.Event], SnapshotFailure>) -> Void
    ) throws(ThreadRefused) {
        let (isStopping, stopped) = (isStopping, stopped)
        thread = try Thread(name: "sheaf-hub-files") {
            var files = HubFiles(peer, objects, settings, until: stopped)
            while !stopped.isSet {
                let result: Result<[HubFiles.Event], SnapshotFailure>
                do throws(SnapshotFailure) { result = .success(try files.step()) } catch {
                    result = .failure(error)
                }
                report(files, result)
                let hasFailed = if case .failure = result { true } else { false }
                let next = settings.nextStep(
                    after: files.isBusy ? 0 : settings.fileStepMilliseconds, hasFailed: hasFailed,
                    at: Clock.system.monotonicNanoseconds())
                isStopping.wait(until: next, while: { !$0 })
            }
        }
    }

    /// Ends the thread; returns once it has ended.
    func stop() {
        stopped.set()
        isStopping.withLock { $0 = true }
        isStopping.broadcast()
        thread.join()
    }
}
