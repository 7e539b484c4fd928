#if PostgreSQL
    import CPQ
    import SheafHubLog
    import SheafSystem
    import Synchronization

    /// Reads entries and broadcasts on the primary, when it is notified and once a second.
    final class FollowWorker: Sendable {
        private let core: LogCore
        private let signal: WorkerSignal
        private let shards: Mutex<FollowedShards>

        init(_ core: LogCore) {
            self.core = core
            signal = core.makeSignal()
            shards = Mutex(FollowedShards(unreadLength: core.configuration.unreadLength))
        }

        /// Delivers the entries of a shard from a number on.
        func follow(_ shard: HubShard, from entry: UInt64) {
            shards.withLock { $0.follow(shard, from: entry) }
            signal.wake()
        }

        /// Ends the delivery of new entries of a shard.
        func unfollow(_ shard: HubShard) {
            shards.withLock { $0.unfollow(shard) }
        }

        /// Allows more bytes of a shard to be delivered.
        func consumed(_ bytes: Int, of shard: HubShard) {
            let hasRoom = shards.withLock { $0.consume(bytes, of: shard) }
            if hasRoom { signal.wake() }
        }

        /// Delivers entries once more.
        func reread(_ entries: ClosedRange<UInt64>, of shard: HubShard) {
            shards.withLock { $0.reread(entries, of: shard) }
            signal.wake()
        }

        /// Opens the first connection; broadcasts that are sent from then on arrive.
        func open() throws(PQFailure) -> PQConnection {
            let connection = try PQConnection.open(core.configuration, signal)
            guard core.accept(connection.server) else {
                throw PQFailure(.connection, "the server is a former primary")
            }
            try listen(connection)
            return connection
        }

        private func listen(_ connection: PQConnection) throws(PQFailure) {
            try connection.statements(signal).script(
                "LISTEN \(core.broadcastChannel); LISTEN \(core.entryChannel)")
        }

        /// Reads until the log is stopped; the body of a thread.
        func run(_ first: PQConnection) {
            guard core.enter() else { return }
            defer { core.leave() }
            var next: PQConnection? = first
            while let connection = next ?? core.connect(signal) {
                next = nil
                do throws(PQFailure) {
                    try listen(connection)
                    core.configuration.report(.connected(connection.server))
                    core.host?.connected()
                    let failure = Result { () throws(PQFailure) in try serve(connection) }
                    if !signal.isStopped { core.host?.disconnected(reason(failure)) }
                    try failure.get()
                } catch {
                    core.retry(after: error)
                    let pause = PostgreSQLLimits.retryMilliseconds.lowerBound * 1_000_000
                    signal.pause(until: Clock.system.monotonicNanoseconds() + pause)
                }
            }
        }

        private func reason(_ result: Result<Void, PQFailure>) -> HubLogError {
            switch result {
            case .success: .disconnected("another server has a later timeline")
            case .failure(let failure): failure.error(of: "entries")
            }
        }

        private func serve(_ connection: PQConnection) throws(PQFailure) {
            let statements = connection.statements(signal)
            try check(statements)
            // Notifications before LISTEN were not received.
            shards.withLock { $0.noticeAll() }
            var queries = PeriodicWork.queries(from: Clock.system.monotonicNanoseconds())
            while !signal.isStopped, core.isCurrent(connection) {
                signal.drain()
                let broadcasts = takeNotifications(connection)
                if !broadcasts.isEmpty {
                    try readBroadcasts(statements, broadcasts)
                    // Other notifications may have arrived meanwhile.
                    continue
                }
                if queries.isDue(at: Clock.system.monotonicNanoseconds()) {
                    shards.withLock { $0.noticeAll() }
                    queries.finish(at: Clock.system.monotonicNanoseconds())
                }
                if let next = shards.withLock({ $0.nextQuery() }) {
                    try read(next, statements)
                } else {
                    try statements.wait(until: queries.next)
                }
            }
        }

        /// Compares the last entry of each shard with that of the server.
        ///
        /// After a failover it may be another one, which the host then receives, or be lost.
        private func check(_ statements: PQStatements) throws(PQFailure) {
            for (shard, number, hash) in shards.withLock({ $0.lastEntries }) {
                let row = try statements.run(
                    PostgreSQLSchema.check,
                    [
                        .bytes(shard.log.littleEndianBytes), .small(Int(shard.number)),
                        .number(number),
                    ])
                guard row.rowCount > 0 else { continue }
                let last = try row.number(0, 0)
                if last < number {
                    core.configuration.report(
                        .truncated(shard: shard, last: last, read: number))
                }
                // An entry that was trimmed since is no loss.
                guard let bytes = row.optionalBytes(0, 1), FollowedShards.hash(bytes) != hash
                else { continue }
                let entry = HubLogEntry(number, bytes, storedAt: try? row.number(0, 2))
                core.host?.received([entry], of: shard)
            }
        }

        private func read(
            _ query: FollowedShards.Query, _ statements: PQStatements
        ) throws(PQFailure) {
            var entries: [HubLogEntry] = []
            var isCut = false
            do throws(PQFailure) {
                let result = try statements.run(
                    PostgreSQLSchema.read,
                    [
                        .bytes(query.shard.log.littleEndianBytes),
                        .small(Int(query.shard.number)),
                        .number(query.first), .number(query.last),
                        .number(UInt64(PostgreSQLLimits.readEntries)),
                        .number(UInt64(query.length)), .truth(query.isAdmitted),
                    ])
                for row in 0..<result.rowCount {
                    if let entry = try result.entry(row) {
                        entries.append(entry)
                    } else {
                        isCut = true
                    }
                }
            } catch {
                shards.withLock { $0.repeatQuery(query) }
                throw error
            }
            let completion = shards.withLock { $0.complete(query, entries, isCut: isCut) }
            if completion.isWanted { core.host?.received(entries, of: query.shard) }
            if let ended = completion.ended { core.host?.reread(ended, of: query.shard, nil) }
        }

        /// Marks the shards that have new entries; returns the numbers of new broadcasts.
        private func takeNotifications(_ connection: PQConnection) -> [UInt64] {
            var broadcasts: [UInt64] = []
            while let notification = PQnotifies(connection.pointer) {
                defer { PQfreemem(notification) }
                let payload = String(cString: notification.pointee.extra)
                if String(cString: notification.pointee.relname) == core.entryChannel {
                    shards.withLock { $0.notice(payload) }
                } else if let number = UInt64(payload) {
                    broadcasts.append(number)
                }
            }
            return broadcasts
        }

        private func readBroadcasts(
            _ statements: PQStatements, _ numbers: [UInt64]
        ) throws(PQFailure) {
            let most = PostgreSQLLimits.readBroadcasts
            for start in stride(from: 0, to: numbers.count, by: most) {
                let list = numbers[start..<min(start + most, numbers.count)]
                    .map { String($0) }.joined(separator: ",")
                let result = try statements.run(PostgreSQLSchema.readBroadcasts, [.text(list)])
                for row in 0..<result.rowCount {
                    core.host?.received(broadcast: try result.bytes(row, 0))
                }
            }
        }
    }
#endif
