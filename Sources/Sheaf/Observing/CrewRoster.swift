/// What there is to do for observers, and which of the threads does it.
///
/// One thread at a time looks at what was published. It goes on to call those whom that concerns, since to
/// wake another one takes longer than most callbacks, and one that waits looks from then on. One at a time
/// calls; where it is stuck in a callback for a while, another one goes on with the list. A machine: it
/// has no threads, and is told of theirs.
package struct CrewRoster: Sendable {
    package enum Duty: Sendable {
        case look(Wishes)
        /// `help` tells later whether it was stuck.
        case call(Observer, help: UInt64)
        /// To wait for another version of the roster, until a time if there is one.
        ///
        /// If it is `watching`, it sees to it that somebody who is stuck gets help.
        case wait(version: UInt64, until: UInt64?, isWatching: Bool)
        /// One that ends because the crew is stopped says so by `noteEnd`.
        case end(isStopping: Bool)
    }

    /// What those have done who ask for their next duty.
    package enum Done: Sendable {
        case nothing
        /// Who has to be called, and when to look again, whatever happens.
        case look([Observer], next: UInt64?)
        case calls(help: UInt64)
        case wait(isWatching: Bool)
    }

    /// What somebody should look at.
    package struct Wishes: Sendable {
        /// Whether readers see more than before.
        package var hasPublished = false
        package var arrivals: [Newcomer] = []
        package var departures: [UInt64] = []

        package var isEmpty: Bool { !hasPublished && arrivals.isEmpty && departures.isEmpty }
    }

    /// So many callbacks can be stuck before others wait for them.
    package static let maximumCallers = 64
    /// One of several threads that has nothing to do for so long ends.
    private static let idleNanoseconds: UInt64 = 2_000_000_000

    package init() {}

    private var wishes = Wishes()
    private var isLooking = false
    private var nextLook: UInt64?
    /// Those at and behind `first` have to be called.
    private var list: [Observer] = []
    private var first = 0
    /// How many callbacks were begun: what does not move is stuck.
    private var begun: UInt64 = 0
    private var standstill = Standstill()
    private var threads = 0
    private var callers = 0
    /// How many of those who call were stuck when somebody looked.
    private var stuck = 0
    /// How often somebody was found to be stuck; who began to call before the last time is.
    package private(set) var help: UInt64 = 0
    /// How many of those who wait see to it that somebody who is stuck gets help.
    private var watchers = 0
    package private(set) var isStopping = false
    /// Changes with all that somebody who waits should know of.
    package private(set) var version: UInt64 = 0

    private var idle: Int { threads - callers - (isLooking ? 1 : 0) }
    private var hasList: Bool { first < list.count }
    /// Whether there are threads but for those who are in a callback, which nobody can wait for.
    package var hasOwnThreads: Bool { threads > callers }

    // MARK: Events

    /// Notes that readers see more than before; true where somebody has to be woken.
    package mutating func notePublished() -> Bool {
        guard !wishes.hasPublished else { return false }
        wishes.hasPublished = true
        version &+= 1
        return true
    }

    package mutating func add(_ newcomer: Newcomer) {
        wishes.arrivals.append(newcomer)
        version &+= 1
    }

    package mutating func remove(_ number: UInt64) {
        wishes.departures.append(number)
        version &+= 1
    }

    /// Has observers called, in this order.
    package mutating func deliver(_ observers: [Observer]) {
        guard !isStopping, !observers.isEmpty else { return }
        if first > 0, !hasList {
            list.removeAll(keepingCapacity: list.count < 1 << 14)
            first = 0
        }
        list += observers
        version &+= 1
    }

    /// Ends all threads, once those callbacks return that run.
    package mutating func stop() {
        isStopping = true
        wishes = Wishes()
        list = []
        first = 0
        version &+= 1
    }

    /// Whether whoever asks has to start a thread, since there is none.
    package mutating func takesFirstThread() -> Bool {
        guard threads == 0 else { return false }
        threads = 1
        return true
    }

    package mutating func noteRefusedThread() { threads -= 1 }
    package mutating func noteEnd() { threads -= 1 }

    // MARK: Duties

    /// What the thread has to do that asks; and whether another one is needed, or has to be woken.
    package mutating func next(
        _ done: Done, at now: UInt64, idleSince: UInt64
    ) -> (duty: Duty, needsThread: Bool, wakesAnother: Bool) {
        finish(done)
        let duty = duty(at: now, idleSince: idleSince)
        guard case .call = duty, idle == 0 else { return (duty, false, wakesAnother(duty)) }
        // Nobody knows how long a callback takes.
        threads += 1
        return (duty, true, false)
    }

    /// Whom the thread has to call next that has called somebody; none where it has to ask for its duty.
    ///
    /// `repeated` is called again behind the others: who changes without end shall not keep them waiting.
    package mutating func nextCall(_ repeated: Observer?, help: UInt64) -> Observer? {
        if let repeated { deliver([repeated]) }
        guard !isStopping, help == self.help else { return nil }
        return takeCall()
    }

    private mutating func takeCall() -> Observer? {
        guard hasList else { return nil }
        begun &+= 1
        defer { first += 1 }
        return list[first]
    }

    private mutating func finish(_ done: Done) {
        switch done {
        case .nothing: break
        case .look(let observers, let next):
            isLooking = false
            nextLook = next
            deliver(observers)
        case .calls(let help):
            callers -= 1
            if help != self.help { stuck -= 1 }
        case .wait(let isWatching): if isWatching { watchers -= 1 }
        }
    }

    private mutating func duty(at now: UInt64, idleSince: UInt64) -> Duty {
        if isStopping { return .end(isStopping: true) }
        let standstillDeadline = standstill.deadline(hasList ? begun : nil, at: now)
        if hasList {
            if callers > stuck, standstill.isReached(at: now) {
                stuck = callers
                help &+= 1
            }
            if callers <= stuck, callers < Self.maximumCallers, let observer = takeCall() {
                callers += 1
                return .call(observer, help: help)
            }
        }
        if canLook || (!isLooking && nextLook.map { $0 <= now } ?? false) {
            isLooking = true
            defer { wishes = Wishes() }
            return .look(wishes)
        }
        var deadlines = [standstillDeadline, isLooking ? nil : nextLook].compactMap { $0 }
        if idle > 1 {
            let end = idleSince + Self.idleNanoseconds
            guard now < end else {
                threads -= 1
                return .end(isStopping: false)
            }
            deadlines.append(end)
        }
        if hasList { watchers += 1 }
        return .wait(version: version, until: deadlines.min(), isWatching: hasList)
    }

    private var canLook: Bool { !isLooking && !wishes.isEmpty }

    /// Whether somebody who waits should see what is left when a thread has its duty.
    private func wakesAnother(_ duty: Duty) -> Bool {
        switch duty {
        case .wait: false
        case .end: true
        case .look, .call: idle > 0 && (canLook || hasList && watchers == 0)
        }
    }
}
