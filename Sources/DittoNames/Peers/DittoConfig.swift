public import Foundation
import Sheaf
import SheafBytes
import SheafNetwork

/// Which database is opened, where it is, and who may connect with it.
public struct DittoConfig: Hashable, Sendable {
    /// The database where nothing else is said.
    public static let defaultDatabaseID = "ditto"

    /// What tells the database from all others: any text.
    ///
    /// Only peers of one database talk to each other.
    public var databaseID: String
    /// Who may connect.
    public var connect: DittoConfigConnect
    /// The directory of the database; one in the directory for application support, where there is none.
    ///
    /// The key of the peer is in a file beside it.
    public var persistenceDirectory: URL?
    /// Whether other peers see this one as a server: `is_ditto_server` of `system:data_sync_info`.
    ///
    /// It changes nothing else: a server subscribes, listens and syncs as every peer does.
    public var isServer: Bool

    /// Creates a configuration; each part has a default.
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

/// Who may connect with a peer.
public enum DittoConfigConnect: Hashable, Sendable {
    /// A server of the reference system, which speaks another protocol.
    @available(
        *, unavailable,
        message:
            "use `.smallPeersOnly(privateKey:)`, and name a peer that has `isServer` in `transportConfig.connect.tcpServers`"
    )
    case server(url: URL)
    /// Whoever has the same key: at least 16 random bytes in Base64. Without a key whoever knows the id
    /// of the database, which is for development.
    case smallPeersOnly(privateKey: String? = nil)
}

/// Who a peer is, and who may connect with it, as older calls say it.
public enum DittoIdentity: Hashable, Sendable {
    /// Whoever has the same app id may connect: for development. A site id has no effect.
    case offlinePlayground(appID: String? = nil, siteID: UInt64? = nil)
    /// Whoever has the same key may connect: at least 16 random bytes in Base64. A site id has no effect.
    case sharedKey(appID: String, sharedKey: String, siteID: UInt64? = nil)
    /// A cloud decides who may connect, and there is none.
    @available(
        *, unavailable,
        message:
            "use `.offlinePlayground(appID:)` for development or `.sharedKey(appID:sharedKey:)`, and name peers in `transportConfig.connect.tcpServers`"
    )
    case onlinePlayground(
        appID: String, token: String, enableDittoCloudSync: Bool = true, customAuthURL: URL? = nil)
    /// Certificates of a cloud, and there is none.
    @available(
        *, unavailable,
        message:
            "use `.sharedKey(appID:sharedKey:)`, or `Ditto(over:)` with a peer whose transport has a grant"
    )
    case manual(certificateConfig: String)

    /// The same as a configuration.
    func config(_ directory: URL?) -> DittoConfig {
        switch self {
        case .offlinePlayground(let appID, let site):
            Self.note(site)
            return DittoConfig(
                databaseID: appID ?? DittoConfig.defaultDatabaseID,
                connect: .smallPeersOnly(privateKey: nil), persistenceDirectory: directory)
        case .sharedKey(let appID, let key, let site):
            Self.note(site)
            return DittoConfig(
                databaseID: appID, connect: .smallPeersOnly(privateKey: key),
                persistenceDirectory: directory)
        }
    }

    private static func note(_ site: UInt64?) {
        guard let site else { return }
        DittoLogger.write(
            .warning,
            "the site id \("\(site)".shortened) has no effect: a store draws its own, and keeps it")
    }
}

extension DittoConfigConnect {
    /// How peers know that they may talk to each other.
    func networkIdentity() throws -> NetworkIdentity {
        switch self {
        case .smallPeersOnly(nil):
            return .development(allowsOtherMachines: true)
        case .smallPeersOnly(let text?):
            guard let bytes = Data(base64Encoded: text, options: .ignoreUnknownCharacters),
                SharedKey.minimumLength...SharedKey.maximumLength ~= bytes.count
            else {
                throw DittoError.authenticationError(
                    message: "the shared key has to be \(SharedKey.minimumLength) to "
                        + "\(SharedKey.maximumLength) random bytes in Base64, as "
                        + "'openssl rand -base64 32' prints them")
            }
            return .sharedKey(try SharedKey([UInt8](bytes)))
        }
    }
}
