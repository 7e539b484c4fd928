/// The scheduler of observer work: decides what each worker thread does next.
///
/// One thread at a time dispatches published commits. It then calls the affected observers itself,
/// since waking another thread takes longer than most callbacks, and a waiting thread dispatches
/// meanwhile. One thread at a time makes calls; while it is stuck in a callback, another one
/// continues with the list. A state machine: it owns no threads.
package struct WorkerScheduler: Sendable {
    /// The next work of a thread.
    package enum Assignment: Sendable {
        case dispatch(PendingWork)
        /// Call an observer; passing the number of stalls back shows whether the thread was stuck.
        case call(ObserverRegistration, stallCount: UInt64)
        /// Wait until `version` changes, or until a time if there is one.
        ///
        /// If `detectsStalls`, the thread wakes in time to detect a stall.
        case wait(version: UInt64, until: UInt64?, detectsStalls: Bool)
        /// End the thread; if `isStopping`, the thread must report its end.
        case end(isStopping: Bool)
    }

    /// The completed assignment of a thread that requests its next one.
    package enum CompletedAssignment: Sendable {
        case nothing
        /// The observers to call, and the time of the next dispatch if nothing is published before.
        case dispatch([ObserverRegistration], next: UInt64?)
        case calls(stallCount: UInt64)
        case wait(detectsStalls: Bool)
    }

    /// The pending work of the dispatcher.
    package struct PendingWork: Sendable {
        /// Whether a snapshot was published since the last dispatch.
        package var hasPublished = false
        package var addedObservers: [NewObserver] = []
        package var removedNumbers: [UInt64] = []

        package var isEmpty: Bool {
            !hasPublished && addedObservers.isEmpty && removedNumbers.isEmpty
        }
    }

    /// Maximum number of threads in callbacks; beyond it, further callbacks wait.
    package static let maximumCallers = 64
    /// The idle time after which a thread ends, unless no other thread is idle.
    private static let idleNanoseconds: UInt64 = 2_000_000_000

    package init() {}

    private var pendingWork = PendingWork()
    private var isDispatching = false
    private var nextDispatch: UInt64?
    /// The observers to call, from index `first` on.
    private var callQueue: [ObserverRegistration] = []
    private var first = 0
    /// The number of callbacks started; while it does not change, the callers may be stuck.
    private var startedCalls: UInt64 = 0
    private var stallDetector = StallDetector()
    private var threads = 0
    private var callers = 0
    /// The number of callers that the last stall check found stuck.
    private var stuckCallers = 0
    /// The number of stalls detected; callers that began before the last one count as stuck.
    package private(set) var stallCount: UInt64 = 0
    /// The number of waiting threads that wake in time to detect a stall.
    private var stallDetectors = 0
    package private(set) var isStopping = false
    /// A counter that changes with everything that waiting threads must react to.
    package private(set) var version: UInt64 = 0

    private var idleCount: Int { threads - callers - (isDispatching ? 1 : 0) }
    private var hasCalls: Bool { first < callQueue.count }
    /// Whether there are threads outside of callbacks, the only ones that can be waited for.
    package var hasOwnThreads: Bool { threads > callers }

    // MARK: Events

    /// Marks a snapshot as published; returns whether a thread must be woken.
    package mutating func markPublished() -> Bool {
        guard !pendingWork.hasPublished else { return false }
        pendingWork.hasPublished = true
        version &+= 1
        return true
    }

    /// Adds an observer at the next dispatch.
    package mutating func add(_ newObserver: NewObserver) {
        pendingWork.addedObservers.append(newObserver)
        version &+= 1
    }

    /// Removes an observer at the next dispatch.
    package mutating func remove(_ number: UInt64) {
        pendingWork.removedNumbers.append(number)
        version &+= 1
    }

    /// Queues observers to be called, in this order.
    package mutating func deliver(_ observers: [ObserverRegistration]) {
        guard !isStopping, !observers.isEmpty else { return }
        callQueue += observers
        version &+= 1
    }

    /// Ends all threads; those in a callback end when it returns.
    package mutating func stop() {
        isStopping = true
        pendingWork = PendingWork()
        callQueue = []
        version &+= 1
    }

    /// Whether the caller must start the first thread, which is then counted as running.
    package mutating func claimFirstThread() -> Bool {
        guard threads == 0 else { return false }
        threads = 1
        return true
    }

    /// Counts a thread that could not be started.
    package mutating func recordRefusedThread() { threads -= 1 }
    /// Counts a thread that has ended after `stop()`.
    package mutating func recordEnd() { threads -= 1 }

    // MARK: Assignments

    /// Returns the next assignment of a thread, and whether to start or wake another thread.
    package mutating func next(
        _ done: CompletedAssignment, at now: UInt64, idleSince: UInt64
    ) -> (duty: Assignment, needsThread: Bool, wakesAnother: Bool) {
        finish(done)
        let assignment = assignment(at: now, idleSince: idleSince)
        guard case .call = assignment, idleCount == 0 else {
            return (assignment, false, wakesAnother(assignment))
        }
        // A callback may take arbitrarily long, so another thread must be available.
        threads += 1
        return (assignment, true, false)
    }

    /// Returns the next observer for a calling thread; nil if it must request an assignment.
    ///
    /// `repeated` is queued after all others, so that constant changes cannot starve them.
    package mutating func nextCall(_ repeated: ObserverRegistration?, stallCount: UInt64)
        -> ObserverRegistration?
    {
        if let repeated { deliver([repeated]) }
        guard !isStopping, stallCount == self.stallCount else { return nil }
        return dequeueCall()
    }

    private mutating func dequeueCall() -> ObserverRegistration? {
        guard hasCalls else { return nil }
        startedCalls &+= 1
        let observer = callQueue[first]
        first += 1
        // An empty queue retains no observer, which may have been released by its user.
        if !hasCalls {
            callQueue.removeAll(keepingCapacity: callQueue.count < 1 << 14)
            first = 0
        }
        return observer
    }

    private mutating func finish(_ done: CompletedAssignment) {
        switch done {
        case .nothing: break
        case .dispatch(let observers, let next):
            isDispatching = false
            nextDispatch = next
            deliver(observers)
        case .calls(let help):
            callers -= 1
            if help != self.stallCount { stuckCallers -= 1 }
        case .wait(let detectsStalls): if detectsStalls { stallDetectors -= 1 }
        }
    }

    private mutating func assignment(at now: UInt64, idleSince: UInt64) -> Assignment {
        if isStopping { return .end(isStopping: true) }
        let standstillDeadline = stallDetector.deadline(hasCalls ? startedCalls : nil, at: now)
        if hasCalls {
            if callers > stuckCallers, stallDetector.hasStalled(at: now) {
                stuckCallers = callers
                stallCount &+= 1
            }
            if callers <= stuckCallers, callers < Self.maximumCallers, let observer = dequeueCall()
            {
                callers += 1
                return .call(observer, stallCount: stallCount)
            }
        }
        if canDispatch || (!isDispatching && nextDispatch.map { $0 <= now } ?? false) {
            isDispatching = true
            defer { pendingWork = PendingWork() }
            return .dispatch(pendingWork)
        }
        // While all callers are stuck, only the end of a callback allows the next call.
        let detectsStalls = hasCalls && callers > stuckCallers
        var deadlines = [
            detectsStalls ? standstillDeadline : nil, isDispatching ? nil : nextDispatch,
        ].compactMap { $0 }
        if idleCount > 1 {
            let end = idleSince + Self.idleNanoseconds
            guard now < end else {
                threads -= 1
                return .end(isStopping: false)
            }
            deadlines.append(end)
        }
        if detectsStalls { stallDetectors += 1 }
        return .wait(version: version, until: deadlines.min(), detectsStalls: detectsStalls)
    }

    private var canDispatch: Bool { !isDispatching && !pendingWork.isEmpty }

    /// Whether a waiting thread must be woken for the work that `assignment` leaves.
    private func wakesAnother(_ assignment: Assignment) -> Bool {
        switch assignment {
        case .wait: false
        case .end: true
        case .dispatch, .call: idleCount > 0 && (canDispatch || hasCalls && stallDetectors == 0)
        }
    }
}
