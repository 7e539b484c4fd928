#if PostgreSQL
    import CPQ
    import SheafHubLog
    import SheafSystem
    import Synchronization

    /// Appends messages over a connection in pipeline mode.
    ///
    /// A message is acknowledged once its transaction is committed. After a lost connection the
    /// messages that it did not acknowledge are appended again, before all others of their shards.
    /// Messages that are not acknowledged when the log is stopped cause no event.
    final class AppendWorker: Sendable {
        private let core: LogCore
        private let sender: SendWorker
        private let signal: WorkerSignal
        private let queue = Mutex(AppendQueue())

        init(_ core: LogCore, _ sender: SendWorker) {
            self.core = core
            self.sender = sender
            signal = core.makeSignal()
        }

        /// Adds a message.
        func append(_ message: [UInt8], to log: HubLogID, as id: HubMessageID) {
            queue.withLock { $0.append(AppendQueue.Item(log: log, id: id, bytes: message)) }
            signal.wake()
        }

        /// Appends messages until the log is stopped; the body of a thread.
        func run() {
            while let connection = core.connect(signal) {
                var pipeline = AppendPipeline(connection, signal)
                do throws(PQFailure) {
                    try pipeline.begin()
                    while !signal.isStopped, core.isCurrent(connection) {
                        try work(&pipeline, connection)
                    }
                } catch {
                    core.retry(after: error)
                    pause()
                }
                queue.withLock { $0.putBackAll() }
            }
        }

        private func work(
            _ pipeline: inout AppendPipeline, _ connection: PQConnection
        ) throws(PQFailure) {
            signal.drain()
            while let batch = queue.withLock({ $0.next() }) {
                try pipeline.send(batch)
            }
            var isCompleted = false
            while let results = try pipeline.receive() {
                guard core.isCurrent(connection) else { return }
                try complete(results, on: connection)
                isCompleted = true
            }
            // The next messages of its shard may be sent now.
            guard !isCompleted else { return }
            let isIdle = queue.withLock { $0.isIdle }
            try pipeline.wait(isIdle: isIdle)
        }

        /// Acknowledges the oldest batch, or decides which of its messages to append again.
        private func complete(
            _ results: [PQResult], on connection: PQConnection
        ) throws(PQFailure) {
            guard let batch = queue.withLock({ $0.oldest }) else {
                throw PQFailure(.connection, "the server committed more than was appended")
            }
            if let failed = results.firstIndex(where: { !$0.isSuccess }) {
                try fail(
                    batch, PQFailure(results[failed], on: connection.pointer), at: failed)
                return
            }
            guard results.count == batch.items.count else {
                throw PQFailure(.connection, "the server returned fewer results than messages")
            }
            guard !connection.takeWarning() else {
                // The wait for a standby was canceled. Appended again, the messages wait again.
                queue.withLock { $0.complete(again: batch.items) }
                return
            }
            var isStored = false
            var outcomes: [(HubMessageID, Result<UInt64, HubLogError>)] = []
            for (item, result) in zip(batch.items, results) {
                let outcome = try outcome(of: item.id, result)
                if case .success = outcome { isStored = true }
                outcomes.append((item.id, outcome))
            }
            queue.withLock { $0.complete(again: []) }
            if isStored { sender.notify(batch.shard) }
            for (id, outcome) in outcomes { report(id, outcome) }
        }

        private func outcome(
            of id: HubMessageID, _ result: PQResult
        ) throws(PQFailure) -> Result<UInt64, HubLogError> {
            guard result.rowCount > 0 else {
                return .failure(.missing("shard \(id.shard) of the log; create the log first"))
            }
            guard try result.isTrue(0, 1) else {
                return .failure(
                    .refused(
                        "another message has the number \(id.sequence) of its author in shard "
                            + "\(id.shard); each number is for one message"))
            }
            return .success(try result.number(0, 0))
        }

        private func report(_ id: HubMessageID, _ outcome: Result<UInt64, HubLogError>) {
            switch outcome {
            case .success(let entry): core.host?.stored(id, as: entry)
            case .failure(let error): core.host?.failed(id, error)
            }
        }

        /// Handles a transaction that was rolled back because of one of its messages.
        private func fail(
            _ batch: AppendQueue.Batch, _ failure: PQFailure, at index: Int
        ) throws(PQFailure) {
            var failed: [AppendQueue.Item] = []
            var again = batch.items
            switch failure.kind {
            case .connection, .noTables: throw failure
            // Another connection stored it, perhaps before this program started.
            case .repetition where !batch.isRepeated: break
            case .repetition, .conflict, .timeout: core.retry(after: failure)
            case .resources: (failed, again) = (batch.items, [])
            case .refused:
                // The others of the batch were rolled back with it, and are not at fault.
                guard index < again.count else { throw failure }
                failed = [again.remove(at: index)]
            }
            queue.withLock { $0.complete(again: again) }
            for item in failed { core.host?.failed(item.id, failure.error(of: "a message")) }
            let isAtFault = failure.kind == .refused
            guard !isAtFault, batch.isRepeated || failure.kind != .repetition else { return }
            pause()
        }

        private func pause() {
            let pause = PostgreSQLLimits.retryMilliseconds.lowerBound * 1_000_000
            signal.pause(until: Clock.system.monotonicNanoseconds() + pause)
        }
    }
#endif
