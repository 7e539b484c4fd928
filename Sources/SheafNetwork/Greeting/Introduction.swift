package import Sheaf

/// How two ends come to know each other: a machine that is told what came, and says what to send.
///
/// Who has connected proves himself first; who listens says nothing to who cannot. So whoever looks
/// for open ports learns neither the database nor a proof that he could try keys on.
package struct Introduction: Sendable {
    /// What an introduction leads to.
    package struct Outcome: Sendable {
        package let rights: PeerRights?
        /// When the connection has to end; milliseconds since 1970.
        package let endMilliseconds: UInt64?
        /// What the other end says of itself.
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
    private let remoteKey: [UInt8]
    private let metadata: [UInt8]
    private var phase = Phase.greeting
    /// How many bytes of metadata follow the grant.
    private var metadataLength = 0
    /// How many bytes have to come next; none of what follows is asked for before.
    package private(set) var wantedLength = Greeting.Layout.size

    /// Begins an introduction; `metadata` is what this end says of itself.
    package init(
        _ credentials: Credentials, role: Proof.Role, remoteKey: [UInt8], exporter: [UInt8],
        metadata: Object = Object()
    ) {
        let json = metadata.isEmpty ? [] : Array(Value.object(metadata).json.utf8)
        self.metadata = json.count <= Greeting.maximumMetadataLength ? json : []
        self.credentials = credentials
        self.role = role
        self.remoteKey = remoteKey
        proof = Proof(exporter: exporter)
    }

    /// What this end says: who has connected first of all, who listens at the end.
    package var words: [UInt8] {
        credentials.greeting(
            proof, role: role, to: remoteKey, metadataLength: metadata.count
        ).bytes + (credentials.grant?.bytes ?? []) + metadata
    }

    /// Refuses what makes every word superfluous.
    package func begin(at now: UInt64) throws(NetworkError) {
        guard remoteKey != credentials.publicKey else {
            throw NetworkError(
                .itself, "the other end has the key of this one; each peer has one of its own")
        }
        guard case .authority(let authority, let grant) = credentials.identity else { return }
        do throws(NetworkError) {
            try grant.check(
                authority: authority, databaseID: credentials.databaseID,
                peerKey: credentials.publicKey, at: now)
        } catch {
            throw NetworkError(error.rule, "of this end: \(error.text)")
        }
    }

    /// Takes `wantedLength` bytes; returns an outcome when the other end is known.
    package mutating func received(
        _ bytes: [UInt8], at now: UInt64
    ) throws(NetworkError) -> Outcome? {
        precondition(bytes.count == wantedLength, "Exactly what was asked for is told.")
        switch phase {
        case .greeting:
            let greeting = try Greeting(decoding: bytes)
            try check(greeting)
            metadataLength = greeting.metadataLength
            guard greeting.grantLength > 0 else {
                return end(with: Outcome(rights: nil, endMilliseconds: nil))
            }
            phase = .grant
            wantedLength = greeting.grantLength
            return nil
        case .grant:
            return end(with: try outcome(of: PeerGrant.decoded(bytes), at: now))
        case .metadata(var outcome):
            phase = .over
            outcome.metadata = try Self.metadata(bytes)
            return outcome
        case .over:
            preconditionFailure("Nothing is told behind the end of an introduction.")
        }
    }

    /// Returns the outcome where no metadata follows.
    private mutating func end(with outcome: Outcome) -> Outcome? {
        guard metadataLength > 0 else {
            phase = .over
            return outcome
        }
        phase = .metadata(outcome)
        wantedLength = metadataLength
        return nil
    }

    private static func metadata(_ bytes: [UInt8]) throws(NetworkError) -> Object {
        guard case .object(let object)? = try? Value(jsonBytes: bytes) else {
            throw NetworkError(.greeting, "the metadata behind a greeting is no JSON object")
        }
        return object
    }

    private func check(_ greeting: Greeting) throws(NetworkError) {
        if let refusal = greeting.refusal {
            throw NetworkError(
                refusal == .duplicate ? .duplicate : .refusedThere,
                "the other end refuses: \(refusal.text)")
        }
        let expected = credentials.proofs(
            proof, role: role.other, sender: remoteKey, receiver: credentials.publicKey)
        guard Proof.isEqual(greeting.databaseProof, expected.database) else {
            throw NetworkError(
                .database, "the other end is of another database; both need the same database id")
        }
        guard greeting.mode == credentials.identity.number else {
            throw NetworkError(
                .mode,
                "the other end is in the mode \(NetworkIdentity.name(of: greeting.mode)); it has to "
                    + "be in \(NetworkIdentity.name(of: credentials.identity.number))")
        }
        guard Proof.isEqual(greeting.secretProof, expected.secret) else {
            throw NetworkError(
                .sharedKey, "the other end has another shared key; both need the same")
        }
    }

    private func outcome(of grant: PeerGrant, at now: UInt64) throws(NetworkError) -> Outcome {
        guard case .authority(let authority, let own) = credentials.identity else {
            preconditionFailure("A grant is asked for in the mode that has them.")
        }
        try grant.check(
            authority: authority, databaseID: credentials.databaseID, peerKey: remoteKey, at: now)
        return Outcome(
            rights: grant.rights,
            endMilliseconds: min(
                grant.validMilliseconds.upperBound, own.validMilliseconds.upperBound))
    }
}
