import SheafBytes

/// What is wrong with a configuration, a key or a connection: the rule that refuses it, and a sentence.
public struct NetworkError: Error, Hashable, Sendable, CustomStringConvertible {
    public let rule: NetworkRule
    /// What was wrong, where, and what would be right.
    public let text: String

    public init(_ rule: NetworkRule, _ text: String) {
        self.rule = rule
        self.text = text.shortened(to: ErrorText.messageLimit)
    }

    public var description: String { "\(rule.rawValue): \(text)" }
}

extension NetworkError {
    /// The other end closed the connection.
    static var closedThere: NetworkError {
        NetworkError(.closed, "the other end has closed the connection")
    }

    /// This end closed the connection.
    static var closedHere: NetworkError {
        NetworkError(.closed, "this end has closed the connection")
    }
}

/// The rules by which something is refused; new ones may come with new versions.
public enum NetworkRule: String, Hashable, Sendable, CaseIterable {
    /// An address that nothing can be reached at, or listened on.
    case address
    /// Development mode talks to this machine alone, unless it is asked for more.
    case loopback
    /// A key pair, a shared key, a public key or a database id that cannot be one.
    case key
    /// The file of a key: others can read it, or it is none.
    case keyFile = "key-file"
    /// A grant whose bytes mean nothing.
    case grant
    /// A grant for another peer.
    case grantKey = "grant-key"
    /// A grant for another database.
    case grantDatabase = "grant-database"
    /// A grant of another authority.
    case grantAuthority = "grant-authority"
    /// A grant that its authority has not signed.
    case grantSignature = "grant-signature"
    /// A grant that is not valid yet.
    case grantEarly = "grant-early"
    /// A grant that has expired.
    case grantExpired = "grant-expired"
    /// What came is no TLS, or not as it has to be.
    case tls
    /// The other end does not speak TLS 1.3.
    case tlsVersion = "tls-version"
    /// The other end has no certificate, or none with an Ed25519 key.
    case certificate
    /// The other end speaks TLS and something else in it.
    case applicationProtocol = "application-protocol"
    /// The first bytes within TLS are no greeting, or longer than one may be.
    case greeting
    /// The other end is in another mode.
    case mode
    /// The other end is of another database.
    case database
    /// The other end has another shared key.
    case sharedKey = "shared-key"
    /// The other end has the key of this one.
    case itself = "self"
    /// There is a better connection with the same peer.
    case duplicate
    /// As many connections as there may be.
    case connections
    /// As many connections as may be unknown at a time.
    case handshakes
    /// The other end took too long to say who it is.
    case handshakeTime = "handshake-time"
    /// The other end takes less than it is sent.
    case queue
    /// The connection broke without a farewell.
    case cut
    /// One end closed the connection, and said so.
    case closed
    /// The system refused something.
    case system
    /// The host did not want the connection.
    case host
    /// The other end refused this one, and said why.
    case refusedThere = "refused-there"
    /// The transport runs already.
    case running
    /// The transport was stopped.
    case stopped
}
