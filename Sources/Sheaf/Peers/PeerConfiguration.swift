public import SheafTransport

/// The options of a peer.
public struct PeerConfiguration: Sendable {
    /// The id of the database; only peers with equal ids replicate with each other.
    public var databaseID: DatabaseID
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
    /// The time in microseconds in which a thread of the peer or its transports looks for more work
    /// before it sleeps; from 0, the default, to 1,000.
    ///
    /// Waking a sleeping thread takes tens of microseconds, which each peer between a write and a
    /// remote observer adds several times. Polling saves a part of them, and takes up to this time
    /// on a core each time that the peer has run out of work; other threads run first.
    public var busyPollMicroseconds = 0
    /// The log that this peer shares with others, as a hub; nil for other peers.
    package var hubLog: SharedHubLog?

    /// Creates a configuration; a peer without transports only has a store.
    public init(
        databaseID: DatabaseID, key: PeerKey = .random(), deviceName: String = "",
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
}
