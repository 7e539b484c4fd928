import SheafBytes
public import SheafTransport

/// The options of a peer.
public struct PeerConfiguration: Sendable {
    /// The name of the database; only peers with equal names replicate with each other.
    ///
    /// Any text is allowed. The name is not a secret, even if it is hard to guess.
    public var databaseID: String
    /// The key that identifies this peer; it must be the key that its transports use.
    public var key: PeerKey
    /// The readable name of the device.
    public var deviceName: String
    /// Whether this peer presents itself as a server.
    public var isServer: Bool
    /// The transports that connect this peer with others.
    public var transports: [any PeerTransport]
    /// The options of the store.
    public var store: StoreOptions
    /// Maximum number of bytes of attachments kept for other peers, per sender with limited rights.
    ///
    /// Attachments that this peer fetches for its own use do not count.
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

    /// The database id for transports: a 16-byte hash of the text.
    public var databaseBytes: [UInt8] { Self.databaseBytes(of: databaseID) }

    /// Returns the 16-byte hash of a database id.
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
