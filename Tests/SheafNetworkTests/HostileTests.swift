import COpenSSL
import Sheaf
import SheafNetwork
import SheafStorage
import SheafSystem
import SheafTestSupport
import Testing

/// Attacks by clients, each refused by its rule; honest peers can still connect.
struct HostileTests {
    private let clock = FakeClock()
    private let server: RunningPeer

    init() throws {
        server = try RunningPeer(Peers.configuration(), listens: true, clock: clock.clock)
    }

    /// Whether the server reports a refusal with this rule.
    private func isRefused(_ rule: NetworkRule) -> Bool {
        server.host.wait { $0.refusals.contains { $0.hasPrefix(rule.rawValue + ": ") } }
    }

    /// Whether an honest peer can still connect and send bytes.
    private func isUnharmed() throws -> Bool {
        let count = server.host.state.withLock { $0.connections.count }
        let client = try RunningPeer(Peers.configuration(), peers: [server.host.address])
        guard let serverConnection = server.host.connection(count),
            let clientConnection = client.host.connection()
        else {
            return false
        }
        clientConnection.connection.send([1, 2, 3])
        return serverConnection.wait { $0.received == [1, 2, 3] }
    }

    @Test(arguments: [
        "GET / HTTP/1.1\r\n\r\n", "SSH-2.0-OpenSSH_9.2\r\n", "\u{0}\u{0}\u{0}\u{0}\u{0}\u{0}",
        "\u{16}\u{3}\u{1}", "SHN1 and so on",
    ])
    func `input that is not TLS is refused`(_ text: String) throws {
        let client = try RawClient(server.host.address)
        client.send(Array(text.utf8))
        client.endSending()
        #expect(client.isThrownOut())
        let isReported = server.host.wait { !$0.refusals.isEmpty }
        #expect(isReported)
        #expect(server.host.state.withLock { $0.connections.isEmpty })
        #expect(try isUnharmed())
    }

    @Test func `random bytes are refused`() throws {
        let seed = UInt64.random(in: 0..<1_000_000_000)
        print("random bytes, seed \(seed)")
        var random = SeededRandom(seed: seed, "random bytes")
        for round in 0..<20 {
            let client = try RawClient(server.host.address)
            // Every other round starts like a TLS handshake.
            let start: [UInt8] = round % 2 == 0 ? [] : [22, 3, 1, 2, 0, 1, 0, 1, 252, 3, 3]
            client.send(start + random.bytes(1 + random.below(4_000)))
            client.endSending()
            #expect(client.isThrownOut())
        }
        #expect(server.host.state.withLock { $0.connections.isEmpty })
        #expect(try isUnharmed())
    }

    /// Runs a handshake with an OpenSSL client configured by `prepare`.
    private func shake(
        _ prepare: (OpaquePointer) -> Void
    ) throws -> (isDone: Bool, stranger: RawClient) {
        let context = try #require(SSL_CTX_new(TLS_client_method()))
        defer { SSL_CTX_free(context) }
        prepare(context)
        let session = try #require(SSL_new(context))
        defer { SSL_free(session) }
        let client = try RawClient(server.host.address)
        SSL_set_fd(session, client.descriptor)
        while true {
            let result = SSL_connect(session)
            if result == 1 { break }
            switch SSL_get_error(session, result) {
            case SSL_ERROR_WANT_READ: _ = client.waitFor(1)
            case SSL_ERROR_WANT_WRITE: _ = client.waitFor(4)
            default: return (false, client)
            }
        }
        // A TLS 1.3 client finishes its handshake before it learns that the server refused it.
        var byte: UInt8 = 0
        while true {
            let result = SSL_read(session, &byte, 1)
            if result > 0 { return (true, client) }
            guard SSL_get_error(session, result) == SSL_ERROR_WANT_READ else {
                return (false, client)
            }
            _ = client.waitFor(1)
        }
    }

    private func offer(_ names: String, in context: OpaquePointer) {
        let offered = [UInt8(names.utf8.count)] + Array(names.utf8)
        SSL_CTX_set_alpn_protos(context, offered, UInt32(offered.count))
    }

    @Test(arguments: [TLS1_VERSION, TLS1_1_VERSION, TLS1_2_VERSION])
    func `older versions of TLS are refused`(_ version: Int32) throws {
        let (isDone, _) = try shake { context in
            SSL_CTX_set_security_level(context, 0)
            SSL_CTX_ctrl(context, SSL_CTRL_SET_MIN_PROTO_VERSION, Int(version), nil)
            SSL_CTX_ctrl(context, SSL_CTRL_SET_MAX_PROTO_VERSION, Int(version), nil)
            offer("sheaf/1", in: context)
        }
        #expect(!isDone)
        #expect(isRefused(.tlsVersion))
        #expect(try isUnharmed())
    }

    @Test func `a client without a certificate is refused`() throws {
        let (isDone, _) = try shake { offer("sheaf/1", in: $0) }
        #expect(!isDone)
        #expect(isRefused(.certificate))
    }

    @Test func `a client with a key of another kind is refused`() throws {
        let (isDone, _) = try shake { context in
            offer("sheaf/1", in: context)
            guard let key = key(EVP_PKEY_EC, curve: NID_X9_62_prime256v1),
                let certificate = certificate(key)
            else { return }
            defer {
                EVP_PKEY_free(key)
                X509_free(certificate)
            }
            SSL_CTX_use_certificate(context, certificate)
            SSL_CTX_use_PrivateKey(context, key)
        }
        #expect(!isDone)
        #expect(isRefused(.certificate))
    }

    @Test func `a client that presents more than one certificate is refused`() throws {
        let (isDone, _) = try shake { context in
            offer("sheaf/1", in: context)
            guard let key = key(EVP_PKEY_ED25519, curve: nil), let certificate = certificate(key)
            else { return }
            SSL_CTX_use_certificate(context, certificate)
            SSL_CTX_use_PrivateKey(context, key)
            // The context takes ownership of extra chain certificates.
            SSL_CTX_ctrl(
                context, SSL_CTRL_EXTRA_CHAIN_CERT, 0, UnsafeMutableRawPointer(certificate))
            EVP_PKEY_free(key)
        }
        #expect(!isDone)
        #expect(isRefused(.certificate))
    }

    @Test func `a client that offers another application protocol is refused`() throws {
        let (isDone, _) = try shake { offer("h2", in: $0) }
        #expect(!isDone)
        #expect(isRefused(.applicationProtocol))
    }

    @Test func `a client that offers no application protocol is refused`() throws {
        let (isDone, _) = try shake { _ in }
        #expect(!isDone)
        #expect(server.host.state.withLock { $0.connections.isEmpty })
    }

    @Test func `a malformed greeting is refused`() throws {
        let hostilePeer = try HostilePeer(server.host.address)
        hostilePeer.send(Array(repeating: 65, count: Greeting.Layout.size))
        let answer = hostilePeer.read(Greeting.Layout.size)
        #expect(try Greeting(decoding: answer).refusal == .greeting)
        #expect(hostilePeer.ending() == .closeMessage)
        #expect(isRefused(.greeting))
    }

    @Test(arguments: [32_769, 65_535])
    func `a grant above the maximum length is refused before it is received`(_ length: Int) throws {
        let hostilePeer = try HostilePeer(server.host.address)
        var greeting = Greeting(
            mode: 2, grantLength: length, databaseProof: Greeting.noProof,
            secretProof: Greeting.noProof)
        greeting.grantLength = length
        hostilePeer.send(greeting.bytes)
        #expect(try Greeting(decoding: hostilePeer.read(Greeting.Layout.size)).refusal == .greeting)
        #expect(isRefused(.greeting))
    }

    @Test func `a client without proof of the database receives only a refusal`() throws {
        let hostilePeer = try HostilePeer(server.host.address)
        hostilePeer.send(
            try hostilePeer.words(Peers.configuration(databaseID: Peers.otherDatabaseID)))
        let answer = try Greeting(decoding: hostilePeer.read(Greeting.Layout.size))
        #expect(answer.refusal == .database)
        #expect(answer.databaseProof == Greeting.noProof)
        #expect(hostilePeer.ending() == .closeMessage)
        #expect(isRefused(.database))
        #expect(server.host.state.withLock { $0.connections.isEmpty })
    }

    @Test func `a greeting replayed on another connection is refused`() throws {
        let first = try HostilePeer(server.host.address)
        let words = try first.words(Peers.configuration())
        let second = try HostilePeer(server.host.address, keyPair: first.keyPair)
        second.send(words)
        #expect(try Greeting(decoding: second.read(Greeting.Layout.size)).refusal == .database)
    }

    @Test func `a connection that ends during the greeting is refused`() throws {
        for length in [0, 1, 71] {
            let hostilePeer = try HostilePeer(server.host.address)
            hostilePeer.send(Array(try hostilePeer.words(Peers.configuration()).prefix(length)))
            hostilePeer.client.endSending()
            #expect(hostilePeer.client.isThrownOut())
        }
        #expect(isRefused(.cut))
        #expect(server.host.state.withLock { $0.connections.isEmpty })
    }

    @Test func `a client that sends its greeting too slowly times out`() throws {
        // The handshake of the slow client implies that the earlier connection was accepted too.
        let silent = try RawClient(server.host.address)
        let talkative = try HostilePeer(server.host.address)
        let words = try talkative.words(Peers.configuration())
        for byte in words.prefix(9) {
            talkative.send([byte])
            clock.advance(milliseconds: 1_000)
            server.transport.wakeAfterClockChange()
        }
        // After nine of ten seconds both are still connected, and another peer is accepted.
        #expect(try isUnharmed())
        #expect(server.host.refusals.isEmpty)
        clock.advance(milliseconds: 1_000)
        server.transport.wakeAfterClockChange()
        #expect(silent.isThrownOut())
        #expect(talkative.client.isThrownOut())
        let both = server.host.wait { $0.refusals.count { $0.hasPrefix("handshake-time: ") } == 2 }
        #expect(both)
    }

    @Test func `a stream that ends without a close alert is reported as cut`() throws {
        let hostilePeer = try HostilePeer(server.host.address)
        hostilePeer.send(try hostilePeer.words(Peers.configuration()))
        #expect(hostilePeer.read(Greeting.Layout.size).count == Greeting.Layout.size)
        let handler = try #require(server.host.connection())
        hostilePeer.client.endSending()
        let isOver = handler.wait { $0.closed == 1 }
        #expect(isOver)
        #expect(handler.state.withLock { $0.reason }?.hasPrefix("cut: ") == true)
    }

    @Test func `unencrypted bytes end a connection`() throws {
        let hostilePeer = try HostilePeer(server.host.address)
        hostilePeer.send(try hostilePeer.words(Peers.configuration()))
        let handler = try #require(server.host.connection())
        hostilePeer.client.send([23, 3, 3, 0, 32] + Array(repeating: 1, count: 32))
        let isOver = handler.wait { $0.closed == 1 }
        #expect(isOver)
        #expect(handler.state.withLock { $0.reason }?.hasPrefix("tls: ") == true)
        #expect(handler.state.withLock { $0.received.isEmpty })
        #expect(try isUnharmed())
    }

    @Test func `a record above the maximum length ends a connection`() throws {
        let hostilePeer = try HostilePeer(server.host.address)
        hostilePeer.send(try hostilePeer.words(Peers.configuration()))
        let handler = try #require(server.host.connection())
        hostilePeer.client.send([23, 3, 3, 0xFF, 0xFF] + Array(repeating: 1, count: 20_000))
        let isOver = handler.wait { $0.closed == 1 }
        #expect(isOver)
        #expect(handler.state.withLock { $0.reason }?.hasPrefix("tls: ") == true)
    }

    @Test func `a peer that reads nothing is dropped when its send queue is full`() throws {
        let hostilePeer = try HostilePeer(server.host.address, receiveBuffer: 4_096)
        hostilePeer.send(try hostilePeer.words(Peers.configuration()))
        let handler = try #require(server.host.connection())
        let piece = [UInt8](repeating: 7, count: 1 << 20)
        for _ in 0..<64 where handler.state.withLock({ $0.closed == 0 }) {
            handler.connection.send(piece)
            #expect(handler.connection.queuedLength <= 8 << 20)
        }
        let isOver = handler.wait { $0.closed == 1 }
        #expect(isOver)
        #expect(
            handler.state.withLock { $0.reason }
                == "queue: more than 8388608 bytes are queued; the peer receives too slowly")
        #expect(handler.connection.queuedLength == 0)
        #expect(try isUnharmed())
    }

    @Test func `a peer that reads nothing cannot keep a closed connection open`() throws {
        let hostilePeer = try HostilePeer(server.host.address, receiveBuffer: 4_096)
        hostilePeer.send(try hostilePeer.words(Peers.configuration()))
        let handler = try #require(server.host.connection())
        handler.connection.send(Array(repeating: 7, count: 8 << 20))
        handler.connection.close(because: "test is done")
        // The loop records the start of the close with the fake clock, so time advances in steps.
        while handler.state.withLock({ $0.closed == 0 }) {
            clock.advance(milliseconds: 2_000)
            server.transport.wakeAfterClockChange()
            _ = handler.state.wait(
                until: Clock.system.monotonicNanoseconds() + 1_000_000, while: { $0.closed == 0 })
        }
        #expect(handler.state.withLock { $0.reason }?.hasPrefix("queue: ") == true)
    }
}

/// Generates a key of the given kind.
private func key(_ kind: Int32, curve: Int32?) -> OpaquePointer? {
    guard let context = EVP_PKEY_CTX_new_id(kind, nil) else { return nil }
    defer { EVP_PKEY_CTX_free(context) }
    var key: OpaquePointer?
    guard EVP_PKEY_keygen_init(context) == 1,
        curve.map({ EVP_PKEY_CTX_set_ec_paramgen_curve_nid(context, $0) }) ?? 1 == 1,
        EVP_PKEY_keygen(context, &key) == 1
    else { return nil }
    return key
}

/// Creates a self-signed certificate.
private func certificate(_ key: OpaquePointer) -> OpaquePointer? {
    guard let certificate = X509_new() else { return nil }
    X509_set_version(certificate, 2)
    ASN1_TIME_set_string(X509_getm_notBefore(certificate), "20000101000000Z")
    ASN1_TIME_set_string(X509_getm_notAfter(certificate), "20990101000000Z")
    X509_set_pubkey(certificate, key)
    let isEd25519 = EVP_PKEY_get_id(key) == EVP_PKEY_ED25519
    X509_sign(certificate, key, isEd25519 ? nil : EVP_sha256())
    return certificate
}
