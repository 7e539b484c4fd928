import COpenSSL
import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// TLS over one socket that does not wait; one thread at a time is in the library.
package final class TLSSession: Sendable {
    /// What became of a call.
    package enum Step: Equatable {
        case done(Int)
        case wantsToRead
        case wantsToWrite
        /// The other end has said farewell.
        case ended
        case failed(NetworkError)
    }

    /// The most that one record holds.
    package static let recordLength = 16 << 10

    private nonisolated(unsafe) let pointer: OpaquePointer
    private let turn = Mutex(())
    // The library refers to it.
    private let context: TLSContext

    /// Begins over a socket, as the end that has connected or the one that listens.
    package init(_ context: TLSContext, socket: Int32, role: Proof.Role) throws(NetworkError) {
        guard let pointer = SSL_new(context.pointer) else {
            throw NetworkError(.system, "OpenSSL has no room for a connection")
        }
        self.pointer = pointer
        self.context = context
        guard SSL_set_fd(pointer, socket) == 1 else {
            throw NetworkError(.system, "OpenSSL does not take the socket")
        }
        switch role {
        case .dialer: SSL_set_connect_state(pointer)
        case .listener: SSL_set_accept_state(pointer)
        }
    }

    deinit {
        SSL_free(pointer)
    }

    /// What has gone over the socket.
    var traffic: NetworkTraffic {
        turn.withLock { _ in
            NetworkTraffic(
                sentBytes: UInt64(BIO_number_written(SSL_get_wbio(pointer))),
                receivedBytes: UInt64(BIO_number_read(SSL_get_rbio(pointer))))
        }
    }

    /// Goes on with the handshake.
    package func shakeHands() -> Step {
        step { SSL_do_handshake(pointer) }
    }

    /// The public key of the other end, when the handshake is done and was what it has to be.
    package func remoteKey() throws(NetworkError) -> [UInt8] {
        var name: UnsafePointer<UInt8>?
        var length: UInt32 = 0
        SSL_get0_alpn_selected(pointer, &name, &length)
        let selected = UnsafeBufferPointer(start: name, count: Int(length))
        guard selected.elementsEqual(TLSContext.applicationProtocol) else {
            throw NetworkError(.applicationProtocol, "the other end does not speak sheaf/1")
        }
        guard SSL_version(pointer) == TLS1_3_VERSION else {
            throw NetworkError(.tlsVersion, "the other end does not speak TLS 1.3")
        }
        guard let certificate = SSL_get1_peer_certificate(pointer) else {
            throw NetworkError(.certificate, "the other end has no certificate")
        }
        defer { X509_free(certificate) }
        guard let key = X509_get0_pubkey(certificate), let bytes = Ed25519.publicKey(in: key) else {
            throw NetworkError(.certificate, "the key of the other end is not of Ed25519")
        }
        return bytes
    }

    /// Key material that both ends of this connection have, and nobody else.
    package func exporter() throws(NetworkError) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: Proof.exporterLength)
        let label = Proof.exporterLabel
        guard
            SSL_export_keying_material(
                pointer, &bytes, bytes.count, label, label.utf8.count, nil, 0, 0) == 1
        else { throw NetworkError(.system, "OpenSSL gives no key material") }
        return bytes
    }

    /// Reads at most as much as fits, and at most one record.
    package func read(into buffer: UnsafeMutableRawBufferPointer) -> Step {
        step { SSL_read(pointer, buffer.baseAddress, Int32(clamping: buffer.count)) }
    }

    /// Writes at most one record; after `wantsToWrite` the same bytes have to be written again.
    package func write(_ buffer: UnsafeRawBufferPointer) -> Step {
        step { SSL_write(pointer, buffer.baseAddress, Int32(clamping: buffer.count)) }
    }

    /// Whether bytes came that a socket does not tell of any more.
    package var hasPending: Bool { turn.withLock { _ in SSL_has_pending(pointer) == 1 } }

    /// Says farewell, and does not wait for the answer; false where there is no room for it yet.
    package func sayFarewell() -> Bool {
        turn.withLock { _ in
            ERR_clear_error()
            defer { ERR_clear_error() }
            let result = SSL_shutdown(pointer)
            return result >= 0 || SSL_get_error(pointer, result) != SSL_ERROR_WANT_WRITE
        }
    }

    private func step(_ call: () -> Int32) -> Step {
        turn.withLock { _ in stepInTurn(call) }
    }

    private func stepInTurn(_ call: () -> Int32) -> Step {
        ERR_clear_error()
        errno = 0
        let result = call()
        guard result <= 0 else { return .done(Int(result)) }
        let code = errno
        switch SSL_get_error(pointer, result) {
        case SSL_ERROR_WANT_READ: return .wantsToRead
        case SSL_ERROR_WANT_WRITE: return .wantsToWrite
        case SSL_ERROR_ZERO_RETURN: return .ended
        case SSL_ERROR_SYSCALL:
            ERR_clear_error()
            return .failed(NetworkError(.cut, "the connection broke: \(systemMessage(code))"))
        default:
            let (number, text) = TLSFailure.takeReason()
            return .failed(TLSFailure.error(number, text))
        }
    }
}
