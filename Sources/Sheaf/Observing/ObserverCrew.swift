import SheafStorage
import Synchronization

/// The threads that look at what was published, and call observers.
final class ObserverCrew: Sendable {
    /// Works out what is new; returns whom to call, and when to look again, whatever happens.
    typealias Look = @Sendable (CrewRoster.Wishes) -> (called: [Observer], next: UInt64?)

    private let roster = Monitor(CrewRoster())
    private let handles = Mutex(Handles())
    /// Of the thread that looks.
    private let looker = Atomic<UInt>(0)

    private struct Handles: Sendable {
        var threads: [UInt64: Thread] = [:]
        var next: UInt64 = 0
        /// Those that have ended since the crew was stopped.
        var ended: [UInt64] = []
    }

    /// Takes in somebody who is told from now on; false where the crew was stopped.
    ///
    /// `look` is what its threads do; the first one comes with the first observer.
    func add(_ newcomer: Newcomer, _ look: @escaping Look) throws(ThreadRefused) -> Bool {
        let (isStopping, needsThread) = roster.withLock { roster in
            guard !roster.isStopping else { return (true, false) }
            roster.add(newcomer)
            return (false, roster.takesFirstThread())
        }
        if isStopping { return false }
        if needsThread { try startThread(look) } else { roster.signal() }
        return true
    }

    func remove(_ observer: Observer) {
        roster.withLock { $0.remove(observer.number) }
        roster.signal()
    }

    /// Has an observer called, behind all others.
    func deliver(_ observer: Observer) {
        roster.withLock { $0.deliver([observer]) }
        roster.signal()
    }

    /// Has a thread look, if there is one: at what was published, or at parameters that were set.
    func ring() {
        if roster.withLock({ $0.notePublished() }) { roster.signal() }
    }

    /// Ends the threads, those in a callback when it returns; waits for the others.
    func stop() {
        roster.withLock { $0.stop() }
        roster.broadcast()
        // Whoever lets go of an observer may let go of the store with it.
        guard looker.load(ordering: .relaxed) != Thread.currentIdentifier else { return }
        roster.wait(while: { $0.hasOwnThreads })
        let ended = handles.withLock { handles in
            defer { handles.ended = [] }
            return handles.ended.compactMap { handles.threads.removeValue(forKey: $0) }
        }
        for thread in ended { thread.join() }
    }

    // MARK: Threads

    private func startThread(_ look: @escaping Look) throws(ThreadRefused) {
        let number = handles.withLock { handles in
            handles.next += 1
            return handles.next
        }
        do throws(ThreadRefused) {
            let thread = try Thread(name: "sheaf-observers") { self.run(number, look) }
            handles.withLock { $0.threads[number] = thread }
        } catch {
            roster.withLock { $0.noteRefusedThread() }
            throw error
        }
    }

    private func run(_ number: UInt64, _ look: @escaping Look) {
        var done = CrewRoster.Done.nothing
        var idleSince = Clock.system.monotonicNanoseconds()
        while true {
            let now = Clock.system.monotonicNanoseconds()
            if case .wait = done {} else { idleSince = now }
            let next = roster.withLock { $0.next(done, at: now, idleSince: idleSince) }
            if next.wakesAnother { roster.signal() }
            // Without one, what comes meanwhile is looked at when the callback has returned.
            if next.needsThread { try? startThread(look) }
            switch next.duty {
            case .look(let wishes):
                looker.store(Thread.currentIdentifier, ordering: .relaxed)
                let (called, time) = look(wishes)
                looker.store(0, ordering: .relaxed)
                done = .look(called, next: time)
            case .call(let observer, let help):
                call(observer, help)
                done = .calls(help: help)
            case .wait(let version, let deadline, let isWatching):
                roster.wait(until: deadline, while: { $0.version == version })
                done = .wait(isWatching: isWatching)
            case .end(let isStopping):
                handles.withLock { handles in
                    if isStopping {
                        handles.ended.append(number)
                    } else {
                        handles.threads[number] = nil
                    }
                }
                if isStopping {
                    roster.withLock { $0.noteEnd() }
                    roster.broadcast()
                }
                return
            }
        }
    }

    /// Calls an observer, and whoever else is on the list.
    private func call(_ observer: Observer, _ help: UInt64) {
        var observer = observer
        while true {
            let repeated = observer.call() ? observer : nil
            guard let next = roster.withLock({ $0.nextCall(repeated, help: help) }) else { return }
            observer = next
        }
    }
}
