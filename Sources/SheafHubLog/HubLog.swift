package import SheafBytes

/// A replicated log with an object store beside it, of one database.
///
/// Calls do not block, except those that say so; their results arrive at the host, on a thread of
/// the log. The log is not trusted: it may lose, repeat, reorder and change entries.
package protocol HubLog: HubStorage {
    /// Connects to the engine; the host receives events until `stop`.
    ///
    /// A connection that ends is opened again, and followed shards continue.
    func start(_ host: any HubLogHost) throws(HubLogError)
    /// Disconnects; returns once no event follows.
    func stop()

    /// Appends a message to a log; `HubLogHost.stored` or `HubLogHost.failed` follows.
    ///
    /// Messages of a shard are appended in the order of the calls. An engine that can stores equal
    /// ids once; a call with the id of a message without an answer may share its answer. A message
    /// that failed may still be stored later, also after the ones that follow.
    func append(_ message: [UInt8], to log: HubLogID, as id: HubMessageID)
    /// Delivers the entries from a number on, and then new ones as they are appended.
    ///
    /// At most `HubLimits.unreadLength` bytes are delivered that were not reported as consumed,
    /// those of entries that were reread included. A second call continues from its number.
    func follow(_ shard: HubShard, from entry: UInt64)
    /// Ends the delivery of entries of a shard; those that were sent before may still arrive.
    func unfollow(_ shard: HubShard)
    /// Allows as many more bytes of a shard to be delivered.
    func consumed(_ bytes: Int, of shard: HubShard)
    /// Delivers entries of a shard once more, as the leader or primary has them.
    ///
    /// `HubLogHost.reread` follows them, unless `unfollow` ends the delivery before.
    func reread(_ entries: ClosedRange<UInt64>, of shard: HubShard)
    /// Sends bytes to all hubs, without a guarantee.
    func broadcast(_ bytes: [UInt8])
}

/// The logs of a database, and the objects beside them.
package protocol HubStorage: HubObjects {
    /// Blocks until a log without entries exists.
    func create(_ log: HubLogID, shardCount: Int) throws(HubLogError)
    /// Blocks, and returns the logs of the database that have, or had, entries.
    func logs() throws(HubLogError) -> [HubLogID]
    /// Blocks until a log was found as `create` makes it.
    ///
    /// Throws if it lacks a shard, or if its storage can lose messages.
    func check(_ log: HubLogID, shardCount: Int) throws(HubLogError)
    /// Blocks while it removes entries of a shard before a number, and returns whether some remain.
    func trim(_ shard: HubShard, before entry: UInt64) throws(HubLogError) -> Bool
    /// Blocks until a log and its entries are removed.
    func remove(_ log: HubLogID) throws(HubLogError)
}

/// The objects beside a hub log: snapshots, attachments and the configuration.
package protocol HubObjects: Sendable {
    /// Blocks until an object is stored under a new name; an existing one remains.
    func put(_ name: String, _ bytes: [UInt8]) throws(HubLogError)
    /// Blocks while it reads an object, and calls `body` with its chunks in their order.
    func get(
        _ name: String, _ body: ([UInt8]) throws(HubLogError) -> Void
    ) throws(HubLogError)
    /// Blocks, and returns the names of objects that begin with a prefix.
    func list(_ prefix: String) throws(HubLogError) -> [String]
    /// Blocks until an object is removed.
    func remove(_ name: String) throws(HubLogError)

    /// Blocks, and returns a replaceable object and its revision; nil if there is none.
    func load(_ name: String) throws(HubLogError) -> (bytes: [UInt8], revision: UInt64)?
    /// Blocks until an object is replaced, if it has the expected revision.
    ///
    /// An error means that it was not replaced.
    ///
    /// - Parameter revision: The revision to replace; nil to create the object.
    func replace(
        _ name: String, with bytes: [UInt8], at revision: UInt64?
    ) throws(HubLogError) -> HubLogReplacement
}

/// The id of a hub log, drawn when it is created.
package typealias HubLogID = XXH3.Hash128

/// A shard of one of the logs of a database, of which two exist while one replaces the other.
package struct HubShard: Hashable, Sendable {
    package let log: HubLogID
    package let number: UInt16

    package init(_ number: UInt16, of log: HubLogID) {
        self.log = log
        self.number = number
    }
}

/// The receiver of the events of a hub log.
///
/// Its functions are called on a thread of the log, and return without waiting.
package protocol HubLogHost: AnyObject, Sendable {
    /// The engine has acknowledged a message as an entry.
    func stored(_ id: HubMessageID, as entry: UInt64)
    /// The engine has not acknowledged a message, which may be stored all the same.
    func failed(_ id: HubMessageID, _ error: HubLogError)
    /// Entries of a shard arrived, because they are followed or were reread.
    func received(_ entries: [HubLogEntry], of shard: HubShard)
    /// A broadcast of a hub arrived, which may be this one.
    func received(broadcast: [UInt8])
    /// A call of `HubLog.reread` ended: the entries that exist were delivered before.
    ///
    /// With an error, the leader or primary did not return some of them, which may exist.
    func reread(_ entries: ClosedRange<UInt64>, of shard: HubShard, _ error: HubLogError?)
    /// The connection over which entries arrive was opened: after `start`, and after each loss.
    func connected()
    /// The connection over which entries arrive was lost.
    ///
    /// The log opens another one, except after `HubLogError.refused`.
    func disconnected(_ error: HubLogError)
}

extension HubLogHost {
    package func reread(
        _ entries: ClosedRange<UInt64>, of shard: HubShard, _ error: HubLogError?
    ) {}
    package func connected() {}
    package func disconnected(_ error: HubLogError) {}
}

/// An entry as the engine returned it.
package struct HubLogEntry: Equatable, Sendable {
    package let number: UInt64
    package let bytes: [UInt8]
    /// The time at which the engine stored it, by the clock of the engine; nil if it has none.
    package let wallMilliseconds: UInt64?

    package init(_ number: UInt64, _ bytes: [UInt8], storedAt wallMilliseconds: UInt64? = nil) {
        self.number = number
        self.bytes = bytes
        self.wallMilliseconds = wallMilliseconds
    }
}

/// The outcome of `HubLog.replace`.
package enum HubLogReplacement: Equatable, Sendable {
    case replaced
    /// The object has another revision, or exists already; this call has not changed it.
    case changed
    /// The engine did not respond in time: the object was replaced, or will be, or will not.
    case ambiguous(HubLogError)
}

/// A failure of the engine of a hub log, or of the connection to it.
package enum HubLogError: Error, Equatable, Sendable {
    /// The program was built without the library of the engine.
    case unsupported(trait: String)
    /// No connection, or one that ended.
    case disconnected(String)
    /// The engine did not respond in time.
    case timeout(String)
    /// The engine has no space, or refuses to store more.
    case full(String)
    /// There is no such shard, object or log.
    case missing(String)
    /// The bytes of an object do not match its name.
    case damaged(String)
    /// The engine refused a request for another reason.
    case refused(String)
}

extension HubLogError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .unsupported(let trait):
            "this program was built without the package trait \(trait), which the hub log needs; "
                + "build it with --traits \(trait)"
        case .disconnected(let reason): "no connection to the hub log: \(reason)"
        case .timeout(let request): "the hub log did not respond to: \(request)"
        case .full(let reason): "the hub log has no space or memory: \(reason)"
        case .missing(let name): "the hub log has no \(name)"
        case .damaged(let name): "the bytes of \(name) do not match its name"
        case .refused(let reason): "the hub log refused a request: \(reason)"
        }
    }
}
