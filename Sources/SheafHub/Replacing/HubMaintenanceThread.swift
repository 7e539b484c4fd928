import SheafHubLog
package import SheafReplication
package import SheafSystem

/// The threads that maintain the log of a hub, until the hub stops.
///
/// One follows the configuration, and replaces the log. Snapshots take long, so the other one
/// writes, verifies and removes them.
package final class HubMaintenanceThread: Sendable {
    /// One of the threads.
    package enum Work: Sendable { case log, snapshots }

    package typealias Outcome = Result<[HubMaintenance.Event], SnapshotFailure>

    private struct Requests {
        var isStopping = false
        /// Whether the thread has ended.
        var isOver = false
        /// Number of requested replacements, and of those that have ended.
        var requested = 0
        var ended = 0
        /// Whether one of those that have not ended is forced.
        var isForced = false
        /// The outcome of the last one: whether this hub has replaced the log.
        var outcome: Result<Bool, SnapshotFailure> = .success(false)
    }

    private let requests: Monitor<Requests>
    private let stopped = EvaluationStop()
    private let threads: [Thread]

    /// Starts the threads; `report` is called on them after each step.
    package init(
        _ peer: any HubPeer & Sendable, _ file: ConfigurationFile, key: [UInt8],
        _ settings: HubSettings = HubSettings(),
        _ report: @escaping @Sendable (Work, Outcome) -> Void
    ) throws(ThreadRefused) {
        let requests = Monitor(Requests())
        let stopped = stopped
        self.requests = requests
        let snapshots = try Thread(name: "sheaf-hub-snapshots") {
            Self.run(HubSnapshots(peer, file, settings, until: stopped), requests, settings) {
                report(.snapshots, $0)
            }
        }
        do throws(ThreadRefused) {
            let log = try Thread(name: "sheaf-hub-log") {
                let maintenance = HubMaintenance(peer, file, key: key, settings, until: stopped)
                Self.run(maintenance, requests, settings) { report(.log, $0) }
                requests.withLock { $0.isOver = true }
                requests.broadcast()
            }
            threads = [log, snapshots]
        } catch {
            stopped.set()
            requests.withLock { $0.isStopping = true }
            requests.broadcast()
            snapshots.join()
            throw error
        }
    }

    /// Blocks until this hub has replaced the log; returns false if another hub does so.
    package func replace(isForced: Bool) throws(SnapshotFailure) -> Bool {
        let number = requests.withLock { requests in
            requests.requested += 1
            if isForced { requests.isForced = true }
            return requests.requested
        }
        requests.broadcast()
        let outcome: Result<Bool, SnapshotFailure> = requests.wait(
            while: { !$0.isOver && $0.ended < number },
            then: { $0.ended < number ? .failure(.stopped) : $0.outcome })
        return try outcome.get()
    }

    /// Ends the threads; returns once they have ended.
    package func stop() {
        stopped.set()
        requests.withLock { $0.isStopping = true }
        requests.broadcast()
        for thread in threads { thread.join() }
    }

    private static func run(
        _ maintenance: HubMaintenance, _ requests: Monitor<Requests>, _ settings: HubSettings,
        _ report: (Outcome) -> Void
    ) {
        var maintenance = maintenance
        while true {
            let request = requests.withLock { $0 }
            guard !request.isStopping else { return }
            let isRequested = request.ended < request.requested
            let result = result { () throws(SnapshotFailure) in
                isRequested
                    ? try maintenance.replace(isForced: request.isForced) : try maintenance.step()
            }
            if isRequested {
                requests.withLock { requests in
                    requests.ended = request.requested
                    requests.isForced = false
                    requests.outcome = result.map { events in
                        events.contains { if case .replaces = $0 { true } else { false } }
                    }
                }
                requests.broadcast()
            }
            report(result)
            let next = next(after: result, settings)
            requests.wait(until: next, while: { !$0.isStopping && $0.ended == $0.requested })
        }
    }

    private static func run(
        _ snapshots: HubSnapshots, _ requests: Monitor<Requests>, _ settings: HubSettings,
        _ report: (Outcome) -> Void
    ) {
        var snapshots = snapshots
        while !requests.withLock({ $0.isStopping }) {
            let result = result { () throws(SnapshotFailure) in
                try snapshots.step().map { HubMaintenance.Event.snapshot($0) }
            }
            report(result)
            requests.wait(until: next(after: result, settings), while: { !$0.isStopping })
        }
    }

    /// Returns the time at which the next step begins.
    private static func next(
        after result: Outcome, _ settings: HubSettings
    ) -> UInt64 {
        let hasFailed = if case .failure = result { true } else { false }
        return settings.nextStep(
            after: settings.stepMilliseconds, hasFailed: hasFailed,
            at: Clock.system.monotonicNanoseconds())
    }

    private static func result(
        _ body: () throws(SnapshotFailure) -> [HubMaintenance.Event]
    ) -> Outcome {
        do throws(SnapshotFailure) { return .success(try body()) } catch { return .failure(error) }
    }
}
