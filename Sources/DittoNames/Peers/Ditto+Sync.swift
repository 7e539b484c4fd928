import Sheaf

extension Ditto {
    // MARK: Older names of what `sync` has

    /// Begins to talk to other peers.
    public func startSync() throws { try sync.start() }

    /// Ends all connections; subscriptions stay, and go on with the next start.
    public func stopSync() { sync.stop() }

    /// Whether other peers are talked to.
    public var isSyncActive: Bool { sync.isActive }

    /// Keeps peers with the third version of the reference system away, which nobody speaks here: nothing is to do.
    public func disableSyncWithV3() throws {}

    /// A collection of the store.
    public func collection(_ name: String) -> DittoCollection { store.collection(name) }

    // MARK: Who this peer is

    /// What people call the device: the name of the machine, where nothing else was said.
    public var deviceName: String {
        get { peer?.presence.deviceName ?? "" }
        set {
            guard let peer else {
                return store.complaints.complain(DittoError.withoutPeers("a name"))
            }
            peer.presence.setDeviceName(newValue)
        }
    }

    /// The id of the database; empty where its store or peer was made elsewhere.
    public var appID: String { config?.databaseID ?? "" }

    /// Whether the database may sync: it always may, no license is needed.
    public var isActivated: Bool { true }

    /// Takes a license, which has no effect: none is needed.
    public func setOfflineOnlyLicenseToken(_ token: String) throws {
        DittoLogger.write(.info, "the license token has no effect: none is needed")
    }

    /// What this is.
    public static var version: String { "Sheaf \(SheafVersion.current)" }

    // MARK: Transports

    /// How other peers are reached.
    ///
    /// What cannot be used is an error of the next start of sync; while sync is active nothing changes then, and
    /// `onUnthrownError` of the store hears why.
    public var transportConfig: DittoTransportConfig {
        get { network?.config ?? DittoTransportConfig() }
        set {
            guard let network else {
                let error =
                    peer == nil
                    ? DittoError.withoutPeers("a transport config")
                    : DittoError.unsupported(
                        "the peer was made elsewhere, with transports of its own, which have a "
                            + "configuration of their own")
                return store.complaints.complain(error)
            }
            store.complaints.returning(()) { try inDittoWords { try network.update(newValue) } }
        }
    }

    /// Changes how other peers are reached.
    public func updateTransportConfig(_ block: (_ config: inout DittoTransportConfig) -> Void) {
        var config = transportConfig
        block(&config)
        transportConfig = config
    }
}
