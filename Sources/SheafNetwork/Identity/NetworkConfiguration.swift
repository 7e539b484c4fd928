public import SheafTransport

/// The identity of a TCP transport, its addresses and its limits.
public struct NetworkConfiguration: Sendable {
    /// The id of the database, which must be that of the peer; other databases are refused.
    public var databaseID: DatabaseID
    /// The key pair of the peer, which proves its identity on each connection.
    public var keyPair: PeerKeyPair
    /// The authentication mode, with the secret or grant that it needs.
    public var identity: NetworkIdentity
    /// The addresses to listen on, numeric with a port: "127.0.0.1:0" or "[::]:4120".
    ///
    /// Port 0 selects a free port; `PeerTransportEvent.listening` reports the port selected.
    public var listening: [String]
    /// The addresses to connect to, with a host name or numeric: "example.org:4120".
    public var peers: [String]
    /// The limits on what remote peers can consume.
    public var limits = NetworkLimits()

    /// Creates a configuration that listens on this machine only, unless `listening` is given.
    public init(
        databaseID: DatabaseID, keyPair: PeerKeyPair, identity: NetworkIdentity,
        listening: [String] = ["127.0.0.1:0"], peers: [String] = []
    ) {
        self.databaseID = databaseID
        self.keyPair = keyPair
        self.identity = identity
        self.listening = listening
        self.peers = peers
    }
}

/// The authentication mode of a transport; both ends of a connection must use the same mode.
public enum NetworkIdentity: Sendable {
    /// Accepts any peer with the database id; only on this machine, unless `allowsOtherMachines`.
    case development(allowsOtherMachines: Bool = false)
    /// Accepts any peer that has the shared key, with all rights.
    case sharedKey(SharedKey)
    /// Accepts any peer with a grant signed by this authority, with the rights in the grant.
    case authority(publicKey: PeerKey, grant: PeerGrant)
}

extension NetworkIdentity {
    /// The mode number in a greeting (`format-spec/network.md`, table 1).
    var number: UInt8 {
        switch self {
        case .development: 0
        case .sharedKey: 1
        case .authority: 2
        }
    }

    /// Returns the name of a mode number for error texts.
    static func name(of number: UInt8) -> String {
        switch number {
        case 0: "development"
        case 1: "shared key"
        case 2: "authority"
        default: "unknown (\(number))"
        }
    }

    /// Whether connections to and from other machines are refused.
    var isOnlyLocal: Bool {
        if case .development(let allowsOtherMachines) = self { return !allowsOtherMachines }
        return false
    }
}
