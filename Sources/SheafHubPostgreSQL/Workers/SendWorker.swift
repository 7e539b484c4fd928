#if PostgreSQL
    import SheafHubLog
    import SheafSystem
    import Synchronization

    /// Sends notifications of new entries and broadcasts, and removes old entries and broadcasts.
    ///
    /// A notification in the transaction of a message would make all appending hubs wait for each
    /// other, since the server commits such transactions one after the other. None of these
    /// statements must be durable: lost notifications are replaced by queries, and removals are
    /// repeated.
    final class SendWorker: Sendable {
        private struct Work: Sendable {
            /// The shards whose followers must be notified.
            var notified: Set<HubShard> = []
            var broadcasts: [[UInt8]] = []
            var trims: [HubShard: Trim] = [:]
        }

        private struct Trim: Equatable, Sendable {
            /// The number before which entries are removed.
            var entry: UInt64 = 0
            /// Number of calls that requested it.
            var calls = 0
        }

        private let core: LogCore
        private let follower: FollowWorker
        private let signal: WorkerSignal
        private let work = Mutex(Work())

        init(_ core: LogCore, _ follower: FollowWorker) {
            self.core = core
            self.follower = follower
            signal = core.makeSignal()
        }

        /// Notifies the followers of a shard.
        func notify(_ shard: HubShard) {
            let isNew = work.withLock { $0.notified.insert(shard).inserted }
            if isNew { signal.wake() }
        }

        /// Sends bytes to all hubs, also to this one.
        func broadcast(_ bytes: [UInt8]) {
            guard bytes.count <= HubLimits.broadcastLength else { return }
            work.withLock { work in
                work.broadcasts.append(bytes)
                let surplus = work.broadcasts.count - PostgreSQLLimits.waitingBroadcasts
                if surplus > 0 { work.broadcasts.removeFirst(surplus) }
            }
            signal.wake()
        }

        /// Removes the entries of a shard before a number; later calls of `reread` miss them.
        func trim(_ shard: HubShard, before entry: UInt64) {
            follower.beginTrim(shard)
            work.withLock { work in
                let old = work.trims[shard] ?? Trim()
                work.trims[shard] = Trim(entry: max(old.entry, entry), calls: old.calls + 1)
            }
            signal.wake()
        }

        /// Works until the log is stopped; the body of a thread.
        func run() {
            guard core.enter() else { return }
            defer { core.leave() }
            while let connection = core.connect(signal) {
                do throws(PQFailure) {
                    let statements = connection.statements(signal)
                    try statements.script("SET synchronous_commit = off")
                    try serve(statements, connection)
                } catch {
                    core.retry(after: error)
                    let pause = PostgreSQLLimits.retryMilliseconds.lowerBound * 1_000_000
                    signal.pause(until: Clock.system.monotonicNanoseconds() + pause)
                }
            }
        }

        private func serve(
            _ statements: PQStatements, _ connection: PQConnection
        ) throws(PQFailure) {
            let period = PostgreSQLLimits.broadcastSeconds * 1_000_000_000
            var cleaning = Clock.system.monotonicNanoseconds() + period
            while !signal.isStopped, core.isCurrent(connection) {
                signal.drain()
                try notify(statements)
                try broadcast(statements)
                if try trim(statements) { continue }
                if Clock.system.monotonicNanoseconds() >= cleaning {
                    try statements.run(
                        PostgreSQLSchema.removeBroadcasts,
                        [.number(PostgreSQLLimits.broadcastSeconds)])
                    cleaning = Clock.system.monotonicNanoseconds() + period
                }
                let isIdle = work.withLock { work in
                    work.notified.isEmpty && work.broadcasts.isEmpty && work.trims.isEmpty
                }
                if isIdle { try statements.wait(until: cleaning) }
            }
        }

        private func notify(_ statements: PQStatements) throws(PQFailure) {
            let shards = work.withLock { work in
                defer { work.notified = [] }
                return work.notified
            }
            guard !shards.isEmpty else { return }
            let list = shards.map { $0.notification }.joined(separator: ",")
            try statements.run(PostgreSQLSchema.notify, [.text(core.entryChannel), .text(list)])
        }

        private func broadcast(_ statements: PQStatements) throws(PQFailure) {
            let broadcasts = work.withLock { work in
                defer { work.broadcasts = [] }
                return work.broadcasts
            }
            for bytes in broadcasts {
                try statements.run(
                    PostgreSQLSchema.broadcast, [.text(core.broadcastChannel), .bytes(bytes)])
            }
        }

        /// Removes some entries; returns whether it must be called again.
        private func trim(_ statements: PQStatements) throws(PQFailure) -> Bool {
            guard let (shard, trim) = work.withLock({ $0.trims.first }) else {
                return false
            }
            do throws(PQFailure) {
                let result = try statements.run(
                    PostgreSQLSchema.trim,
                    [
                        .bytes(shard.log.littleEndianBytes), .small(Int(shard.number)),
                        .number(trim.entry), .number(UInt64(PostgreSQLLimits.trimmedEntries)),
                    ])
                guard result.changedRowCount == 0 else { return true }
            } catch {
                guard error.kind == .refused else { throw error }
                core.retry(after: error)
            }
            let isLast = work.withLock { work in
                // A later call may have replaced it.
                guard work.trims[shard] == trim else { return false }
                work.trims[shard] = nil
                return true
            }
            if isLast { follower.endTrim(shard, count: trim.calls) }
            return true
        }
    }
#endif
