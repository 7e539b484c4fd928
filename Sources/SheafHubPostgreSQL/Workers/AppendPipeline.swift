#if PostgreSQL
    import CPQ
    import SheafDocument
    import SheafHubLog
    import SheafSystem

    /// A connection in pipeline mode: batches are sent while earlier ones are committed.
    struct AppendPipeline {
        private let connection: PQConnection
        private let signal: WorkerSignal
        /// The results of the batch whose results arrive.
        private var results: [PQResult] = []
        /// The time until which the server must have sent something.
        private var deadline = ResponseDeadline(from: 0)
        private var isUnsent = false

        private static let names = (append: "sheaf_append", again: "sheaf_append_again")

        init(_ connection: PQConnection, _ signal: WorkerSignal) {
            self.connection = connection
            self.signal = signal
        }

        /// Prepares the statements, and enters pipeline mode.
        mutating func begin() throws(PQFailure) {
            let statements = connection.statements(signal)
            try statements.prepare(PostgreSQLSchema.append, as: Self.names.append)
            try statements.prepare(PostgreSQLSchema.appendAgain, as: Self.names.again)
            guard PQenterPipelineMode(connection.pointer) == 1 else { throw connectionFailure }
            _ = connection.takeWarning()
            postpone()
        }

        /// Sends the messages of a batch as one transaction.
        mutating func send(_ batch: AppendQueue.Batch) throws(PQFailure) {
            let name = batch.isRepeated ? Self.names.again : Self.names.append
            let log = batch.shard.log.littleEndianBytes
            for item in batch.items {
                let parameters: [PQParameter] = [
                    .bytes(log), .small(Int(batch.shard.number)), .bytes(Self.author(of: item)),
                    .bits(item.id.sequence), .bytes(item.bytes),
                ]
                let isSent = PQParameter.withPointers(of: parameters[...]) { pointers, lengths in
                    PQsendQueryPrepared(
                        connection.pointer, name, Int32(pointers.count), pointers, lengths,
                        Array(repeating: 1, count: pointers.count), 1)
                }
                guard isSent == 1 else { throw connectionFailure }
            }
            guard PQpipelineSync(connection.pointer) == 1 else { throw connectionFailure }
            postpone()
            try flush()
        }

        /// Returns the results of the next batch; nil if they have not arrived.
        mutating func receive() throws(PQFailure) -> [PQResult]? {
            var nothing = 0
            // Each statement is followed by a nil; two of them follow the last one.
            while nothing < 2, PQisBusy(connection.pointer) == 0 {
                guard let next = PQgetResult(connection.pointer) else {
                    nothing += 1
                    continue
                }
                nothing = 0
                postpone()
                let result = PQResult(next)
                if result.status == PGRES_PIPELINE_SYNC {
                    defer { results = [] }
                    return results
                }
                guard PQstatus(connection.pointer) == CONNECTION_OK else {
                    throw connectionFailure
                }
                results.append(result)
            }
            guard PQstatus(connection.pointer) == CONNECTION_OK else { throw connectionFailure }
            return nil
        }

        /// Waits until there is something to send or receive.
        mutating func wait(isIdle: Bool) throws(PQFailure) {
            try flush()
            if isIdle { postpone() }
            signal.wait(
                for: PQsocket(connection.pointer), isWriting: isUnsent, until: deadline.time)
            guard PQconsumeInput(connection.pointer) == 1 else { throw connectionFailure }
            let now = Clock.system.monotonicNanoseconds()
            guard isIdle || !deadline.hasPassed(at: now) else {
                throw PQFailure(
                    .timeout,
                    "no response to messages within \(PostgreSQLLimits.responseSeconds) seconds; "
                        + "does a standby confirm commits?")
            }
        }

        private mutating func flush() throws(PQFailure) {
            let rest = PQflush(connection.pointer)
            guard rest >= 0 else { throw connectionFailure }
            isUnsent = rest > 0
        }

        private mutating func postpone() {
            deadline = ResponseDeadline(from: Clock.system.monotonicNanoseconds())
        }

        private var connectionFailure: PQFailure {
            PQFailure(.connection, PQFailure.message(of: connection.pointer))
        }

        private static func author(of item: AppendQueue.Item) -> [UInt8] {
            let author = item.id.author
            return [author.site.rawValue, author.opening].flatMap { number in
                withUnsafeBytes(of: number.littleEndian) { Array($0) }
            }
        }
    }
#endif
