import SheafBytes

/// An invalid configuration, key or connection: the rule that was violated, and an explanation.
public struct NetworkError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The rule that was violated.
    public let rule: NetworkRule
    /// The fault, its location, and the remedy.
    public let text: String

    /// Creates an error; a long text is shortened.
    public init(_ rule: NetworkRule, _ text: String) {
        self.rule = rule
        self.text = text.shortened(to: ErrorText.messageLimit)
    }

    /// The name of the rule, and the text.
    public var description: String { "\(rule.rawValue): \(text)" }
}

extension NetworkError {
    /// The error for a connection closed by the peer.
    static var closedByRemotePeer: NetworkError {
        NetworkError(.closed, "the peer closed the connection")
    }

    /// The error for a connection closed on this end.
    static var closedByOwnPeer: NetworkError {
        NetworkError(.closed, "this end closed the connection")
    }
}

/// The rules that an error can name; later versions may add more.
public enum NetworkRule: String, Hashable, Sendable, CaseIterable {
    /// An address that is invalid, cannot be reached, or cannot be listened on.
    case address
    /// An address on another machine in development mode, without `allowsOtherMachines`.
    case loopback
    /// An invalid key pair, shared key, public key or database id.
    case key
    /// A key file that is invalid, accessible to other users, or cannot be read or written.
    case keyFile = "key-file"
    /// A grant that cannot be decoded or that exceeds a limit.
    case grant
    /// A grant issued to another peer.
    case grantKey = "grant-key"
    /// A grant for another database.
    case grantDatabase = "grant-database"
    /// A grant signed by another authority.
    case grantAuthority = "grant-authority"
    /// A grant whose signature is invalid.
    case grantSignature = "grant-signature"
    /// A grant that is not valid yet.
    case grantEarly = "grant-early"
    /// A grant that has expired.
    case grantExpired = "grant-expired"
    /// TLS failed, for example because received bytes are invalid.
    case tls
    /// The remote peer does not support TLS 1.3.
    case tlsVersion = "tls-version"
    /// The remote peer has no certificate with an Ed25519 key.
    case certificate
    /// The remote peer does not support the application protocol `sheaf/1`.
    case applicationProtocol = "application-protocol"
    /// A greeting that cannot be decoded or that is too long.
    case greeting
    /// The remote peer uses another authentication mode.
    case mode
    /// The remote peer belongs to another database.
    case database
    /// The remote peer has another shared key.
    case sharedKey = "shared-key"
    /// The remote peer is not the one that presence has reported at its address.
    case otherPeer = "other-peer"
    /// The remote peer has the same key as this one.
    case itself = "self"
    /// Another connection to the same peer was kept.
    case duplicate
    /// The limit of connections was reached.
    case connections
    /// The limit of unauthenticated connections was reached.
    case handshakes
    /// Connecting and authenticating took too long.
    case handshakeTime = "handshake-time"
    /// The remote peer receives more slowly than this one sends.
    case queue
    /// The connection was lost without a close alert, or closed before it was authenticated.
    case cut
    /// One end closed the connection.
    case closed
    /// A system call or library call failed.
    case system
    /// The host refused the connection.
    case host
    /// The remote peer refused this one and sent the reason.
    case refusedByRemotePeer = "refused-by-remote-peer"
    /// The transport is already running.
    case running
    /// The transport was stopped.
    case stopped
}
