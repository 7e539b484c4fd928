import COpenSSL

/// Why TLS did not go on.
enum TLSFailure {
    /// Takes the first reason that the library has noted on this thread, and forgets all others.
    static func takeReason() -> (number: Int32, text: String) {
        let code = ERR_get_error()
        ERR_clear_error()
        guard code != 0 else { return (0, "no reason is known") }
        let text = ERR_reason_error_string(code).map { String(cString: $0) }
        return (ERR_GET_REASON(code), text ?? "error \(code)")
    }

    /// The rule that was broken, of what the library says.
    static func error(_ number: Int32, _ text: String) -> NetworkError {
        switch number {
        case SSL_R_UNSUPPORTED_PROTOCOL, SSL_R_TLSV1_ALERT_PROTOCOL_VERSION,
            SSL_R_NO_PROTOCOLS_AVAILABLE, SSL_R_INAPPROPRIATE_FALLBACK, SSL_R_UNKNOWN_PROTOCOL:
            NetworkError(.tlsVersion, "the other end does not speak TLS 1.3 (\(text))")
        case SSL_R_CERTIFICATE_VERIFY_FAILED, SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE,
            SSL_R_NO_SUITABLE_SIGNATURE_ALGORITHM, SSL_R_WRONG_SIGNATURE_TYPE,
            SSL_R_NO_SHARED_SIGNATURE_ALGORITHMS, SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED,
            SSL_R_UNKNOWN_CERTIFICATE_TYPE, SSL_R_EXCESSIVE_MESSAGE_SIZE:
            NetworkError(
                .certificate,
                "the other end has to show one certificate with an Ed25519 key (\(text))")
        case SSL_R_NO_APPLICATION_PROTOCOL, SSL_R_TLSV1_ALERT_NO_APPLICATION_PROTOCOL:
            NetworkError(.applicationProtocol, "the other end does not speak sheaf/1 (\(text))")
        case SSL_R_UNEXPECTED_EOF_WHILE_READING:
            NetworkError(.cut, "the other end broke the connection off")
        default:
            NetworkError(.tls, "what came is no TLS that can be understood (\(text))")
        }
    }
}
