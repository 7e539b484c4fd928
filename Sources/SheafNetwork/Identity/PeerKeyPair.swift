import COpenSSL
public import SheafTransport

/// The Ed25519 key pair that identifies a peer or an authority.
///
/// The secret key never appears in a description, log or error.
public struct PeerKeyPair: Sendable, CustomStringConvertible, CustomReflectable {
    /// The public key, which identifies the peer.
    public let publicKey: PeerKey
    let secret: Secret

    /// Generates a new random key pair.
    public static func generate() throws -> PeerKeyPair {
        var seed = [UInt8](repeating: 0, count: Ed25519.keyLength)
        defer { OPENSSL_cleanse(&seed, seed.count) }
        guard RAND_priv_bytes(&seed, Int32(seed.count)) == 1 else {
            throw NetworkError(.system, "the system has no random numbers for a key")
        }
        return try PeerKeyPair(seed: seed)
    }

    /// Creates the key pair from the 32 secret bytes that RFC 8032 calls the private key.
    public init(seed: [UInt8]) throws {
        guard seed.count == Ed25519.keyLength else {
            throw NetworkError(
                .key, "a secret key of \(seed.count) bytes; it must have \(Ed25519.keyLength)")
        }
        secret = Secret(seed)
        guard let publicKey = Ed25519.publicKey(of: secret) else {
            throw NetworkError(.system, "OpenSSL cannot create an Ed25519 key")
        }
        self.publicKey = publicKey
    }

    /// Returns the signature of `message`.
    func signature(of message: [UInt8]) throws(NetworkError) -> [UInt8] {
        guard let signature = Ed25519.signature(of: message, with: secret) else {
            throw NetworkError(.system, "OpenSSL cannot sign with Ed25519")
        }
        return signature
    }

    /// The public key only; the secret key has no text.
    public var description: String { "the key pair of \(publicKey)" }
    /// A mirror of the public key only.
    public var customMirror: Mirror { Mirror(self, children: ["publicKey": publicKey]) }
}
