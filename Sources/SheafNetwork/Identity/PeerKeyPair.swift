import COpenSSL

/// What a peer, or an authority, proves itself with: an Ed25519 key pair.
///
/// The secret half is in no description, log or error.
public struct PeerKeyPair: Sendable, CustomStringConvertible, CustomReflectable {
    /// 32 bytes, by which the peer is known.
    public let publicKey: [UInt8]
    let secret: Secret

    /// Draws a new key pair.
    public static func generate() throws -> PeerKeyPair {
        var seed = [UInt8](repeating: 0, count: Ed25519.keyLength)
        defer { OPENSSL_cleanse(&seed, seed.count) }
        guard RAND_priv_bytes(&seed, Int32(seed.count)) == 1 else {
            throw NetworkError(.system, "the system gives no random numbers for a key")
        }
        return try PeerKeyPair(seed: seed)
    }

    /// The key pair of 32 secret bytes, which RFC 8032 calls the private key.
    public init(seed: [UInt8]) throws {
        guard seed.count == Ed25519.keyLength else {
            throw NetworkError(
                .key, "a secret key of \(seed.count) bytes: it has to have \(Ed25519.keyLength)")
        }
        secret = Secret(seed)
        guard let publicKey = Ed25519.publicKey(of: secret) else {
            throw NetworkError(.system, "OpenSSL makes no Ed25519 keys here")
        }
        self.publicKey = publicKey
    }

    /// Signs bytes.
    func signature(of message: [UInt8]) throws(NetworkError) -> [UInt8] {
        guard let signature = Ed25519.signature(of: message, with: secret) else {
            throw NetworkError(.system, "OpenSSL does not sign with Ed25519 here")
        }
        return signature
    }

    public var description: String { "the key pair of \(publicKey.hexadecimal)" }
    public var customMirror: Mirror { Mirror(self, children: ["publicKey": publicKey]) }
}

extension [UInt8] {
    /// Two digits for each byte.
    var hexadecimal: String {
        let digits = Array<Character>("0123456789abcdef")
        return String(flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] })
    }
}
