package import SheafStorage

/// How a store is opened.
public struct StoreOptions: Sendable {
    /// When a commit counts as done.
    public enum Durability: Equatable, Sendable {
        /// When it survives a power cut.
        case full
        /// At once; within this time it survives a power cut as well.
        ///
        /// Reads show a commit only once it is durable, so they lag behind by as much.
        case relaxed(milliseconds: Int)
    }

    /// When a commit counts as done; not before it survives a power cut, by default.
    public var durability = Durability.full

    /// What the storage is given beside that.
    package var storage = LogStoreOptions()

    /// Whether the store is only read, as it is when it is opened; there has to be one.
    ///
    /// Several programs can do that at the same time, and nobody can write meanwhile.
    public var isReadOnly = false

    /// How many bytes all attachments of a store in memory may have together; on a disk they take what
    /// there is.
    public var attachmentMemory = 1 << 28

    /// Where the store writes what people should know; nowhere, by default.
    public var log: StoreLog?

    /// Whether `dql_strict_mode` is true until a statement sets it: undeclared fields are registers then,
    /// and an embedded object is one unit.
    public var isStrict = false

    public init(
        durability: Durability = .full, isReadOnly: Bool = false, log: StoreLog? = nil
    ) {
        self.durability = durability
        self.isReadOnly = isReadOnly
        self.log = log
    }

    var logStore: LogStoreOptions {
        var options = storage
        switch durability {
        case .full: options.durability = .full
        case .relaxed(let milliseconds): options.durability = .relaxed(milliseconds: milliseconds)
        }
        return options
    }

    func attachments(inMemory: Bool) -> AttachmentStore.Options {
        var options = AttachmentStore.Options()
        options.isReadOnly = isReadOnly
        options.maximumLength = inMemory ? attachmentMemory : nil
        options.clock = storage.clock
        options.random = storage.random
        return options
    }
}
