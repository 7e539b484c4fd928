import Sheaf

extension Ditto {
    // MARK: Older names of the calls of `sync`

    /// Starts syncing with other peers.
    public func startSync() throws { try sync.start() }

    /// Closes all connections; subscriptions are kept for the next start.
    public func stopSync() { sync.stop() }

    /// Whether sync is active.
    public var isSyncActive: Bool { sync.isActive }

    /// Has no effect: version 3 of the protocol is not supported.
    public func disableSyncWithV3() throws {}

    /// Returns a collection of the store.
    public func collection(_ name: String) -> DittoCollection { store.collection(name) }

    // MARK: This peer

    /// The name of the device; by default the host name.
    public var deviceName: String {
        get { peer?.presence.deviceName ?? "" }
        set {
            guard let peer else {
                return store.errorHandler.report(DittoError.withoutPeers("a device name"))
            }
            peer.presence.setDeviceName(newValue)
        }
    }

    /// The id of the database; empty if the store or peer was created elsewhere.
    public var appID: String { config?.databaseID ?? "" }

    /// Whether the database may sync; always true, since no license is needed.
    public var isActivated: Bool { true }

    /// Accepts a license token, which has no effect: no license is needed.
    public func setOfflineOnlyLicenseToken(_ token: String) throws {
        DittoLogger.write(.info, "the license token has no effect: no license is needed")
    }

    /// The name and version of the library.
    public static var version: String { "Sheaf \(SheafVersion.current)" }

    // MARK: Transports

    /// The addresses to listen on and to connect to.
    ///
    /// If sync is not active, an invalid configuration fails the next start. If it is active, the
    /// configuration is not changed, and the error is passed to `onUnthrownError` of the store.
    public var transportConfig: DittoTransportConfig {
        get { network?.config ?? DittoTransportConfig() }
        set {
            guard let network else {
                let error =
                    peer == nil
                    ? DittoError.withoutPeers("a transport config")
                    : DittoError.unsupported(
                        "the peer was created elsewhere; configure the transports that were passed "
                            + "to it")
                return store.errorHandler.report(error)
            }
            store.errorHandler.returning(()) { try inDittoWords { try network.update(newValue) } }
        }
    }

    /// Changes the transport configuration.
    public func updateTransportConfig(_ block: (_ config: inout DittoTransportConfig) -> Void) {
        var config = transportConfig
        block(&config)
        transportConfig = config
    }
}
