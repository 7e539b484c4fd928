import Sheaf
import SheafStatements
import SheafTestSupport
import Testing

/// The scheduler of observer threads, driven by simulated threads.
struct WorkerSchedulerTests {
    /// Simulated threads; a random runnable one continues next.
    private struct SimulatedThreads {
        package enum State {
            case running(WorkerScheduler.CompletedAssignment)
            case looking
            case calling(ObserverRegistration, help: UInt64, until: UInt64)
            case waiting(version: UInt64, until: UInt64?, detectsStalls: Bool)
            case ended
        }

        var scheduler = WorkerScheduler()
        var threads: [State] = []
        var idleSince: [UInt64] = []
        var now: UInt64 = 1
        /// Whether a snapshot was published since the last dispatch.
        var isPublished = false
        /// The number of queued observers whose callbacks have not returned.
        var undelivered = 0
        /// Whether callbacks may take longer than the stall timeout.
        var isHanging = true

        /// Wakes a random waiting thread.
        mutating func signal(_ random: inout SeededRandom) {
            let waiting = threads.indices.filter {
                if case .waiting = threads[$0] { true } else { false }
            }
            guard !waiting.isEmpty else { return }
            wake(waiting[random.below(waiting.count)])
        }

        mutating func wake(_ index: Int) {
            guard case .waiting(_, _, let detectsStalls) = threads[index] else { return }
            threads[index] = .running(.wait(detectsStalls: detectsStalls))
        }

        mutating func addThread() {
            threads.append(.running(.nothing))
            idleSince.append(now)
        }

        /// The indexes of threads that can continue now.
        var runnable: [Int] {
            threads.indices.filter { index in
                switch threads[index] {
                case .running, .looking: true
                case .calling(_, _, let until): until <= now
                case .waiting(_, let until, _): until.map { $0 <= now } ?? false
                case .ended: false
                }
            }
        }

        mutating func step(_ index: Int, _ random: inout SeededRandom) {
            switch threads[index] {
            case .waiting: wake(index)
            case .looking:
                // The dispatch affects up to three observers.
                let observers = (0..<random.below(4)).map { number in
                    ObserverRegistration(unattended: "SELECT * FROM t", number: UInt64(number))
                }
                undelivered += observers.count
                threads[index] = .running(.dispatch(observers, next: nil))
            case .calling(let observer, let help, _):
                undelivered -= 1
                let repeated = random.chance(1, in: 10) ? observer : nil
                if repeated != nil { undelivered += 1 }
                if let next = scheduler.nextCall(repeated, stallCount: help) {
                    threads[index] = .calling(next, help: help, until: end(&random))
                } else {
                    threads[index] = .running(.calls(stallCount: help))
                }
            case .running(let done): ask(index, done, &random)
            case .ended: break
            }
        }

        /// The number of threads in callbacks.
        var hanging: Int {
            threads.count { if case .calling = $0 { true } else { false } }
        }

        /// Makes the current stuck callbacks hang forever, and all later ones return immediately.
        mutating func hangForEver() {
            isHanging = false
            for index in threads.indices {
                guard case .calling(let observer, let help, let until) = threads[index],
                    until > now
                else { continue }
                threads[index] = .calling(observer, help: help, until: .max)
            }
        }

        /// Runs threads until none is runnable.
        mutating func run(_ random: inout SeededRandom) {
            while let index = runnable.randomElement(using: &random) { step(index, &random) }
        }

        /// Returns the time at which a callback ends, which is sometimes after a stall.
        func end(_ random: inout SeededRandom) -> UInt64 {
            isHanging && random.chance(1, in: 20)
                ? now + 50 * StallDetector.timeoutNanoseconds : now
        }

        mutating func ask(
            _ index: Int, _ done: WorkerScheduler.CompletedAssignment, _ random: inout SeededRandom
        ) {
            if case .wait = done {} else { idleSince[index] = now }
            let next = scheduler.next(done, at: now, idleSince: idleSince[index])
            if next.needsThread { addThread() }
            switch next.duty {
            case .dispatch(let pending):
                #expect(!threads.contains { if case .looking = $0 { true } else { false } })
                if pending.hasPublished { isPublished = false }
                threads[index] = .looking
            case .call(let observer, let help):
                threads[index] = .calling(observer, help: help, until: end(&random))
            case .wait(let version, let until, let detectsStalls):
                threads[index] =
                    version == scheduler.version
                    ? .waiting(version: version, until: until, detectsStalls: detectsStalls)
                    : .running(.wait(detectsStalls: detectsStalls))
            case .end(let isStopping):
                if isStopping { scheduler.recordEnd() }
                threads[index] = .ended
            }
            if next.wakesAnother { signal(&random) }
        }
    }

    @Test func `each published snapshot is dispatched and each affected observer is called`() {
        let seed = UInt64.random(in: 0..<1_000_000_000)
        print("worker scheduler, seed \(seed)")
        for life in 0..<1_000 {
            var random = SeededRandom(seed: seed &+ UInt64(life), "crew")
            run(&random)
        }
    }

    private func run(_ random: inout SeededRandom) {
        var workers = SimulatedThreads()
        let isFirst = workers.scheduler.claimFirstThread()
        #expect(isFirst)
        workers.addThread()
        for _ in 0..<300 {
            switch random.below(6) {
            case 0:
                workers.isPublished = true
                if workers.scheduler.markPublished() { workers.signal(&random) }
            case 1 where random.chance(1, in: 4):
                workers.undelivered += 1
                workers.scheduler.deliver([
                    ObserverRegistration(unattended: "SELECT * FROM t", number: 99)
                ]
                )
                workers.signal(&random)
            case 2: workers.now += StallDetector.timeoutNanoseconds / 3
            default:
                guard let index = workers.runnable.randomElement(using: &random) else { continue }
                workers.step(index, &random)
            }
            let callers = workers.threads.count { thread in
                guard case .calling(_, workers.scheduler.stallCount, _) = thread else {
                    return false
                }
                return true
            }
            #expect(callers <= 1, "more than one thread that is not stuck makes calls")
        }
        settle(&workers, &random)
        stop(&workers, &random)
    }

    /// Runs all threads until none is runnable, while stuck callbacks keep hanging.
    ///
    /// Checks that all snapshots are dispatched and all observers but the stuck ones are called.
    private func settle(_ workers: inout SimulatedThreads, _ random: inout SeededRandom) {
        workers.hangForEver()
        workers.run(&random)
        #expect(!workers.isPublished, "a published snapshot was not dispatched")
        for _ in 0...workers.hanging {
            workers.now += StallDetector.timeoutNanoseconds
            workers.run(&random)
        }
        #expect(workers.undelivered == workers.hanging, "a queued observer was not called")
    }

    /// Stops the scheduler: threads outside of callbacks end first, then the others.
    private func stop(_ workers: inout SimulatedThreads, _ random: inout SeededRandom) {
        workers.scheduler.stop()
        for index in workers.threads.indices { workers.wake(index) }
        workers.run(&random)
        #expect(!workers.scheduler.hasOwnThreads)
        workers.now = .max
        workers.run(&random)
        #expect(workers.threads.allSatisfy { if case .ended = $0 { true } else { false } })
    }

    @Test func `one thread is first, unless it could not be started`() {
        var scheduler = WorkerScheduler()
        let isFirst = scheduler.claimFirstThread()
        let isAnother = scheduler.claimFirstThread()
        #expect(isFirst && !isAnother)
        scheduler.recordRefusedThread()
        let isRetried = scheduler.claimFirstThread()
        #expect(isRetried)
    }

    @Test func `of two idle threads, one ends after two seconds, and the last one stays`() {
        var scheduler = WorkerScheduler()
        let isFirst = scheduler.claimFirstThread()
        #expect(isFirst)
        scheduler.deliver([ObserverRegistration(unattended: "SELECT * FROM t", number: 1)])
        // The first thread calls the observer, so another one is started.
        let call = scheduler.next(.nothing, at: 1, idleSince: 1)
        guard case .call(_, let stallCount) = call.duty, call.needsThread else {
            Issue.record("\(call)")
            return
        }
        let alone = scheduler.next(.nothing, at: 1, idleSince: 1)
        #expect(waits(alone.duty) == [nil], "\(alone)")
        let second = scheduler.next(.calls(stallCount: stallCount), at: 10, idleSince: 10)
        let end: UInt64 = 2_000_000_010
        #expect(waits(second.duty) == [end], "\(second)")
        let early = scheduler.next(.wait(detectsStalls: false), at: end - 1, idleSince: 10)
        #expect(waits(early.duty) == [end], "\(early)")
        let late = scheduler.next(.wait(detectsStalls: false), at: end, idleSince: 10)
        guard case .end(isStopping: false) = late.duty, late.wakesAnother else {
            Issue.record("\(late)")
            return
        }
        let last = scheduler.next(.wait(detectsStalls: false), at: end * 2, idleSince: 1)
        #expect(waits(last.duty) == [nil], "\(last)")
        #expect(scheduler.hasOwnThreads)
    }

    /// Returns the time until which a thread waits, nil without a limit; empty if it does not wait.
    private func waits(_ assignment: WorkerScheduler.Assignment) -> [UInt64?] {
        guard case .wait(_, let until, _) = assignment else { return [] }
        return [until]
    }
}
