#if PostgreSQL
    package import SheafHubLog
    import SheafSystem
    import Synchronization

    /// A hub log in PostgreSQL 15 or later, over libpq.
    ///
    /// Three threads have a connection each: one appends in pipeline mode, one reads entries and
    /// broadcasts, and one sends notifications and broadcasts and removes entries. They connect
    /// again for ever after `start`; messages wait meanwhile, and are appended in their order.
    /// Calls that block use further connections, also before `start`, and fail without a server.
    package final class PostgreSQLHubLog: HubLog {
        private let core: LogCore
        private let pool: RequestPool
        private let objects: ObjectTables
        private let appender: AppendWorker
        private let follower: FollowWorker
        private let sender: SendWorker
        private let threads = Mutex<[Thread]>([])

        /// Creates a log without connections.
        package init(_ configuration: PostgreSQLConfiguration) {
            core = LogCore(configuration)
            follower = FollowWorker(core)
            sender = SendWorker(core)
            appender = AppendWorker(core, sender)
            pool = RequestPool(core)
            objects = ObjectTables(pool, database: configuration.database.littleEndianBytes)
        }

        deinit {
            // A thread may release the last reference, and cannot wait for itself.
            core.beginStopping()
        }

        /// The server of the newest connection, and its warnings; nil before the first one.
        package var server: PostgreSQLServer? { core.server }

        /// Connects to a server; blocks until the timeouts of libpq, and throws if there is none.
        ///
        /// From then on broadcasts arrive, and lost connections are opened again.
        package func start(_ host: any HubLogHost) throws(HubLogError) {
            guard core.begin(host) else {
                throw .refused("a second start of a hub log; create another one for each start")
            }
            let first: PQConnection
            do throws(PQFailure) { first = try follower.open() } catch {
                core.abandon()
                throw error.error(of: "a connection")
            }
            do throws(ThreadRefused) {
                let threads = [
                    try Thread(name: "sheaf-follow") { [follower] in follower.run(first) },
                    try Thread(name: "sheaf-append") { [appender] in appender.run() },
                    try Thread(name: "sheaf-send") { [sender] in sender.run() },
                ]
                self.threads.withLock { $0 = threads }
            } catch {
                stop()
                throw .refused("the system has no thread for the hub log (error \(error.code))")
            }
        }

        /// Disconnects; returns once no event follows.
        ///
        /// A thread that waits for a connection ends later, without an event.
        package func stop() {
            core.stop()
            pool.close()
            threads.withLock { $0 = [] }
        }

        // MARK: - Entries

        package func append(_ message: [UInt8], to log: HubLogID, as id: HubMessageID) {
            appender.append(message, to: log, as: id)
        }

        package func follow(_ shard: HubShard, from entry: UInt64) {
            follower.follow(shard, from: entry)
        }

        package func unfollow(_ shard: HubShard) {
            follower.unfollow(shard)
        }

        package func consumed(_ bytes: Int, of shard: HubShard) {
            follower.consumed(bytes, of: shard)
        }

        package func reread(_ entries: ClosedRange<UInt64>, of shard: HubShard) {
            follower.reread(entries, of: shard)
        }

        package func broadcast(_ bytes: [UInt8]) {
            sender.broadcast(bytes)
        }

        // MARK: - Objects and logs

        package func put(_ name: String, _ bytes: [UInt8]) throws(HubLogError) {
            try objects.put(name, bytes)
        }

        package func get(
            _ name: String, _ body: ([UInt8]) throws(HubLogError) -> Void
        ) throws(HubLogError) {
            try objects.get(name, body)
        }

        package func list(_ prefix: String) throws(HubLogError) -> [String] {
            try objects.list(prefix)
        }

        package func remove(_ name: String) throws(HubLogError) {
            try objects.remove(name)
        }

        package func load(
            _ name: String
        ) throws(HubLogError) -> (bytes: [UInt8], revision: UInt64)? {
            try objects.load(name)
        }

        package func replace(
            _ name: String, with bytes: [UInt8], at revision: UInt64?
        ) throws(HubLogError) -> HubLogReplacement {
            try objects.replace(name, with: bytes, at: revision)
        }

        package func create(_ log: HubLogID, shardCount: Int) throws(HubLogError) {
            try objects.create(log, shardCount: shardCount)
        }

        package func logs() throws(HubLogError) -> [HubLogID] { try objects.logs() }

        package func check(_ log: HubLogID, shardCount: Int) throws(HubLogError) {
            try objects.check(log, shardCount: shardCount)
        }

        package func trim(_ shard: HubShard, before entry: UInt64) throws(HubLogError) -> Bool {
            try objects.trim(shard, before: entry)
        }

        package func remove(_ log: HubLogID) throws(HubLogError) {
            try objects.remove(log)
        }
    }
#endif
