import SheafHubLog
package import SheafReplication
package import SheafSystem

/// The thread that maintains the log of a hub, until the hub stops.
package final class HubMaintenanceThread: Sendable {
    private struct Requests {
        var isStopping = false
        /// Whether the thread has ended.
        var isOver = false
        /// Number of requested replacements, and of those that have ended.
        var requested = 0
        var ended = 0
        /// The outcome of the last one: whether this hub has replaced the log.
        var outcome: Result<Bool, SnapshotFailure> = .success(false)
    }

    private let requests: Monitor<Requests>
    private let stopped = EvaluationStop()
    private let thread: Thread

    /// Starts the thread; `report` is called on it after each step.
    package init(
        _ peer: any HubPeer & Sendable, _ file: ConfigurationFile, key: [UInt8],
        _ settings: HubSettings = HubSettings(),
        _ report: @escaping @Sendable (Result<[HubMaintenance.Event], SnapshotFailure>) -> Void
    ) throws(ThreadRefused) {
        let requests = Monitor(Requests())
        let stopped = stopped
        self.requests = requests
        thread = try Thread(name: "sheaf-hub-log") {
            let maintenance = HubMaintenance(peer, file, key: key, settings, until: stopped)
            Self.run(maintenance, requests, settings, report)
            requests.withLock { $0.isOver = true }
            requests.broadcast()
        }
    }

    /// Blocks until this hub has replaced the log; returns false if another hub does so.
    package func replace() throws(SnapshotFailure) -> Bool {
        let number = requests.withLock { requests in
            requests.requested += 1
            return requests.requested
        }
        requests.broadcast()
        let outcome: Result<Bool, SnapshotFailure> = requests.wait(
            while: { !$0.isOver && $0.ended < number },
            then: { $0.ended < number ? .failure(.stopped) : $0.outcome })
        return try outcome.get()
    }

    /// Ends the thread; returns once it has ended.
    package func stop() {
        stopped.set()
        requests.withLock { $0.isStopping = true }
        requests.broadcast()
        thread.join()
    }

    private static func run(
        _ maintenance: HubMaintenance, _ requests: Monitor<Requests>, _ settings: HubSettings,
        _ report: (Result<[HubMaintenance.Event], SnapshotFailure>) -> Void
    ) {
        var maintenance = maintenance
        while true {
            let request = requests.withLock { $0 }
            guard !request.isStopping else { return }
            let isRequested = request.ended < request.requested
            let result = step(&maintenance, replaces: isRequested)
            if isRequested {
                requests.withLock { requests in
                    requests.ended = request.requested
                    requests.outcome = result.map { events in
                        events.contains { if case .replaces = $0 { true } else { false } }
                    }
                }
                requests.broadcast()
            }
            report(result)
            let milliseconds =
                if case .success = result { settings.stepMilliseconds } else {
                    settings.retryMilliseconds
                }
            let next = Clock.system.monotonicNanoseconds() + milliseconds * 1_000_000
            requests.wait(until: next, while: { !$0.isStopping && $0.ended == $0.requested })
        }
    }

    private static func step(
        _ maintenance: inout HubMaintenance, replaces: Bool
    ) -> Result<[HubMaintenance.Event], SnapshotFailure> {
        do throws(SnapshotFailure) {
            return .success(replaces ? try maintenance.replace() : try maintenance.step())
        } catch {
            return .failure(error)
        }
    }
}
