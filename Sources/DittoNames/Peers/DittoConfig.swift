public import Foundation
import Sheaf
import SheafBytes
import SheafNetwork

/// The configuration of a database: its id, its directory and its authentication.
public struct DittoConfig: Hashable, Sendable {
    /// The default database id.
    public static let defaultDatabaseID = "ditto"

    /// The id of the database, any text.
    ///
    /// Only peers with the same database id sync.
    public var databaseID: String
    /// The authentication of peers.
    public var connect: DittoConfigConnect
    /// The directory of the database; by default a directory in Application Support.
    ///
    /// The key of the peer is in a file next to it.
    public var persistenceDirectory: URL?
    /// Whether other peers see this one as a server: `is_ditto_server` of `system:data_sync_info`.
    ///
    /// Peers send a server the collections with the sync scope `BigPeerOnly`, and not those with
    /// `SmallPeersOnly`. Otherwise, a server subscribes, listens and syncs like any peer.
    public var isServer: Bool

    /// Creates a configuration.
    public init(
        databaseID: String = Self.defaultDatabaseID,
        connect: DittoConfigConnect = .smallPeersOnly(), persistenceDirectory: URL? = nil,
        isServer: Bool = false
    ) {
        self.isServer = isServer
        self.databaseID = databaseID
        self.connect = connect
        self.persistenceDirectory = persistenceDirectory
    }
}

/// The authentication of peers.
public enum DittoConfigConnect: Hashable, Sendable {
    /// Unavailable: servers of the reference system use another protocol.
    @available(
        *, unavailable,
        message:
            "use `.smallPeersOnly(privateKey:)`, and name a peer that has `isServer` in `transportConfig.connect.tcpServers`"
    )
    case server(url: URL)
    /// Accepts peers with the same key, at least 16 random bytes in Base64.
    ///
    /// Without a key, any peer with the database id is accepted, which is intended for development.
    case smallPeersOnly(privateKey: String? = nil)
}

/// The identity of a peer and the authentication of others, in the older calls.
public enum DittoIdentity: Hashable, Sendable {
    /// Accepts any peer with the app id, for development; the site id has no effect.
    case offlinePlayground(appID: String? = nil, siteID: UInt64? = nil)
    /// Accepts peers with the same key, at least 16 random bytes in Base64.
    ///
    /// The site id has no effect.
    case sharedKey(appID: String, sharedKey: String, siteID: UInt64? = nil)
    /// Unavailable: there is no cloud to authenticate peers.
    @available(
        *, unavailable,
        message:
            "use `.offlinePlayground(appID:)` for development or `.sharedKey(appID:sharedKey:)`, and name peers in `transportConfig.connect.tcpServers`"
    )
    case onlinePlayground(
        appID: String, token: String, enableDittoCloudSync: Bool = true, customAuthURL: URL? = nil)
    /// Unavailable: there is no cloud to issue certificates.
    @available(
        *, unavailable,
        message:
            "use `.sharedKey(appID:sharedKey:)`, or `Ditto(over:)` with a peer whose transport has a grant"
    )
    case manual(certificateConfig: String)

    /// Returns the equivalent configuration.
    func config(_ directory: URL?) -> DittoConfig {
        switch self {
        case .offlinePlayground(let appID, let site):
            Self.record(site)
            return DittoConfig(
                databaseID: appID ?? DittoConfig.defaultDatabaseID,
                connect: .smallPeersOnly(privateKey: nil), persistenceDirectory: directory)
        case .sharedKey(let appID, let key, let site):
            Self.record(site)
            return DittoConfig(
                databaseID: appID, connect: .smallPeersOnly(privateKey: key),
                persistenceDirectory: directory)
        }
    }

    private static func record(_ site: UInt64?) {
        guard let site else { return }
        DittoLogger.write(
            .warning,
            "the site id \("\(site)".shortened) has no effect: a store generates its own")
    }
}

extension DittoConfigConnect {
    /// Returns the authentication mode of the transport.
    func networkIdentity() throws -> NetworkIdentity {
        switch self {
        case .smallPeersOnly(nil):
            return .development(allowsOtherMachines: true)
        case .smallPeersOnly(let text?):
            guard let bytes = Data(base64Encoded: text, options: .ignoreUnknownCharacters),
                SharedKey.minimumLength...SharedKey.maximumLength ~= bytes.count
            else {
                throw DittoError.authenticationError(
                    message: "the shared key must be \(SharedKey.minimumLength) to "
                        + "\(SharedKey.maximumLength) random bytes in Base64, as printed by "
                        + "'openssl rand -base64 32'")
            }
            return .sharedKey(try SharedKey([UInt8](bytes)))
        }
    }
}
