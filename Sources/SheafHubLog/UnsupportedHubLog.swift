/// The hub log of an engine whose library this program was built without; it never starts.
package protocol UnsupportedHubLog: HubLog {
    /// The package trait of the library.
    static var trait: String { get }
}

extension UnsupportedHubLog {
    private var error: HubLogError { .unsupported(trait: Self.trait) }

    package func start(_ host: any HubLogHost) throws(HubLogError) { throw error }
    package func stop() {}
    package func append(_ message: [UInt8], to log: HubLogID, as id: HubMessageID) {}
    package func follow(_ shard: HubShard, from entry: UInt64) {}
    package func unfollow(_ shard: HubShard) {}
    package func consumed(_ bytes: Int, of shard: HubShard) {}
    package func reread(_ entries: ClosedRange<UInt64>, of shard: HubShard) {}
    package func broadcast(_ bytes: [UInt8]) {}
    package func put(_ name: String, _ bytes: [UInt8]) throws(HubLogError) { throw error }
    package func get(
        _ name: String, _ body: ([UInt8]) throws(HubLogError) -> Void
    ) throws(HubLogError) { throw error }
    package func list(_ prefix: String) throws(HubLogError) -> [String] { throw error }
    package func remove(_ name: String) throws(HubLogError) { throw error }
    package func load(
        _ name: String
    ) throws(HubLogError) -> (bytes: [UInt8], revision: UInt64)? { throw error }
    package func replace(
        _ name: String, with bytes: [UInt8], at revision: UInt64?
    ) throws(HubLogError) -> HubLogReplacement { throw error }
    package func create(_ log: HubLogID, shardCount: Int) throws(HubLogError) { throw error }
    package func logs() throws(HubLogError) -> [HubLogID] { throw error }
    package func check(_ log: HubLogID, shardCount: Int) throws(HubLogError) { throw error }
    package func trim(_ shard: HubShard, before entry: UInt64) throws(HubLogError) -> Bool {
        throw error
    }
    package func remove(_ log: HubLogID) throws(HubLogError) { throw error }
}
