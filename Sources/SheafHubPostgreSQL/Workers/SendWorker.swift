#if PostgreSQL
    import SheafHubLog
    import SheafSystem
    import Synchronization

    /// Sends notifications of new entries and broadcasts, and removes old broadcasts.
    ///
    /// A notification in the transaction of a message would make all appending hubs wait for each
    /// other, since the server commits such transactions one after the other. None of these
    /// statements must be durable: lost notifications are replaced by queries, and removals are
    /// repeated.
    final class SendWorker: Sendable {
        private struct Work: Sendable {
            /// The shards whose followers must be notified.
            var notified: Set<HubShard> = []
            var broadcasts = WaitingBroadcasts<[UInt8]>()
        }

        private let core: LogCore
        private let signal: WorkerSignal
        private let work = Mutex(Work())

        init(_ core: LogCore) {
            self.core = core
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
            work.withLock { $0.broadcasts.add(bytes) }
            signal.wake()
        }

        /// Works until the log is stopped; the body of a thread.
        func run() {
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
            var removals = PeriodicWork.removals(from: Clock.system.monotonicNanoseconds())
            while !signal.isStopped, core.isCurrent(connection) {
                signal.drain()
                try notify(statements)
                try broadcast(statements)
                if removals.isDue(at: Clock.system.monotonicNanoseconds()) {
                    try statements.run(
                        PostgreSQLSchema.removeBroadcasts,
                        [.number(PostgreSQLLimits.broadcastSeconds)])
                    removals.finish(at: Clock.system.monotonicNanoseconds())
                }
                let isIdle = work.withLock { $0.notified.isEmpty && $0.broadcasts.isEmpty }
                if isIdle { try statements.wait(until: removals.next) }
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
            let broadcasts = work.withLock { $0.broadcasts.take() }
            for bytes in broadcasts {
                try statements.run(
                    PostgreSQLSchema.broadcast, [.text(core.broadcastChannel), .bytes(bytes)])
            }
        }
    }
#endif
