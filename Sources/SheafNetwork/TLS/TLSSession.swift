import COpenSSL
package import SheafTransport
import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// A TLS session over a nonblocking socket; its input and output are serialized.
package final class TLSSession: Sendable {
    /// The result of a call.
    package enum Step: Equatable {
        case done(Int)
        case needsRead
        case needsWrite
        /// The peer has sent a close alert.
        case ended
        case failed(NetworkError)
    }

    /// Maximum plaintext length of one TLS record.
    package static let recordLength = 16 << 10

    private nonisolated(unsafe) let pointer: OpaquePointer
    private let turn = Mutex(())
    // The context is retained because the OpenSSL session refers to it.
    private let context: TLSContext

    /// Creates a session over a connected socket, as client or server.
    package init(_ context: TLSContext, socket: Int32, role: Proof.Role) throws(NetworkError) {
        guard let pointer = SSL_new(context.pointer) else {
            throw NetworkError(.system, "OpenSSL cannot allocate a session")
        }
        self.pointer = pointer
        self.context = context
        guard SSL_set_fd(pointer, socket) == 1 else {
            throw NetworkError(.system, "OpenSSL does not accept the socket")
        }
        switch role {
        case .dialer: SSL_set_connect_state(pointer)
        case .listener: SSL_set_accept_state(pointer)
        }
    }

    deinit {
        SSL_free(pointer)
    }

    /// The number of bytes sent and received on the socket.
    var traffic: NetworkTraffic {
        turn.withLock { _ in
            NetworkTraffic(
                sentBytes: UInt64(BIO_number_written(SSL_get_wbio(pointer))),
                receivedBytes: UInt64(BIO_number_read(SSL_get_rbio(pointer))))
        }
    }

    /// Continues the TLS handshake.
    package func performHandshake() -> Step {
        step { SSL_do_handshake(pointer) }
    }

    /// Returns the peer's public key after the TLS handshake.
    ///
    /// Throws unless TLS 1.3 and `sheaf/1` were negotiated with an Ed25519 certificate.
    package func remoteKey() throws(NetworkError) -> PeerKey {
        var name: UnsafePointer<UInt8>?
        var length: UInt32 = 0
        SSL_get0_alpn_selected(pointer, &name, &length)
        let selected = UnsafeBufferPointer(start: name, count: Int(length))
        guard selected.elementsEqual(TLSContext.applicationProtocol) else {
            throw NetworkError(.applicationProtocol, "the peer does not support sheaf/1")
        }
        guard SSL_version(pointer) == TLS1_3_VERSION else {
            throw NetworkError(.tlsVersion, "the peer does not support TLS 1.3")
        }
        guard let certificate = SSL_get1_peer_certificate(pointer) else {
            throw NetworkError(.certificate, "the peer has no certificate")
        }
        defer { X509_free(certificate) }
        guard let key = X509_get0_pubkey(certificate), let publicKey = Ed25519.publicKey(in: key)
        else {
            throw NetworkError(.certificate, "the peer's key is not an Ed25519 key")
        }
        return publicKey
    }

    /// Returns key material known only to the two ends of this connection.
    package func exporter() throws(NetworkError) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: Proof.exporterLength)
        let label = Proof.exporterLabel
        guard
            SSL_export_keying_material(
                pointer, &bytes, bytes.count, label, label.utf8.count, nil, 0, 0) == 1
        else { throw NetworkError(.system, "OpenSSL cannot export key material") }
        return bytes
    }

    /// Reads at most one record, and at most as many bytes as fit into `buffer`.
    package func read(into buffer: UnsafeMutableRawBufferPointer) -> Step {
        step { SSL_read(pointer, buffer.baseAddress, Int32(clamping: buffer.count)) }
    }

    /// Writes at most one record; after `needsRead` or `needsWrite` it must be repeated unchanged.
    package func write(_ buffer: UnsafeRawBufferPointer) -> Step {
        step { SSL_write(pointer, buffer.baseAddress, Int32(clamping: buffer.count)) }
    }

    /// Sends a close alert without waiting for the peer's; returns false if the socket is full.
    package func sendCloseMessage() -> Bool {
        turn.withLock { _ in
            ERR_clear_error()
            defer { ERR_clear_error() }
            let result = SSL_shutdown(pointer)
            return result >= 0 || SSL_get_error(pointer, result) != SSL_ERROR_WANT_WRITE
        }
    }

    private func step(_ call: () -> Int32) -> Step {
        turn.withLock { _ in stepSerialized(call) }
    }

    private func stepSerialized(_ call: () -> Int32) -> Step {
        ERR_clear_error()
        errno = 0
        let result = call()
        guard result <= 0 else { return .done(Int(result)) }
        let code = errno
        switch SSL_get_error(pointer, result) {
        case SSL_ERROR_WANT_READ: return .needsRead
        case SSL_ERROR_WANT_WRITE: return .needsWrite
        case SSL_ERROR_ZERO_RETURN: return .ended
        case SSL_ERROR_SYSCALL:
            ERR_clear_error()
            return .failed(NetworkError(.cut, "the connection was lost: \(systemMessage(code))"))
        default:
            let (number, text) = TLSFailure.drainErrors()
            return .failed(TLSFailure.error(number, text))
        }
    }
}
