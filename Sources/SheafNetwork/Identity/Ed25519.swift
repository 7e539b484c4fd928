import COpenSSL
import SheafTransport

/// Ed25519 signatures (RFC 8032).
enum Ed25519 {
    /// Number of bytes of a secret key.
    static let keyLength = 32
    static let signatureLength = 64

    /// Returns the public key for a secret key, or nil if OpenSSL fails.
    static func publicKey(of secret: Secret) -> PeerKey? {
        withPrivateKey(secret) { publicKey(in: $0) }
    }

    /// Returns the public key of an OpenSSL key, or nil if it is not an Ed25519 key.
    static func publicKey(in key: OpaquePointer) -> PeerKey? {
        guard EVP_PKEY_get_id(key) == EVP_PKEY_ED25519 else { return nil }
        var bytes = [UInt8](repeating: 0, count: PeerKey.length)
        var length = bytes.count
        guard EVP_PKEY_get_raw_public_key(key, &bytes, &length) == 1
        else { return nil }
        return PeerKey(Array(bytes.prefix(length)))
    }

    /// Signs `message`; returns nil if OpenSSL fails.
    static func signature(of message: [UInt8], with secret: Secret) -> [UInt8]? {
        withPrivateKey(secret) { key in
            guard let context = EVP_MD_CTX_new() else { return nil }
            defer { EVP_MD_CTX_free(context) }
            var signature = [UInt8](repeating: 0, count: signatureLength)
            var length = signature.count
            guard EVP_DigestSignInit(context, nil, nil, nil, key) == 1,
                EVP_DigestSign(context, &signature, &length, message, message.count) == 1,
                length == signatureLength
            else { return nil }
            return signature
        }
    }

    /// Whether `signature` is the signature of `message` by the owner of `publicKey`.
    static func isSigned(_ message: [UInt8], _ signature: [UInt8], by publicKey: PeerKey) -> Bool {
        guard signature.count == signatureLength,
            let key = EVP_PKEY_new_raw_public_key(
                EVP_PKEY_ED25519, nil, publicKey.bytes, PeerKey.length)
        else { return false }
        defer {
            EVP_PKEY_free(key)
            // A failed verification leaves entries in OpenSSL's error queue.
            ERR_clear_error()
        }
        guard let context = EVP_MD_CTX_new() else { return false }
        defer { EVP_MD_CTX_free(context) }
        guard EVP_DigestVerifyInit(context, nil, nil, nil, key) == 1 else { return false }
        return EVP_DigestVerify(context, signature, signature.count, message, message.count) == 1
    }

    /// Returns the result of `body` for the secret key as an OpenSSL key; nil if OpenSSL fails.
    static func withPrivateKey<Result>(
        _ secret: Secret, _ body: (OpaquePointer) -> Result?
    ) -> Result? {
        let key = secret.withBytes { bytes in
            EVP_PKEY_new_raw_private_key(
                EVP_PKEY_ED25519, nil, bytes.bindMemory(to: UInt8.self).baseAddress, bytes.count)
        }
        guard let key else { return nil }
        defer { EVP_PKEY_free(key) }
        return body(key)
    }
}
