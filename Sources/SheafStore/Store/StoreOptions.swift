import SheafAttachments
public import SheafEngine
package import SheafStorage

/// Options for opening a store.
public struct StoreOptions: Sendable {
    /// The point at which a write returns.
    public enum Durability: Equatable, Sendable {
        /// The point at which the commit survives a power cut.
        case full
        /// The point of the commit itself, which survives a power cut after at most this time.
        ///
        /// Reads see only durable commits, so they lag behind by up to this time.
        case relaxed(milliseconds: Int)
    }

    /// The earlier states that the log keeps, for statements with `AS OF`.
    ///
    /// A state is kept while it is within all of the bounds. More history needs more space.
    public struct History: Equatable, Sendable {
        /// Number of the newest commits.
        public var commits: UInt64
        /// Number of the newest bytes of the log.
        public var bytes: Int
        /// Maximum age; nil if there is none.
        public var age: Duration?

        /// Creates bounds; by default 10,000 commits in 2 MiB of log, of any age.
        public init(commits: UInt64 = 10_000, bytes: Int = 2 << 20, age: Duration? = nil) {
            (self.commits, self.bytes, self.age) = (commits, bytes, age)
        }
    }

    /// The earlier states that the log keeps.
    public var history = History()

    /// The point at which a write returns; by default, when its commit survives a power cut.
    public var durability = Durability.full

    /// Further options of the storage layer.
    package var storage = LogStoreOptions()

    /// Whether the store is opened for reading only; it must exist.
    ///
    /// Any number of processes can read a store while another one writes; neither side waits for
    /// the other. Statements read the newest durable commit at the time of opening or of the last
    /// `Store.refresh()`. A store with observers reads new commits by itself.
    public var isReadOnly = false

    /// Maximum total size of the attachments of an in-memory store in bytes; unlimited on disk.
    public var attachmentMemory = 1 << 28

    /// The receiver of log messages; nil by default, which discards them.
    public var log: StoreLog?

    /// Whether `dql_strict_mode` is initially true.
    ///
    /// In strict mode undeclared fields are registers, and an embedded object is one unit.
    public var isStrict = false

    /// Creates options; by default, writes are durable and nothing is logged.
    public init(
        durability: Durability = .full, isReadOnly: Bool = false, log: StoreLog? = nil
    ) {
        self.durability = durability
        self.isReadOnly = isReadOnly
        self.log = log
    }

    var logStore: LogStoreOptions {
        var options = storage
        if history != History() {
            options.history = HistoryHorizon(
                commits: history.commits, bytes: max(history.bytes, 0),
                // A thousand million days are no less than any age.
                milliseconds: history.age.map { UInt64(min(max($0 / .milliseconds(1), 0), 1e17)) })
        }
        switch durability {
        case .full: options.durability = .full
        case .relaxed(let milliseconds): options.durability = .relaxed(milliseconds: milliseconds)
        }
        return options
    }

    /// Returns the options of the attachment store.
    func attachments(inMemory: Bool) -> AttachmentStore.Options {
        var options = AttachmentStore.Options()
        options.isReadOnly = isReadOnly
        options.maximumLength = inMemory ? attachmentMemory : nil
        options.clock = storage.clock
        options.random = storage.random
        return options
    }
}
