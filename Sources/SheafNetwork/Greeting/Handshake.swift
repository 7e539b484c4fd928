package import SheafDocument
package import SheafTransport

/// The mutual authentication of two peers, as a state machine without effects.
///
/// The dialer proves itself first; one that cannot receives at most a refusal. So a port scanner
/// learns neither the database nor a proof that it could test keys against.
package struct Handshake: Sendable {
    /// The result of a successful handshake.
    package struct Outcome: Sendable {
        package let rights: PeerRights?
        /// The time at which the connection must end, in milliseconds since 1970.
        package let endMilliseconds: UInt64?
        /// The metadata of the remote peer.
        package fileprivate(set) var metadata = Object()
    }

    private enum Phase {
        case greeting
        case grant
        case metadata(Outcome)
        case over
    }

    private let credentials: Credentials
    private let proof: Proof
    private let role: Proof.Role
    private let remoteKey: PeerKey
    private let metadata: [UInt8]
    private var phase = Phase.greeting
    /// The length of the metadata that follow the grant.
    private var metadataLength = 0
    /// The number of bytes required next; nothing beyond them may be read yet.
    package private(set) var requiredLength = Greeting.Layout.size

    /// Creates a handshake; metadata longer than `Greeting.maximumMetadataLength` are not sent.
    package init(
        _ credentials: Credentials, role: Proof.Role, remoteKey: PeerKey, exporter: [UInt8],
        metadata: Object = Object()
    ) {
        let json = metadata.isEmpty ? [] : Array(Value.object(metadata).json.utf8)
        self.metadata = json.count <= Greeting.maximumMetadataLength ? json : []
        self.credentials = credentials
        self.role = role
        self.remoteKey = remoteKey
        proof = Proof(exporter: exporter)
    }

    /// The greeting, grant and metadata of this peer.
    ///
    /// The dialer sends them first; the listener sends them after authenticating the dialer.
    package var words: [UInt8] {
        credentials.greeting(
            proof, role: role, to: remoteKey, metadataLength: metadata.count
        ).bytes + (credentials.grant?.bytes ?? []) + metadata
    }

    /// Throws if both peers have the same key or the grant of this peer is not valid.
    package func begin(at now: UInt64) throws(NetworkError) {
        guard remoteKey != credentials.publicKey else {
            throw NetworkError(
                .itself, "the peer has the same key as this one; each peer needs its own key")
        }
        guard case .authority(let authority, let grant) = credentials.identity else { return }
        do throws(NetworkError) {
            try grant.check(
                authority: authority, databaseID: credentials.databaseID,
                peerKey: credentials.publicKey, at: now)
        } catch {
            throw NetworkError(error.rule, "of this peer: \(error.text)")
        }
    }

    /// Handles `requiredLength` received bytes; returns the outcome at the end of the handshake.
    package mutating func received(
        _ bytes: [UInt8], at now: UInt64
    ) throws(NetworkError) -> Outcome? {
        precondition(bytes.count == requiredLength, "Exactly the required bytes are passed.")
        switch phase {
        case .greeting:
            let greeting = try Greeting(decoding: bytes)
            try check(greeting)
            metadataLength = greeting.metadataLength
            guard greeting.grantLength > 0 else {
                return end(with: Outcome(rights: nil, endMilliseconds: nil))
            }
            phase = .grant
            requiredLength = greeting.grantLength
            return nil
        case .grant:
            return end(with: try outcome(of: PeerGrant.decoded(bytes), at: now))
        case .metadata(var outcome):
            phase = .over
            outcome.metadata = try Self.metadata(bytes)
            return outcome
        case .over:
            preconditionFailure("No bytes are passed after the end of a handshake.")
        }
    }

    /// Returns the outcome if no metadata follow; otherwise expects the metadata.
    private mutating func end(with outcome: Outcome) -> Outcome? {
        guard metadataLength > 0 else {
            phase = .over
            return outcome
        }
        phase = .metadata(outcome)
        requiredLength = metadataLength
        return nil
    }

    private static func metadata(_ bytes: [UInt8]) throws(NetworkError) -> Object {
        guard case .object(let object)? = try? Value(jsonBytes: bytes) else {
            throw NetworkError(.greeting, "the metadata of the greeting are not a JSON object")
        }
        return object
    }

    private func check(_ greeting: Greeting) throws(NetworkError) {
        if let refusal = greeting.refusal {
            throw NetworkError(
                refusal == .duplicate ? .duplicate : .refusedByRemotePeer,
                "the peer refused the connection: \(refusal.text)")
        }
        let expected = credentials.proofs(
            proof, role: role.other, sender: remoteKey, receiver: credentials.publicKey)
        guard Proof.isEqual(greeting.databaseProof, expected.database) else {
            throw NetworkError(
                .database, "the peer belongs to another database; both need the same database id")
        }
        guard greeting.mode == credentials.identity.number else {
            throw NetworkError(
                .mode,
                "the peer uses the mode \(NetworkIdentity.name(of: greeting.mode)); this one uses "
                    + "\(NetworkIdentity.name(of: credentials.identity.number))")
        }
        guard Proof.isEqual(greeting.secretProof, expected.secret) else {
            throw NetworkError(
                .sharedKey, "the peer has another shared key; both need the same key")
        }
    }

    private func outcome(of grant: PeerGrant, at now: UInt64) throws(NetworkError) -> Outcome {
        guard case .authority(let authority, let own) = credentials.identity else {
            preconditionFailure("A grant is decoded in authority mode only.")
        }
        try grant.check(
            authority: authority, databaseID: credentials.databaseID, peerKey: remoteKey, at: now)
        return Outcome(
            rights: grant.rights,
            endMilliseconds: min(
                grant.validMilliseconds.upperBound, own.validMilliseconds.upperBound))
    }
}
