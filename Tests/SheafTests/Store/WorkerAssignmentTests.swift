import Sheaf
import SheafStatements
import Testing

/// Tests of the assignments of observer threads, one by one.
struct WorkerAssignmentTests {
    private static let stall: UInt64 = 5_000_000
    private var scheduler = WorkerScheduler()

    init() {
        _ = scheduler.claimFirstThread()
    }

    private static func observers(_ numbers: UInt64...) -> [ObserverRegistration] {
        numbers.map { ObserverRegistration(unattended: "SELECT * FROM t", number: $0) }
    }

    /// Returns the text of the next assignment: what a thread does, and which others it needs.
    private mutating func next(
        _ done: WorkerScheduler.CompletedAssignment, at now: UInt64
    ) -> String {
        let next = scheduler.next(done, at: now, idleSince: now)
        let others = (next.needsThread ? ", start" : "") + (next.wakesAnother ? ", wake" : "")
        switch next.duty {
        case .dispatch(let work):
            let published = work.hasPublished ? " published" : ""
            return "dispatch\(published) \(work.removedNumbers)" + others
        case .call(let observer, let stallCount):
            return "call \(observer.number) after \(stallCount) stalls" + others
        case .wait(let version, let until, let detectsStalls):
            let end = until.map { " until \($0)" } ?? ""
            let isCurrent = version == scheduler.version
            return (isCurrent ? "wait" : "return") + end + (detectsStalls ? " for calls" : "")
                + others
        case .end(let isStopping): return (isStopping ? "stop" : "end") + others
        }
    }

    @Test mutating func `published snapshots and removed observers are dispatched once`() {
        let version = scheduler.version
        let isFirst = scheduler.markPublished()
        let isSecond = scheduler.markPublished()
        #expect(isFirst && !isSecond)
        #expect(scheduler.version == version + 1)
        scheduler.remove(7)
        scheduler.remove(8)
        #expect(scheduler.version == version + 3)
        #expect(next(.nothing, at: 1) == "dispatch published [7, 8]")
        let isAgain = scheduler.markPublished()
        #expect(isAgain)
        #expect(next(.dispatch([], next: 500), at: 2) == "dispatch published []")
        #expect(next(.dispatch([], next: 500), at: 499) == "wait until 500")
        #expect(next(.wait(detectsStalls: false), at: 500) == "dispatch []")
        #expect(next(.dispatch([], next: nil), at: 501) == "wait")
        #expect(next(.wait(detectsStalls: false), at: 900) == "wait")
    }

    @Test mutating func `a second thread dispatches while the first one calls`() {
        let first = Self.observers(1, 2)
        _ = scheduler.markPublished()
        #expect(next(.nothing, at: 1) == "dispatch published []")
        #expect(next(.dispatch(first, next: 600), at: 2) == "call 1 after 0 stalls, start")
        #expect(next(.nothing, at: 3) == "wait until 600 for calls")
        _ = scheduler.markPublished()
        #expect(next(.wait(detectsStalls: true), at: 4) == "dispatch published []")
        // While a thread dispatches, no other one does so, also when it is due.
        #expect(next(.calls(stallCount: 0), at: 700) == "call 2 after 0 stalls, start")
        #expect(next(.nothing, at: 701) == "wait")
    }

    @Test mutating func `calls continue on another thread once a callback takes five milliseconds`()
    {
        scheduler.deliver(Self.observers(1, 2))
        #expect(next(.nothing, at: 10) == "call 1 after 0 stalls, start")
        #expect(next(.nothing, at: 11) == "wait until 5000011 for calls")
        #expect(next(.wait(detectsStalls: true), at: 5_000_010) == "wait until 5000011 for calls")
        #expect(
            next(.wait(detectsStalls: true), at: 5_000_011) == "call 2 after 1 stalls, start")
        #expect(scheduler.stallCount == 1)
        scheduler.deliver(Self.observers(3))
        // The thread that was stuck calls no other observer, and is one of the idle ones.
        #expect(scheduler.nextCall(nil, stallCount: 0)?.number == nil)
        #expect(
            next(.calls(stallCount: 0), at: 5_000_020) == "wait until 10000020 for calls")
        #expect(scheduler.nextCall(nil, stallCount: 1)?.number == 3)
        #expect(next(.wait(detectsStalls: true), at: 5_000_030) == "wait until 2005000030")
    }

    @Test mutating func `an observer that is called again is called after the others`() throws {
        scheduler.deliver(Self.observers(1))
        #expect(next(.nothing, at: 1) == "call 1 after 0 stalls, start")
        let first = try #require(Self.observers(1).first)
        scheduler.deliver(Self.observers(2, 3))
        let numbers = [
            scheduler.nextCall(first, stallCount: 0)?.number,
            scheduler.nextCall(nil, stallCount: 0)?.number,
            scheduler.nextCall(nil, stallCount: 0)?.number,
            scheduler.nextCall(nil, stallCount: 0)?.number,
        ]
        #expect(numbers == [2, 3, 1, nil])
        let version = scheduler.version
        scheduler.deliver([])
        #expect(scheduler.version == version)
        scheduler.deliver(Self.observers(4))
        #expect(scheduler.version == version + 1)
    }

    @Test mutating func `an idle thread is woken for work that nothing else would find`() {
        scheduler.deliver(Self.observers(1))
        #expect(next(.nothing, at: 1) == "call 1 after 0 stalls, start")
        #expect(next(.nothing, at: 2) == "wait")
        scheduler.deliver(Self.observers(2))
        #expect(next(.calls(stallCount: 0), at: 3) == "call 2 after 0 stalls")
        scheduler.deliver(Self.observers(3, 4))
        // No waiting thread would notice that the callback does not return.
        #expect(next(.calls(stallCount: 0), at: 4) == "call 3 after 0 stalls, wake")
        #expect(next(.wait(detectsStalls: false), at: 5) == "wait until 5000005 for calls")
        scheduler.deliver(Self.observers(5))
        #expect(next(.calls(stallCount: 0), at: 6) == "call 4 after 0 stalls")
        _ = scheduler.markPublished()
        #expect(next(.calls(stallCount: 0), at: 7) == "call 5 after 0 stalls, wake")
    }

    @Test mutating func `at most 64 threads are in callbacks`() {
        var now: UInt64 = 1
        for number in UInt64(1)...64 {
            scheduler.deliver(Self.observers(number))
            if number > 1 {
                #expect(next(.nothing, at: now) == "wait until \(now + Self.stall) for calls")
                now += Self.stall
            }
            #expect(
                next(number > 1 ? .wait(detectsStalls: true) : .nothing, at: now)
                    == "call \(number) after \(number - 1) stalls, start")
        }
        scheduler.deliver(Self.observers(65, 66))
        #expect(next(.nothing, at: now) == "wait until \(now + Self.stall) for calls")
        now += Self.stall
        // No time allows another call, so the thread waits for the end of a callback.
        #expect(next(.wait(detectsStalls: true), at: now) == "wait")
        now += 9 * Self.stall
        #expect(next(.wait(detectsStalls: false), at: now) == "wait")
        #expect(next(.calls(stallCount: 3), at: now) == "call 65 after 64 stalls, wake")
        #expect(
            next(.wait(detectsStalls: false), at: now)
                == "wait until \(now + Self.stall) for calls")
    }

    @Test mutating func `a stopped scheduler ends each thread, and calls no observer`() {
        scheduler.deliver(Self.observers(1, 2))
        #expect(next(.nothing, at: 1) == "call 1 after 0 stalls, start")
        let version = scheduler.version
        scheduler.stop()
        #expect(scheduler.isStopping && scheduler.version == version + 1)
        scheduler.deliver(Self.observers(3))
        #expect(scheduler.version == version + 1)
        #expect(scheduler.nextCall(nil, stallCount: 0)?.number == nil)
        #expect(scheduler.hasOwnThreads)
        #expect(next(.nothing, at: 2) == "stop, wake")
        scheduler.recordEnd()
        #expect(!scheduler.hasOwnThreads)
        #expect(next(.calls(stallCount: 0), at: 3) == "stop, wake")
        scheduler.recordEnd()
        let isFirst = scheduler.claimFirstThread()
        #expect(isFirst)
    }
}
