import SheafBytes

/// How a peer is opened.
public struct PeerConfiguration: Sendable {
    /// What tells the database from all others: only peers of one database talk to each other.
    ///
    /// Any text: a random one is hard to guess, but it is no secret, and protects nothing by itself.
    public var databaseID: String
    /// By what others know this peer; the same as its transports have.
    public var key: PeerKey
    /// What people call the device.
    public var deviceName: String
    /// Whether others should see this peer as a server.
    public var isServer: Bool
    /// What carries bytes to other peers.
    public var transports: [any PeerTransport]
    /// How the store is opened.
    public var store: StoreOptions
    /// Maximum number of bytes of attachments that this peer keeps for others from each peer with limited rights.
    ///
    /// Attachments that this peer fetches for itself do not count.
    public var attachmentQuota: Int

    public init(
        databaseID: String, key: PeerKey = .random(), deviceName: String = "",
        isServer: Bool = false, transports: [any PeerTransport] = [],
        store: StoreOptions = StoreOptions(), attachmentQuota: Int = 1 << 30
    ) {
        self.databaseID = databaseID
        self.key = key
        self.deviceName = deviceName
        self.isServer = isServer
        self.transports = transports
        self.store = store
        self.attachmentQuota = attachmentQuota
    }

    /// The database id as transports have it: 16 bytes, which are a hash of the text.
    public var databaseBytes: [UInt8] { Self.databaseBytes(of: databaseID) }

    /// The same of any text.
    public static func databaseBytes(of databaseID: String) -> [UInt8] {
        let hash = databaseHash(of: databaseID)
        return (0..<8).map { UInt8(truncatingIfNeeded: hash.low >> UInt64(8 * $0)) }
            + (0..<8).map { UInt8(truncatingIfNeeded: hash.high >> UInt64(8 * $0)) }
    }

    static func databaseHash(of databaseID: String) -> XXH3.Hash128 {
        let name = Array(databaseID.utf8)
        return name.span.withUnsafeBytes { XXH3.hash128($0) }
    }
}
