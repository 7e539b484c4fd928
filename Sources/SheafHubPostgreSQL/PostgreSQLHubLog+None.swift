#if !PostgreSQL
    package import SheafHubLog

    /// The hub log of a build without libpq, which never starts.
    package final class PostgreSQLHubLog: HubLog {
        package let server: PostgreSQLServer? = nil

        package init(_ configuration: PostgreSQLConfiguration) {}

        private static let error = HubLogError.unsupported(trait: "PostgreSQL")

        package func start(_ host: any HubLogHost) throws(HubLogError) { throw Self.error }
        package func stop() {}
        package func append(_ message: [UInt8], to log: HubLogID, as id: HubMessageID) {}
        package func follow(_ shard: HubShard, from entry: UInt64) {}
        package func unfollow(_ shard: HubShard) {}
        package func consumed(_ bytes: Int, of shard: HubShard) {}
        package func reread(_ entries: ClosedRange<UInt64>, of shard: HubShard) {}
        package func broadcast(_ bytes: [UInt8]) {}
        package func put(_ name: String, _ bytes: [UInt8]) throws(HubLogError) { throw Self.error }
        package func get(
            _ name: String, _ body: ([UInt8]) throws(HubLogError) -> Void
        ) throws(HubLogError) { throw Self.error }
        package func list(_ prefix: String) throws(HubLogError) -> [String] { throw Self.error }
        package func remove(_ name: String) throws(HubLogError) { throw Self.error }
        package func load(
            _ name: String
        ) throws(HubLogError) -> (bytes: [UInt8], revision: UInt64)? { throw Self.error }
        package func replace(
            _ name: String, with bytes: [UInt8], at revision: UInt64?
        ) throws(HubLogError) -> HubLogReplacement { throw Self.error }
        package func create(_ log: HubLogID, shardCount: Int) throws(HubLogError) {
            throw Self.error
        }
        package func logs() throws(HubLogError) -> [HubLogID] { throw Self.error }
        package func check(_ log: HubLogID, shardCount: Int) throws(HubLogError) {
            throw Self.error
        }
        package func trim(_ shard: HubShard, before entry: UInt64) throws(HubLogError) -> Bool {
            throw Self.error
        }
        package func remove(_ log: HubLogID) throws(HubLogError) { throw Self.error }
    }
#endif
