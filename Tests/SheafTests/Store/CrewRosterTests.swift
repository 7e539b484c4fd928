import Sheaf
import SheafTestSupport
import Testing

/// The roster of the threads for observers, driven by threads that are none.
struct CrewRosterTests {
    /// Threads as a system would run them: any of them that does not wait goes on next.
    private struct Crew {
        enum State {
            case running(CrewRoster.Done)
            case looking
            case calling(Observer, help: UInt64, until: UInt64)
            case waiting(version: UInt64, until: UInt64?, isWatching: Bool)
            case ended
        }

        var roster = CrewRoster()
        var threads: [State] = []
        var idleSince: [UInt64] = []
        var now: UInt64 = 1
        /// Who was published but not looked at, and who was delivered but not called, by numbers.
        var isPublished = false
        var undelivered = 0
        var isHanging = true

        /// Wakes one of those who wait, whichever.
        mutating func signal(_ random: inout SeededRandom) {
            let waiting = threads.indices.filter {
                if case .waiting = threads[$0] { true } else { false }
            }
            guard !waiting.isEmpty else { return }
            wake(waiting[random.below(waiting.count)])
        }

        mutating func wake(_ index: Int) {
            guard case .waiting(_, _, let isWatching) = threads[index] else { return }
            threads[index] = .running(.wait(isWatching: isWatching))
        }

        mutating func addThread() {
            threads.append(.running(.nothing))
            idleSince.append(now)
        }

        /// Those whose deadline has passed, or who do not wait.
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
                // Some of those who are told, and now and then a time to look again.
                let observers = (0..<random.below(4)).map { number in
                    Observer(unattended: "SELECT * FROM t", number: UInt64(number))
                }
                undelivered += observers.count
                threads[index] = .running(.look(observers, next: nil))
            case .calling(let observer, let help, _):
                undelivered -= 1
                let repeated = random.chance(1, in: 10) ? observer : nil
                if repeated != nil { undelivered += 1 }
                if let next = roster.nextCall(repeated, help: help) {
                    threads[index] = .calling(next, help: help, until: end(&random))
                } else {
                    threads[index] = .running(.calls(help: help))
                }
            case .running(let done): ask(index, done, &random)
            case .ended: break
            }
        }

        /// How many callbacks hang.
        var hanging: Int {
            threads.count { if case .calling = $0 { true } else { false } }
        }

        /// Lets those callbacks hang for ever that do now, and no others.
        mutating func hangForEver() {
            isHanging = false
            for index in threads.indices {
                guard case .calling(let observer, let help, let until) = threads[index],
                    until > now
                else { continue }
                threads[index] = .calling(observer, help: help, until: .max)
            }
        }

        /// Lets threads run until none has anything to do.
        mutating func run(_ random: inout SeededRandom) {
            while let index = runnable.randomElement(using: &random) { step(index, &random) }
        }

        /// When a callback returns: mostly at once, and sometimes very late.
        func end(_ random: inout SeededRandom) -> UInt64 {
            isHanging && random.chance(1, in: 20) ? now + 50 * Standstill.nanoseconds : now
        }

        mutating func ask(
            _ index: Int, _ done: CrewRoster.Done, _ random: inout SeededRandom
        ) {
            if case .wait = done {} else { idleSince[index] = now }
            let next = roster.next(done, at: now, idleSince: idleSince[index])
            if next.needsThread { addThread() }
            switch next.duty {
            case .look(let wishes):
                #expect(!threads.contains { if case .looking = $0 { true } else { false } })
                if wishes.hasPublished { isPublished = false }
                threads[index] = .looking
            case .call(let observer, let help):
                threads[index] = .calling(observer, help: help, until: end(&random))
            case .wait(let version, let until, let isWatching):
                threads[index] =
                    version == roster.version
                    ? .waiting(version: version, until: until, isWatching: isWatching)
                    : .running(.wait(isWatching: isWatching))
            case .end(let isStopping):
                if isStopping { roster.noteEnd() }
                threads[index] = .ended
            }
            if next.wakesAnother { signal(&random) }
        }
    }

    @Test func `whatever is published is looked at, and whoever is concerned is called`() {
        let seed = UInt64.random(in: 0..<1_000_000_000)
        print("crew, seed \(seed)")
        for life in 0..<1_000 {
            var random = SeededRandom(seed: seed &+ UInt64(life), "crew")
            run(&random)
        }
    }

    private func run(_ random: inout SeededRandom) {
        var crew = Crew()
        let isFirst = crew.roster.takesFirstThread()
        #expect(isFirst)
        crew.addThread()
        for _ in 0..<300 {
            switch random.below(6) {
            case 0:
                crew.isPublished = true
                if crew.roster.notePublished() { crew.signal(&random) }
            case 1 where random.chance(1, in: 4):
                crew.undelivered += 1
                crew.roster.deliver([Observer(unattended: "SELECT * FROM t", number: 99)])
                crew.signal(&random)
            case 2: crew.now += Standstill.nanoseconds / 3
            default:
                guard let index = crew.runnable.randomElement(using: &random) else { continue }
                crew.step(index, &random)
            }
            let callers = crew.threads.count { thread in
                guard case .calling(_, crew.roster.help, _) = thread else { return false }
                return true
            }
            #expect(callers <= 1, "one at a time, but for those that are stuck")
        }
        settle(&crew, &random)
        stop(&crew, &random)
    }

    /// Lets all threads run until none has anything to do, while callbacks that hang go on to: nothing is
    /// left then to look at, and nobody to call once those who are stuck were found to be.
    private func settle(_ crew: inout Crew, _ random: inout SeededRandom) {
        crew.hangForEver()
        crew.run(&random)
        #expect(!crew.isPublished, "nobody looks at what was published")
        for _ in 0...crew.hanging {
            crew.now += Standstill.nanoseconds
            crew.run(&random)
        }
        #expect(crew.undelivered == crew.hanging, "nobody calls those who are on the list")
    }

    /// Ends the crew: each thread that is in no callback, and then the others.
    private func stop(_ crew: inout Crew, _ random: inout SeededRandom) {
        crew.roster.stop()
        for index in crew.threads.indices { crew.wake(index) }
        crew.run(&random)
        #expect(!crew.roster.hasOwnThreads)
        crew.now = .max
        crew.run(&random)
        #expect(crew.threads.allSatisfy { if case .ended = $0 { true } else { false } })
    }
}
