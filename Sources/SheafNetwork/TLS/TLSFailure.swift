import COpenSSL

/// The conversion of OpenSSL errors to network errors.
enum TLSFailure {
    /// Returns the first error queued by OpenSSL on this thread, and clears the queue.
    static func drainErrors() -> (number: Int32, text: String) {
        let code = ERR_get_error()
        ERR_clear_error()
        guard code != 0 else { return (0, "no reason given") }
        let text = ERR_reason_error_string(code).map { String(cString: $0) }
        return (ERR_GET_REASON(code), text ?? "error \(code)")
    }

    /// Returns the network error for an OpenSSL reason code.
    static func error(_ number: Int32, _ text: String) -> NetworkError {
        switch number {
        case SSL_R_UNSUPPORTED_PROTOCOL, SSL_R_TLSV1_ALERT_PROTOCOL_VERSION,
            SSL_R_NO_PROTOCOLS_AVAILABLE, SSL_R_INAPPROPRIATE_FALLBACK, SSL_R_UNKNOWN_PROTOCOL:
            NetworkError(.tlsVersion, "the peer does not support TLS 1.3 (\(text))")
        case SSL_R_CERTIFICATE_VERIFY_FAILED, SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE,
            SSL_R_NO_SUITABLE_SIGNATURE_ALGORITHM, SSL_R_WRONG_SIGNATURE_TYPE,
            SSL_R_NO_SHARED_SIGNATURE_ALGORITHMS, SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED,
            SSL_R_UNKNOWN_CERTIFICATE_TYPE, SSL_R_EXCESSIVE_MESSAGE_SIZE:
            NetworkError(
                .certificate,
                "the peer must present one certificate with an Ed25519 key (\(text))")
        case SSL_R_NO_APPLICATION_PROTOCOL, SSL_R_TLSV1_ALERT_NO_APPLICATION_PROTOCOL:
            NetworkError(.applicationProtocol, "the peer does not support sheaf/1 (\(text))")
        case SSL_R_UNEXPECTED_EOF_WHILE_READING:
            NetworkError(.cut, "the peer closed the connection without a close alert")
        default:
            NetworkError(.tls, "TLS failed (\(text))")
        }
    }
}
