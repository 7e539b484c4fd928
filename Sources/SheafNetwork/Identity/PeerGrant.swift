import SheafBytes
public import SheafTransport

/// A statement signed by an authority: the key of a peer, its rights, and their period of validity.
///
/// A grant is not secret: its presenter must own the key that it names.
public struct PeerGrant: Hashable, Sendable {
    /// The public key of the authority that signed the grant.
    public let authority: PeerKey
    /// The database that the grant is valid for.
    public let databaseID: DatabaseID
    /// The public key of the peer that the grant is issued to.
    public let peerKey: PeerKey
    /// The period of validity, in milliseconds since 1970.
    public let validMilliseconds: Range<UInt64>
    /// The collections that the peer may read and write, with conditions; nil grants everything.
    public let rights: PeerRights?
    /// The encoded statement and its signature, as sent on the wire.
    public let bytes: [UInt8]

    /// Maximum number of bytes of an encoded grant.
    public static let maximumLength = 32_768
    static let maximumCollectionLength = 1_024
    package static let maximumConditionLength = 4_096
    package static let maximumCollections = 1_024

    /// Creates and signs a grant with the key pair of the authority.
    public init(
        authority: PeerKeyPair, databaseID: DatabaseID, peerKey: PeerKey,
        validMilliseconds: Range<UInt64>, rights: PeerRights? = nil
    ) throws {
        if let rights { try Self.check(rights) }
        let statement = Self.statement(
            authority: authority.publicKey, databaseID: databaseID, peerKey: peerKey,
            validMilliseconds: validMilliseconds, rights: rights)
        // Decoding enforces the limits: a grant that cannot be decoded would be refused by every
        // peer.
        try self.init(statement + authority.signature(of: Self.signed(statement)))
    }

    /// Throws an error that names the limit if the rights exceed one.
    private static func check(_ rights: PeerRights) throws(NetworkError) {
        for (kind, conditions) in [("read", rights.read), ("write", rights.write)] {
            guard conditions.count <= maximumCollections else {
                throw NetworkError(
                    .grant,
                    "the rights to \(kind) have \(conditions.count) collections; a grant may have at "
                        + "most \(maximumCollections) to \(kind)")
            }
            for (collection, condition) in conditions.sorted(by: { $0.key < $1.key }) {
                guard collection.utf8.count <= maximumCollectionLength else {
                    throw NetworkError(
                        .grant,
                        "a collection in the rights to \(kind) has a name of \(collection.utf8.count) bytes; "
                            + "it may have at most \(maximumCollectionLength)")
                }
                guard condition.utf8.count <= maximumConditionLength else {
                    throw NetworkError(
                        .grant,
                        "the condition to \(kind) the collection \"\(collection.shortened)\" has "
                            + "\(condition.utf8.count) bytes; a condition may have at most \(maximumConditionLength)"
                    )
                }
            }
        }
    }

    /// Decodes a grant without checking its signature or validity; see `verify`.
    public init(_ bytes: [UInt8]) throws {
        self = try PeerGrant.decoded(bytes)
    }

    init(
        authority: PeerKey, databaseID: DatabaseID, peerKey: PeerKey,
        validMilliseconds: Range<UInt64>, rights: PeerRights?, bytes: [UInt8]
    ) {
        self.authority = authority
        self.databaseID = databaseID
        self.peerKey = peerKey
        self.validMilliseconds = validMilliseconds
        self.rights = rights
        self.bytes = bytes
    }

    /// Throws unless `authority` signed the grant for this database and key, and it is valid now.
    ///
    /// `now` is in milliseconds since 1970.
    public func verify(
        authority: PeerKey, databaseID: DatabaseID, peerKey: PeerKey, at now: UInt64
    ) throws {
        try check(authority: authority, databaseID: databaseID, peerKey: peerKey, at: now)
    }

    func check(
        authority: PeerKey, databaseID: DatabaseID, peerKey: PeerKey, at now: UInt64
    ) throws(NetworkError) {
        guard self.authority == authority else {
            throw NetworkError(
                .grantAuthority,
                "the grant was issued by the authority \(self.authority); expected "
                    + authority.description)
        }
        let (statement, signature) = (
            bytes.dropLast(Ed25519.signatureLength), bytes.suffix(Ed25519.signatureLength)
        )
        guard
            Ed25519.isSigned(Self.signed(Array(statement)), Array(signature), by: authority)
        else {
            throw NetworkError(
                .grantSignature, "the authority \(authority) did not sign the grant")
        }
        guard self.databaseID == databaseID else {
            throw NetworkError(
                .grantDatabase, "the grant is for another database")
        }
        guard self.peerKey == peerKey else {
            throw NetworkError(
                .grantKey,
                "the grant is for the key \(self.peerKey); expected "
                    + peerKey.description)
        }
        guard now >= validMilliseconds.lowerBound else {
            throw NetworkError(
                .grantEarly,
                "the grant is valid from \(validMilliseconds.lowerBound) ms since 1970; now is "
                    + "\(now)")
        }
        guard now < validMilliseconds.upperBound else {
            throw NetworkError(
                .grantExpired,
                "the grant expired at \(validMilliseconds.upperBound) ms since 1970; now is "
                    + "\(now)")
        }
    }
}
