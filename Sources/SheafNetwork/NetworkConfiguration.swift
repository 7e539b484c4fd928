/// Who a transport is, and whom it talks to.
public struct NetworkConfiguration: Sendable {
    /// 16 bytes that all peers of the database have, and no others.
    public var databaseID: [UInt8]
    public var keyPair: PeerKeyPair
    public var identity: NetworkIdentity
    /// Where it listens: numeric addresses with a port, such as "127.0.0.1:0" or "[::]:4120".
    ///
    /// The port 0 stands for any that is free, and `PeerTransportEvent.listening` tells which.
    public var listening = ["127.0.0.1:0"]
    /// Whom it connects to, by name or number: "example.org:4120".
    public var peers: [String] = []
    public var limits = NetworkLimits()

    public init(databaseID: [UInt8], keyPair: PeerKeyPair, identity: NetworkIdentity) {
        self.databaseID = databaseID
        self.keyPair = keyPair
        self.identity = identity
    }
}

/// How peers know that they may talk to each other; both ends have to be in the same mode.
public enum NetworkIdentity: Sendable {
    /// Whoever has the database id; on this machine alone, unless other machines are allowed.
    case development(allowsOtherMachines: Bool = false)
    /// Whoever has the same key; everybody may read and write everything.
    case sharedKey(SharedKey)
    /// Whoever has a grant of this authority, and may do what the grant says.
    case authority(publicKey: [UInt8], grant: PeerGrant)
}

extension NetworkIdentity {
    /// What a greeting calls it (`format-spec/network.md`, table 1).
    var number: UInt8 {
        switch self {
        case .development: 0
        case .sharedKey: 1
        case .authority: 2
        }
    }

    /// What people call it.
    static func name(of number: UInt8) -> String {
        switch number {
        case 0: "development"
        case 1: "shared key"
        case 2: "authority"
        default: "unknown (\(number))"
        }
    }

    /// Whether nobody outside of this machine is talked to.
    var isOnlyLocal: Bool {
        if case .development(let allowsOtherMachines) = self { return !allowsOtherMachines }
        return false
    }
}
