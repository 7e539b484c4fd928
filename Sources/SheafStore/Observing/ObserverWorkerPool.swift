import SheafStorage
import SheafSystem
import Synchronization

/// The threads that dispatch published commits and call observers.
final class ObserverWorkerPool: Sendable {
    /// A dispatch; returns the observers to call, and the time of the next dispatch, if any.
    typealias DispatchBody =
        @Sendable (WorkerScheduler.PendingWork) -> (called: [ObserverRegistration], next: UInt64?)

    private let scheduler = Monitor(WorkerScheduler())
    private let handles = Mutex(Handles())
    /// The identifier of the dispatching thread; zero if none dispatches.
    private let dispatchingThread = Atomic<UInt>(0)

    private struct Handles: Sendable {
        var threads: [UInt64: Thread] = [:]
        var next: UInt64 = 0
        /// Threads that have ended since the pool was stopped.
        var ended: [UInt64] = []
    }

    /// Adds an observer; returns false if the pool was stopped.
    ///
    /// The first observer starts the first thread.
    func add(_ newObserver: NewObserver, _ dispatch: @escaping DispatchBody) throws(ThreadRefused)
        -> Bool
    {
        let (isStopping, needsThread) = scheduler.withLock { scheduler in
            guard !scheduler.isStopping else { return (true, false) }
            scheduler.add(newObserver)
            return (false, scheduler.claimFirstThread())
        }
        if isStopping { return false }
        if needsThread { try startThread(dispatch) } else { scheduler.signal() }
        return true
    }

    /// Removes an observer at the next dispatch.
    func remove(_ observer: ObserverRegistration) {
        scheduler.withLock { $0.remove(observer.number) }
        scheduler.signal()
    }

    /// Queues an observer to be called after all others.
    func deliver(_ observer: ObserverRegistration) {
        scheduler.withLock { $0.deliver([observer]) }
        scheduler.signal()
    }

    /// Wakes a thread, if there is one, to dispatch published commits or changed parameters.
    func wakeDispatcher() {
        if scheduler.withLock({ $0.markPublished() }) { scheduler.signal() }
    }

    /// Ends the threads; waits for those that are not in a callback.
    func stop() {
        scheduler.withLock { $0.stop() }
        scheduler.broadcast()
        // Releasing an observer may release the store: a dispatching thread must not await itself.
        guard dispatchingThread.load(ordering: .relaxed) != Thread.currentIdentifier else { return }
        scheduler.wait(while: { $0.hasOwnThreads })
        let ended = handles.withLock { handles in
            defer { handles.ended = [] }
            return handles.ended.compactMap { handles.threads.removeValue(forKey: $0) }
        }
        for thread in ended { thread.join() }
    }

    private func startThread(_ dispatch: @escaping DispatchBody) throws(ThreadRefused) {
        let number = handles.withLock { handles in
            handles.next += 1
            return handles.next
        }
        do throws(ThreadRefused) {
            let thread = try Thread(name: "sheaf-observers") { self.run(number, dispatch) }
            handles.withLock { $0.threads[number] = thread }
        } catch {
            scheduler.withLock { $0.recordRefusedThread() }
            throw error
        }
    }

    private func run(_ number: UInt64, _ dispatch: @escaping DispatchBody) {
        var done = WorkerScheduler.CompletedAssignment.nothing
        var idleSince = Clock.system.monotonicNanoseconds()
        while true {
            let now = Clock.system.monotonicNanoseconds()
            if case .wait = done {} else { idleSince = now }
            let next = scheduler.withLock { $0.next(done, at: now, idleSince: idleSince) }
            // A waiting thread retains no observer.
            done = .nothing
            if next.wakesAnother { scheduler.signal() }
            // If no thread starts, new work is dispatched after the callback.
            if next.needsThread { try? startThread(dispatch) }
            switch next.duty {
            case .dispatch(let work):
                dispatchingThread.store(Thread.currentIdentifier, ordering: .relaxed)
                let (called, time) = dispatch(work)
                dispatchingThread.store(0, ordering: .relaxed)
                done = .dispatch(called, next: time)
            case .call(let observer, let help):
                call(observer, help)
                done = .calls(stallCount: help)
            case .wait(let version, let deadline, let detectsStalls):
                scheduler.wait(until: deadline, while: { $0.version == version })
                done = .wait(detectsStalls: detectsStalls)
            case .end(let isStopping):
                handles.withLock { handles in
                    if isStopping {
                        handles.ended.append(number)
                    } else {
                        handles.threads[number] = nil
                    }
                }
                if isStopping {
                    scheduler.withLock { $0.recordEnd() }
                    scheduler.broadcast()
                }
                return
            }
        }
    }

    /// Calls an observer, then further ones in the list.
    private func call(_ observer: ObserverRegistration, _ help: UInt64) {
        var observer = observer
        while true {
            let repeated = observer.call() ? observer : nil
            guard let next = scheduler.withLock({ $0.nextCall(repeated, stallCount: help) }) else {
                return
            }
            observer = next
        }
    }
}
