package import SheafSystem

/// Options of a hub.
public struct HubOptions: Sendable {
    /// Number of shards of a new log, a power of two up to 256; nil for one.
    ///
    /// The log of a database that has hubs keeps its number: another one is an error.
    public var shardCount: Int?
    /// The numeric address on which `/live`, `/ready` and `/metrics` are served; nil for none.
    ///
    /// There is neither encryption nor a token, so other machines should not reach it.
    public var healthAddress: String?
    /// The port of `healthAddress`; 0 is any free port.
    public var healthPort: UInt16
    /// Maximum time to wait for the engine when the hub starts.
    public var startSeconds: Int
    /// Maximum time that a draining hub waits for acknowledgments.
    public var drainSeconds: Int
    /// Maximum time over which a draining hub closes its connections.
    public var closingSeconds: Int

    /// The versions of messages that the hub reads; the highest one is that which it can write.
    package var formats: ClosedRange<UInt8> = HubFormats.supported
    /// The clock for all times but those of replication.
    package var clock = Clock.system
    /// Interval at which the configuration is read.
    package var configurationMilliseconds: UInt64 = 5_000
    /// When the log gets snapshots, and is trimmed and replaced.
    package var maintenance = HubSettings()

    /// Creates options.
    public init(
        shardCount: Int? = nil, healthAddress: String? = nil, healthPort: UInt16 = 0,
        startSeconds: Int = 60, drainSeconds: Int = 30, closingSeconds: Int = 10
    ) {
        self.shardCount = shardCount
        self.healthAddress = healthAddress
        self.healthPort = healthPort
        self.startSeconds = startSeconds
        self.drainSeconds = drainSeconds
        self.closingSeconds = closingSeconds
    }

    /// Maximum duration of a wait: 31 years.
    ///
    /// A program may set a longer one to wait without end, such as `Int.max`.
    package static let longestSeconds: UInt64 = 1_000_000_000

    /// Returns the nanoseconds of a number of seconds.
    package static func nanoseconds(_ seconds: Int) -> UInt64 {
        min(UInt64(clamping: seconds), longestSeconds) * 1_000_000_000
    }
}
