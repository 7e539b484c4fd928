import COpenSSL

/// The TLS configuration of all connections of a transport: TLS 1.3 without optional features.
package final class TLSContext: Sendable {
    static let applicationProtocol = Array("sheaf/1".utf8)
    private static let groups = "X25519:P-256"
    private static let signatures = "ed25519"
    /// Maximum size of the peer's certificate chain; an Ed25519 certificate has about 300 bytes.
    private static let maximumCertificateLength = 4_096

    // OpenSSL counts references to the context atomically, and it is not modified after `init`.
    nonisolated(unsafe) let pointer: OpaquePointer

    /// Creates a context that presents this key pair.
    package init(_ keyPair: PeerKeyPair) throws(NetworkError) {
        guard let context = SSL_CTX_new(TLS_method()) else {
            throw NetworkError(.system, "OpenSSL cannot allocate a context")
        }
        pointer = context
        SSL_CTX_set_options(
            context, sheaf_no_ticket | sheaf_no_renegotiation | sheaf_no_compression)
        SSL_CTX_ctrl(context, SSL_CTRL_SET_SESS_CACHE_MODE, Int(SSL_SESS_CACHE_OFF), nil)
        SSL_CTX_ctrl(context, SSL_CTRL_SET_MAX_CERT_LIST, Self.maximumCertificateLength, nil)
        SSL_CTX_ctrl(
            context, SSL_CTRL_MODE,
            Int(
                SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER
                    | SSL_MODE_RELEASE_BUFFERS), nil)
        SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nil)
        SSL_CTX_set_cert_verify_callback(
            context, { store, _ in Certificate.isAcceptable(store) ? 1 : 0 }, nil)
        SSL_CTX_set_alpn_select_cb(
            context,
            { _, selected, length, offered, count, _ in
                TLSContext.select(selected, length, offered, count)
            }, nil)
        // Each name in the list is preceded by its length.
        let offered = [UInt8(Self.applicationProtocol.count)] + Self.applicationProtocol
        let isReady =
            SSL_CTX_ctrl(context, SSL_CTRL_SET_MIN_PROTO_VERSION, Int(TLS1_3_VERSION), nil) == 1
            && SSL_CTX_ctrl(context, SSL_CTRL_SET_MAX_PROTO_VERSION, Int(TLS1_3_VERSION), nil) == 1
            && Self.set(context, SSL_CTRL_SET_GROUPS_LIST, Self.groups)
            && Self.set(context, SSL_CTRL_SET_SIGALGS_LIST, Self.signatures)
            && Self.set(context, SSL_CTRL_SET_CLIENT_SIGALGS_LIST, Self.signatures)
            && SSL_CTX_set_num_tickets(context, 0) == 1
            && SSL_CTX_set_alpn_protos(context, offered, UInt32(offered.count)) == 0
            && Ed25519.withPrivateKey(keyPair.secret) { Certificate.install($0, in: context) }
                == true
        guard isReady else {
            let reason = TLSFailure.drainErrors()
            SSL_CTX_free(context)
            throw NetworkError(.system, "OpenSSL cannot use TLS 1.3 with Ed25519: \(reason.text)")
        }
    }

    deinit {
        SSL_CTX_free(pointer)
    }

    private static func set(_ context: OpaquePointer, _ command: Int32, _ list: String) -> Bool {
        list.withCString {
            SSL_CTX_ctrl(context, command, 0, UnsafeMutableRawPointer(mutating: $0)) == 1
        }
    }

    /// Selects `sheaf/1` if the client offers it, and fails the TLS handshake otherwise.
    private static func select(
        _ selected: UnsafeMutablePointer<UnsafePointer<UInt8>?>?,
        _ length: UnsafeMutablePointer<UInt8>?, _ offered: UnsafePointer<UInt8>?, _ count: UInt32
    ) -> Int32 {
        var names = UnsafeBufferPointer(start: offered, count: Int(count))[...]
        while let size = names.first, names.count > Int(size) {
            let name = names.dropFirst().prefix(Int(size))
            if name.elementsEqual(applicationProtocol), let base = offered {
                selected?.pointee = base + name.startIndex
                length?.pointee = size
                return SSL_TLSEXT_ERR_OK
            }
            names = names.dropFirst(Int(size) + 1)
        }
        return SSL_TLSEXT_ERR_ALERT_FATAL
    }
}
