public import Sheaf
import SheafBytes

/// What an authority says of a peer: which key it has, from when until when, and what it may do.
///
/// It is public: who shows it has to own the key that it names.
public struct PeerGrant: Hashable, Sendable {
    /// The public key of the authority that has signed it.
    public let authority: [UInt8]
    /// The database that it is for.
    public let databaseID: [UInt8]
    /// The public key of the peer that it is for.
    public let peerKey: [UInt8]
    /// Milliseconds since 1970, from which on it is valid, and from which on no longer.
    public let validMilliseconds: Range<UInt64>
    /// What the peer may read and write; nil: everything.
    public let rights: PeerRights?
    /// The statement and its signature, as they are sent.
    public let bytes: [UInt8]

    public static let databaseIDLength = 16
    public static let maximumLength = 32_768
    static let maximumCollectionLength = 1_024
    static let maximumConditionLength = 4_096
    static let maximumCollections = 1_024

    /// Signs a grant; the key pair is that of the authority.
    public init(
        authority: PeerKeyPair, databaseID: [UInt8], peerKey: [UInt8],
        validMilliseconds: Range<UInt64>, rights: PeerRights? = nil
    ) throws {
        guard databaseID.count == Self.databaseIDLength else {
            throw NetworkError(
                .key,
                "a database id of \(databaseID.count) bytes: it has to have "
                    + "\(Self.databaseIDLength)")
        }
        guard peerKey.count == Ed25519.keyLength else {
            throw NetworkError(
                .key, "a peer key of \(peerKey.count) bytes: it has to have \(Ed25519.keyLength)")
        }
        if let rights { try Self.check(rights) }
        let statement = Self.statement(
            authority: authority.publicKey, databaseID: databaseID, peerKey: peerKey,
            validMilliseconds: validMilliseconds, rights: rights)
        // Whoever cannot read it would have to refuse it.
        try self.init(statement + authority.signature(of: Self.signed(statement)))
    }

    /// Throws an error with the limit if the rights exceed one.
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

    /// Reads a grant; whether it holds is for `verify` to say.
    public init(_ bytes: [UInt8]) throws {
        self = try PeerGrant.decoded(bytes)
    }

    init(
        authority: [UInt8], databaseID: [UInt8], peerKey: [UInt8],
        validMilliseconds: Range<UInt64>, rights: PeerRights?, bytes: [UInt8]
    ) {
        self.authority = authority
        self.databaseID = databaseID
        self.peerKey = peerKey
        self.validMilliseconds = validMilliseconds
        self.rights = rights
        self.bytes = bytes
    }

    /// Refuses a grant that is not from this authority, for this database and this key, and valid now.
    ///
    /// The time is milliseconds since 1970.
    public func verify(
        authority: [UInt8], databaseID: [UInt8], peerKey: [UInt8], at now: UInt64
    ) throws {
        try check(authority: authority, databaseID: databaseID, peerKey: peerKey, at: now)
    }

    func check(
        authority: [UInt8], databaseID: [UInt8], peerKey: [UInt8], at now: UInt64
    ) throws(NetworkError) {
        guard self.authority == authority else {
            throw NetworkError(
                .grantAuthority,
                "the grant is of the authority \(self.authority.hexadecimal); it has to be of "
                    + authority.hexadecimal)
        }
        let (statement, signature) = (
            bytes.dropLast(Ed25519.signatureLength), bytes.suffix(Ed25519.signatureLength)
        )
        guard
            Ed25519.isSigned(Self.signed(Array(statement)), Array(signature), by: authority)
        else {
            throw NetworkError(
                .grantSignature, "the authority \(authority.hexadecimal) has not signed the grant")
        }
        guard self.databaseID == databaseID else {
            throw NetworkError(
                .grantDatabase, "the grant is for another database than that of this transport")
        }
        guard self.peerKey == peerKey else {
            throw NetworkError(
                .grantKey,
                "the grant is for the key \(self.peerKey.hexadecimal); it has to be for "
                    + peerKey.hexadecimal)
        }
        guard now >= validMilliseconds.lowerBound else {
            throw NetworkError(
                .grantEarly,
                "the grant is valid from \(validMilliseconds.lowerBound) ms after 1970 on; now it is "
                    + "\(now)")
        }
        guard now < validMilliseconds.upperBound else {
            throw NetworkError(
                .grantExpired,
                "the grant was valid until \(validMilliseconds.upperBound) ms after 1970; now it is "
                    + "\(now)")
        }
    }
}
