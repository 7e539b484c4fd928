package import SheafTransport

/// The secrets and the identity with which a transport authenticates itself and its peers.
package struct Credentials: Sendable {
    package let databaseID: DatabaseID
    package let publicKey: PeerKey
    package let identity: NetworkIdentity

    /// Validates the credentials of a configuration.
    package init(_ configuration: NetworkConfiguration) throws(NetworkError) {
        databaseID = configuration.databaseID
        publicKey = configuration.keyPair.publicKey
        identity = configuration.identity
        guard case .authority(let authority, let grant) = identity else { return }
        // The validity period is checked per connection: some devices set their clock after the
        // start.
        try grant.check(
            authority: authority, databaseID: databaseID, peerKey: publicKey,
            at: grant.validMilliseconds.lowerBound)
    }

    /// The grant of this peer in authority mode, nil in other modes.
    var grant: PeerGrant? {
        if case .authority(_, let grant) = identity { return grant }
        return nil
    }

    /// Returns the greeting of this peer to the peer with the public key `receiver`.
    package func greeting(
        _ proof: Proof, role: Proof.Role, to receiver: PeerKey, metadataLength: Int = 0
    ) -> Greeting {
        let proofs = proofs(proof, role: role, sender: publicKey, receiver: receiver)
        return Greeting(
            mode: identity.number, grantLength: grant?.bytes.count ?? 0,
            metadataLength: metadataLength,
            databaseProof: proofs.database, secretProof: proofs.secret)
    }

    /// Returns both proofs of a greeting; without a shared key the second one is all zeros.
    func proofs(
        _ proof: Proof, role: Proof.Role, sender: PeerKey, receiver: PeerKey
    ) -> (database: [UInt8], secret: [UInt8]) {
        let database = databaseID.bytes.withUnsafeBytes {
            proof.bytes(of: $0, .database, role: role, sender: sender, receiver: receiver)
        }
        guard case .sharedKey(let key) = identity else { return (database, Greeting.noProof) }
        let secret = key.secret.withBytes {
            proof.bytes(of: $0, .sharedKey, role: role, sender: sender, receiver: receiver)
        }
        return (database, secret)
    }
}
