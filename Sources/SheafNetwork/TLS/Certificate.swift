import COpenSSL

/// The self-signed certificate that carries the public key of a peer and nothing else.
enum Certificate {
    /// Installs a certificate for `key` in the context; peers ignore its dates and its name.
    static func install(_ key: OpaquePointer, in context: OpaquePointer) -> Bool {
        guard let certificate = X509_new() else { return false }
        defer { X509_free(certificate) }
        guard X509_set_version(certificate, 2) == 1,
            ASN1_INTEGER_set(X509_get_serialNumber(certificate), 1) == 1,
            ASN1_TIME_set_string(X509_getm_notBefore(certificate), "20000101000000Z") == 1,
            ASN1_TIME_set_string(X509_getm_notAfter(certificate), "99991231235959Z") == 1,
            X509_set_pubkey(certificate, key) == 1,
            let name = X509_get_subject_name(certificate),
            X509_NAME_add_entry_by_txt(name, "CN", utf8Text, "sheaf", -1, -1, 0) == 1,
            X509_set_issuer_name(certificate, name) == 1,
            // Ed25519 includes its own hash function, so no digest is passed.
            X509_sign(certificate, key, nil) > 0
        else { return false }
        return SSL_CTX_use_certificate(context, certificate) == 1
            && SSL_CTX_use_PrivateKey(context, key) == 1
    }

    /// The value of the C macro MBSTRING_UTF8, which is not imported into Swift.
    private static let utf8Text: Int32 = 0x1000

    /// Whether the peer sent exactly one certificate, with an Ed25519 key.
    ///
    /// The caller checks the key itself after the TLS handshake.
    static func isAcceptable(_ store: OpaquePointer?) -> Bool {
        guard let certificate = X509_STORE_CTX_get0_cert(store),
            let key = X509_get0_pubkey(certificate)
        else { return false }
        let others = X509_STORE_CTX_get0_untrusted(store)
        return OPENSSL_sk_num(others) <= 1 && Ed25519.publicKey(in: key) != nil
    }
}
