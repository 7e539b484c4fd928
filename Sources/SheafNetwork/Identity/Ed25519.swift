import COpenSSL

/// Signatures with Ed25519, as RFC 8032 has them.
enum Ed25519 {
    static let keyLength = 32
    static let signatureLength = 64

    /// The public key of a secret one; nil where the library refuses.
    static func publicKey(of secret: Secret) -> [UInt8]? {
        withPrivateKey(secret) { publicKey(in: $0) }
    }

    /// The bytes of a public key that is of this kind.
    static func publicKey(in key: OpaquePointer) -> [UInt8]? {
        guard EVP_PKEY_get_id(key) == EVP_PKEY_ED25519 else { return nil }
        var bytes = [UInt8](repeating: 0, count: keyLength)
        var length = bytes.count
        guard EVP_PKEY_get_raw_public_key(key, &bytes, &length) == 1, length == keyLength
        else { return nil }
        return bytes
    }

    /// Signs bytes; nil where the library refuses.
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

    /// Whether the owner of a public key has signed these bytes.
    static func isSigned(_ message: [UInt8], _ signature: [UInt8], by publicKey: [UInt8]) -> Bool {
        guard publicKey.count == keyLength, signature.count == signatureLength,
            let key = EVP_PKEY_new_raw_public_key(
                EVP_PKEY_ED25519, nil, publicKey, publicKey.count)
        else { return false }
        defer {
            EVP_PKEY_free(key)
            // A signature that is wrong leaves its reason, which nobody asks for.
            ERR_clear_error()
        }
        guard let context = EVP_MD_CTX_new() else { return false }
        defer { EVP_MD_CTX_free(context) }
        guard EVP_DigestVerifyInit(context, nil, nil, nil, key) == 1 else { return false }
        return EVP_DigestVerify(context, signature, signature.count, message, message.count) == 1
    }

    /// Lends a secret key as the library has it.
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
