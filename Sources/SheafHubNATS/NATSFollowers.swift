#if NATS
    import SheafHubEngine
    import SheafHubLog
    import SheafSystem

    /// The followed shards of a hub, and the thread that creates their consumers and reads again.
    final class NATSFollowers: Sendable {
        /// A subscription of a shard, which has one consumer.
        private final class Subscription: NATSReceiver {
            let shard: HubShard
            private let owner: NATSFollowers

            init(_ shard: HubShard, _ owner: NATSFollowers) {
                (self.shard, self.owner) = (shard, owner)
            }

            func received(_ message: borrowing NATSMessage) { owner.received(message, self) }
        }

        private struct State {
            var followers: [HubShard: NATSFollower] = [:]
            /// The subscriptions of libnats and their shards, by the numbers of their receivers.
            var subscriptions: [UInt: NATSSubscription] = [:]
            var numbers: [ObjectIdentifier: UInt] = [:]
            var rereads: [NATSReread] = []
            /// Entries to read again that wait for credit.
            var blocked: [HubShard: [NATSReread]] = [:]
            var isWanted = false
            var isStopped = false
        }

        /// Interval at which the thread checks what is due.
        private static let tickNanoseconds: UInt64 = 250_000_000

        private let state: Monitor<State>
        private let session: NATSSession
        private let streams: NATSStreams
        private let events: HubEventThread
        private let unreadLength: Int
        private let thread = Monitor<Thread?>(nil)

        init(_ session: NATSSession, _ streams: NATSStreams, _ events: HubEventThread, unread: Int)
        {
            state = Monitor(State())
            (self.session, self.streams, self.events) = (session, streams, events)
            unreadLength = unread
        }

        /// Starts the thread, which retains this object until `stop`.
        func start() throws(HubLogError) {
            do throws(ThreadRefused) {
                let started = try Thread(name: "sheaf-hub-read") { [self] in run() }
                thread.withLock { $0 = started }
            } catch {
                throw .refused("the system has no thread for the hub log (error \(error.code))")
            }
        }

        /// Ends the thread and all subscriptions.
        func stop() {
            state.withLock { $0.isStopped = true }
            state.broadcast()
            thread.withLock { thread in
                defer { thread = nil }
                return thread
            }?.join()
            let numbers = state.withLock { state in
                state.followers = [:]
                return Array(state.subscriptions.keys)
            }
            for number in numbers { end(number) }
        }

        // MARK: - Calls of the hub

        func follow(_ shard: HubShard, from entry: UInt64) {
            change(shard) { $0.follow(from: entry, at: now) }
        }

        func unfollow(_ shard: HubShard) {
            change(shard) { $0.unfollow() }
            state.withLock { state in
                state.blocked[shard] = nil
                state.rereads.removeAll { $0.shard == shard }
            }
        }

        func consumed(_ bytes: Int, of shard: HubShard) {
            change(shard) { $0.consumed(bytes) }
            state.withLock { state in
                state.rereads += state.blocked.removeValue(forKey: shard) ?? []
            }
            state.broadcast()
        }

        func reread(_ entries: ClosedRange<UInt64>, of shard: HubShard) {
            wake { state in
                state.rereads.append(NATSReread(shard: shard, call: entries, entries: entries))
            }
        }

        /// Replaces all consumers, since the brokers may have sent to the lost connection.
        func reconnected() {
            let now = now
            wake { state in
                for shard in state.followers.keys { state.followers[shard]?.resubscribe(at: now) }
            }
        }

        private var now: UInt64 { Clock.system.monotonicNanoseconds() }

        private func wake(_ body: (inout State) -> Void) {
            state.withLock { state in
                guard !state.isStopped else { return }
                body(&state)
                state.isWanted = true
            }
            state.broadcast()
        }

        private func change(_ shard: HubShard, _ body: (inout NATSFollower) -> Void) {
            let reply: String? = state.withLock { state in
                guard !state.isStopped else { return nil }
                let none = NATSFollower(unreadLength: unreadLength)
                body(&state.followers[shard, default: none])
                state.isWanted = true
                return deliver(shard, &state)
            }
            state.broadcast()
            if let reply { session.publish(reply, []) }
        }

        /// Posts the entries that may be delivered; returns where flow control is answered.
        private func deliver(_ shard: HubShard, _ state: inout State) -> String? {
            // Posted under the lock, so that concurrent calls keep the order of the entries.
            guard let entries = state.followers[shard]?.takeEntries() else { return nil }
            if !entries.isEmpty { events.post(.received(entries, of: shard)) }
            return state.followers[shard]?.takeFlowReply()
        }

        // MARK: - Messages

        private func received(_ message: borrowing NATSMessage, _ subscription: Subscription) {
            let shard = subscription.shard
            let content = NATSConsumerMessage(message)
            let now = now
            let (reply, isWanted): (String?, Bool) = state.withLock { state in
                let number = state.numbers[ObjectIdentifier(subscription)]
                // An earlier consumer may still send.
                guard let number, state.followers[shard]?.subscription == number else {
                    return (nil, false)
                }
                state.followers[shard]?.received(content, at: now)
                if state.followers[shard]?.subscription == nil { state.isWanted = true }
                return (deliver(shard, &state), state.isWanted)
            }
            if let reply { session.publish(reply, []) }
            if isWanted { state.broadcast() }
        }

        // MARK: - The thread

        private struct Work {
            var ended: [UInt] = []
            var actions: [(shard: HubShard, action: NATSFollower.Action)] = []
            var reread: NATSReread?
        }

        private func run() {
            while true {
                let deadline = now + Self.tickNanoseconds
                let work: Work? = state.wait(
                    until: deadline,
                    while: { !$0.isStopped && !$0.isWanted && $0.rereads.isEmpty }
                ) { state in
                    state.isStopped ? nil : take(&state)
                }
                guard let work else { return }
                for number in work.ended { end(number) }
                // They are due again later.
                for (shard, action) in work.actions where session.isConnected {
                    guard !state.withLock({ $0.isStopped }) else { return }
                    if action == .subscribe { subscribe(shard) } else { check(shard) }
                }
                if let reread = work.reread { perform(reread) }
            }
        }

        private func take(_ state: inout State) -> Work {
            let now = now
            var work = Work()
            state.isWanted = false
            for shard in state.followers.keys {
                let action = state.followers[shard]?.action(at: now) ?? .nothing
                if action != .nothing { work.actions.append((shard, action)) }
            }
            let current = Set(state.followers.values.compactMap(\.subscription))
            work.ended = state.subscriptions.keys.filter { !current.contains($0) }
            if !state.rereads.isEmpty { work.reread = state.rereads.removeFirst() }
            return work
        }

        private func end(_ number: UInt) {
            NATSCallbacks.remove(number)
            let subscription = state.withLock { state in
                state.numbers = state.numbers.filter { $0.value != number }
                return state.subscriptions.removeValue(forKey: number)
            }
            subscription?.end()
        }

        /// Creates a consumer that delivers to a subscription of its own.
        private func subscribe(_ shard: HubShard) {
            let receiver = Subscription(shard, self)
            let number = NATSCallbacks.add(receiver)
            do throws(HubLogError) {
                let subscription = try NATSSubscription(session, number)
                let first: UInt64? = state.withLock { state in
                    guard let follower = state.followers[shard], follower.isFollowing else {
                        return nil
                    }
                    state.subscriptions[number] = subscription
                    state.numbers[ObjectIdentifier(receiver)] = number
                    state.followers[shard]?.subscribed(number, at: now)
                    return follower.next
                }
                guard let first else {
                    NATSCallbacks.remove(number)
                    return subscription.end()
                }
                try streams.addConsumer(of: shard, from: first, to: subscription.subject)
            } catch {
                // The brokers may have no leader; the thread tries again.
                state.withLock { state in
                    state.followers[shard]?.failed(number, at: now)
                    state.isWanted = true
                }
                end(number)
            }
        }

        private func check(_ shard: HubShard) {
            guard let last = try? streams.last(of: shard) else { return }
            state.withLock { $0.followers[shard]?.checked(last: last, at: now) }
        }

        /// Reads some entries again, and queues the rest.
        private func perform(_ reread: NATSReread) {
            let read = streams.read(reread)
            let entries = read.entries
            state.withLock { state in
                let none = NATSFollower(unreadLength: unreadLength)
                var count = 0
                while count < entries.count,
                    state.followers[reread.shard, default: none].take(entries[count].bytes.count)
                { count += 1 }
                let admitted = Array(entries.prefix(count))
                if !admitted.isEmpty { events.post(.received(admitted, of: reread.shard)) }
                if count < entries.count {
                    let blocked = reread.rest(from: entries[count].number)
                    state.blocked[reread.shard, default: []].append(blocked)
                } else if let rest = read.rest {
                    state.rereads.append(rest)
                } else {
                    events.post(.reread(reread.call, of: reread.shard, read.error))
                }
            }
        }
    }
#endif
