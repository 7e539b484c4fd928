import Sheaf
import SheafNetwork
import SheafTestSupport
import Testing

/// The handshake, tested without sockets.
struct HandshakeTests {
    /// One end of a connection and its credentials.
    package struct End {
        var credentials: Credentials
        var key: PeerKey
        var exporter = [UInt8](repeating: 9, count: 32)
        var now = Peers.now

        init(
            _ identity: NetworkIdentity, keyPair: PeerKeyPair,
            databaseID: DatabaseID = Peers.databaseID
        ) throws {
            credentials = try Credentials(
                Peers.configuration(identity, keyPair: keyPair, databaseID: databaseID))
            key = keyPair.publicKey
        }
    }

    private let local: PeerKeyPair
    private let remote: PeerKeyPair
    private let authority: PeerKeyPair

    init() throws {
        local = try .generate()
        remote = try .generate()
        authority = try .generate()
    }

    /// Returns the listener's outcome for the dialer's handshake, or the error that refuses it.
    private func performHandshake(
        dialer: End, listener: End, metadata: Object = Object(),
        changing change: (inout [UInt8]) -> Void = { _ in }
    ) -> Result<Handshake.Outcome, NetworkError> {
        let first = Handshake(
            dialer.credentials, role: .dialer, remoteKey: listener.key, exporter: dialer.exporter,
            metadata: metadata)
        var second = Handshake(
            listener.credentials, role: .listener, remoteKey: dialer.key,
            exporter: listener.exporter)
        do throws(NetworkError) {
            try second.begin(at: listener.now)
            var words = first.words
            change(&words)
            while true {
                guard words.count >= second.requiredLength else {
                    return .failure(NetworkError(.cut, "\(words.count) bytes are left"))
                }
                let next = Array(words.prefix(second.requiredLength))
                words.removeFirst(next.count)
                if let outcome = try second.received(next, at: listener.now) {
                    return words.isEmpty
                        ? .success(outcome) : .failure(NetworkError(.greeting, "too much"))
                }
            }
        } catch {
            return .failure(error)
        }
    }

    private func rule(_ result: Result<Handshake.Outcome, NetworkError>) -> NetworkRule? {
        if case .failure(let error) = result { return error.rule }
        return nil
    }

    private func grant(
        _ keyPair: PeerKeyPair, by signer: PeerKeyPair? = nil,
        _ valid: Range<UInt64> = Peers.now - 1_000..<Peers.now + 1_000,
        databaseID: DatabaseID = Peers.databaseID, rights: PeerRights? = nil
    ) throws -> PeerGrant {
        try PeerGrant(
            authority: signer ?? authority, databaseID: databaseID, peerKey: keyPair.publicKey,
            validMilliseconds: valid, rights: rights)
    }

    private func granted(
        _ keyPair: PeerKeyPair, _ valid: Range<UInt64> = Peers.now - 1_000..<Peers.now + 1_000,
        rights: PeerRights? = nil
    ) throws -> End {
        let grant = try grant(keyPair, valid, rights: rights)
        return try End(
            .authority(publicKey: authority.publicKey, grant: grant), keyPair: keyPair)
    }

    @Test func `peers of one database accept each other in development mode`() throws {
        let result = performHandshake(
            dialer: try End(.development(), keyPair: local),
            listener: try End(.development(), keyPair: remote))
        #expect(rule(result) == nil)
        #expect(try result.get().rights == nil)
    }

    @Test func `a peer of another database is refused in each mode`() throws {
        let key = try SharedKey(Array(repeating: 5, count: 16))
        for identity: NetworkIdentity in [.development(), .sharedKey(key)] {
            let result = performHandshake(
                dialer: try End(identity, keyPair: local, databaseID: Peers.otherDatabaseID),
                listener: try End(identity, keyPair: remote))
            #expect(rule(result) == .database)
        }
        let other = try grant(local, databaseID: Peers.otherDatabaseID)
        let dialer = try End(
            .authority(publicKey: authority.publicKey, grant: other), keyPair: local,
            databaseID: Peers.otherDatabaseID)
        #expect(rule(performHandshake(dialer: dialer, listener: try granted(remote))) == .database)
    }

    @Test func `a peer in another mode is refused`() throws {
        let ends = [
            try End(.development(), keyPair: local),
            try End(.sharedKey(SharedKey(Array(repeating: 5, count: 16))), keyPair: local),
            try granted(local),
        ]
        for (first, dialer) in ends.enumerated() {
            for (second, var listener) in ends.enumerated() where first != second {
                if case .authority = listener.credentials.identity {
                    listener = try granted(remote)
                } else {
                    listener = try End(listener.credentials.identity, keyPair: remote)
                }
                #expect(rule(performHandshake(dialer: dialer, listener: listener)) == .mode)
            }
        }
    }

    @Test func `a shared key must match in every bit`() throws {
        let bytes = [UInt8](repeating: 5, count: 32)
        let listener = try End(.sharedKey(SharedKey(bytes)), keyPair: remote)
        let right = try End(.sharedKey(SharedKey(bytes)), keyPair: local)
        #expect(rule(performHandshake(dialer: right, listener: listener)) == nil)
        for bit in 0..<256 {
            var other = bytes
            other[bit / 8] ^= 1 << (bit % 8)
            let dialer = try End(.sharedKey(SharedKey(other)), keyPair: local)
            #expect(rule(performHandshake(dialer: dialer, listener: listener)) == .sharedKey)
        }
    }

    @Test func `a handshake replayed on another connection or under another key is refused`()
        throws
    {
        let key = try SharedKey(Array(repeating: 5, count: 16))
        for identity: NetworkIdentity in [.development(), .sharedKey(key)] {
            let dialer = try End(identity, keyPair: local)
            let listener = try End(identity, keyPair: remote)
            var elsewhere = listener
            elsewhere.exporter[31] ^= 1
            #expect(rule(performHandshake(dialer: dialer, listener: elsewhere)) == .database)
            // A third party relays the dialer's handshake under its own key.
            var relayed = dialer
            relayed.key = authority.publicKey
            #expect(rule(performHandshake(dialer: relayed, listener: listener)) == .database)
            var reached = listener
            reached.key = authority.publicKey
            #expect(rule(performHandshake(dialer: dialer, listener: reached)) == .database)
        }
    }

    @Test func `an end's own handshake, echoed back, is refused`() throws {
        let credentials = try End(.development(), keyPair: local).credentials
        let words = Handshake(
            credentials, role: .dialer, remoteKey: remote.publicKey,
            exporter: Array(repeating: 9, count: 32)
        ).words
        var mirrored = Handshake(
            credentials, role: .dialer, remoteKey: remote.publicKey,
            exporter: Array(repeating: 9, count: 32))
        #expect(throws: NetworkError.self) { try mirrored.received(words, at: Peers.now) }
    }

    @Test func `a peer with this end's own key is refused`() throws {
        let end = try End(.development(), keyPair: local)
        #expect(rule(performHandshake(dialer: end, listener: end)) == .itself)
    }

    @Test func `a changed bit of a greeting is refused`() throws {
        let key = try SharedKey(Array(repeating: 5, count: 16))
        let dialer = try End(.sharedKey(key), keyPair: local)
        let listener = try End(.sharedKey(key), keyPair: remote)
        for bit in 0..<Greeting.Layout.size * 8 {
            let result = performHandshake(dialer: dialer, listener: listener) {
                $0[bit / 8] ^= 1 << (bit % 8)
            }
            #expect(rule(result) != nil, "bit \(bit)")
        }
        for length in 0..<Greeting.Layout.size {
            let result = performHandshake(dialer: dialer, listener: listener) {
                $0 = Array($0.prefix(length))
            }
            #expect(rule(result) == .cut)
        }
    }

    @Test func `a grant determines the rights of its peer and when they end`() throws {
        let rights = PeerRights(read: ["cars": "true"], write: ["cars": "owner = 'ann'"])
        let result = performHandshake(
            dialer: try granted(local, rights: rights),
            listener: try granted(remote, Peers.now..<Peers.now + 10))
        let outcome = try result.get()
        #expect(outcome.rights == rights)
        #expect(outcome.endMilliseconds == Peers.now + 10)
    }

    @Test func `the metadata of an end follows its proofs and its grant`() throws {
        let metadata: Object = ["user": "ann", "roles": ["admin", 7]]
        let pairs = [
            (
                try End(.development(allowsOtherMachines: true), keyPair: local),
                try End(.development(allowsOtherMachines: true), keyPair: remote)
            ),
            (try granted(local), try granted(remote)),
        ]
        for (dialer, listener) in pairs {
            let result = performHandshake(dialer: dialer, listener: listener, metadata: metadata)
            #expect(try result.get().metadata == metadata)
            #expect(try performHandshake(dialer: dialer, listener: listener).get().metadata.isEmpty)
            for wrong in ["[1,2,3]", "{\"user\":\"a", "\"\u{1F600}\"", "{} "] {
                let refused = performHandshake(
                    dialer: dialer, listener: listener, metadata: metadata
                ) {
                    words in
                    let length = Array(Value.object(metadata).json.utf8).count
                    let padded = wrong + String(repeating: "x", count: length - wrong.utf8.count)
                    words = words.dropLast(length) + Array(padded.utf8)
                }
                #expect(rule(refused) == .greeting, "\(wrong)")
            }
        }
        // An honest peer omits metadata above the limit.
        let long: Object = ["text": .string(String(repeating: "x", count: 4_096))]
        let (dialer, listener) = pairs[0]
        #expect(
            try performHandshake(dialer: dialer, listener: listener, metadata: long).get().metadata
                .isEmpty)
    }

    @Test func `a changed bit of a grant is refused`() throws {
        let dialer = try granted(local, rights: PeerRights(read: ["cars": "true"], write: [:]))
        let listener = try granted(remote)
        let size = Greeting.Layout.size
        let length = try grant(local, rights: PeerRights(read: ["cars": "true"], write: [:])).bytes
            .count
        for bit in 0..<length * 8 {
            let result = performHandshake(dialer: dialer, listener: listener) {
                $0[size + bit / 8] ^= 1 << (bit % 8)
            }
            #expect(rule(result)?.rawValue.hasPrefix("grant") == true, "bit \(bit)")
        }
    }

    @Test func `a grant is refused before and after its validity period`() throws {
        let listener = try granted(remote)
        let early = try granted(local, Peers.now + 1..<Peers.now + 2)
        #expect(rule(performHandshake(dialer: early, listener: listener)) == .grantEarly)
        let late = try granted(local, Peers.now - 2..<Peers.now)
        #expect(rule(performHandshake(dialer: late, listener: listener)) == .grantExpired)
        let first = try granted(local, Peers.now..<Peers.now + 1)
        #expect(rule(performHandshake(dialer: first, listener: listener)) == nil)
        // A listener whose own grant has expired accepts no peer.
        let dialer = try granted(local)
        let own = try granted(remote, Peers.now - 2..<Peers.now)
        #expect(rule(performHandshake(dialer: dialer, listener: own)) == .grantExpired)
    }

    @Test func `a grant of another authority or for another key is refused`() throws {
        let other = try PeerKeyPair.generate()
        let listener = try granted(remote)
        let foreign = try grant(local, by: other)
        let dialer = try End(
            .authority(publicKey: other.publicKey, grant: foreign), keyPair: local)
        #expect(rule(performHandshake(dialer: dialer, listener: listener)) == .grantAuthority)
        // The dialer presents the grant of another peer.
        let stolen = try grant(remote)
        let size = Greeting.Layout.size
        let result = performHandshake(dialer: try granted(local), listener: listener) { words in
            words = Array(words.prefix(size)) + stolen.bytes
        }
        #expect(rule(result) == .grantKey)
    }

    @Test func `a transport does not start with a grant that is not its own`() throws {
        let other = try PeerKeyPair.generate()
        let grants: [(PeerGrant, NetworkRule)] = [
            (try grant(remote), .grantKey), (try grant(local, by: other), .grantAuthority),
            (try grant(local, databaseID: Peers.otherDatabaseID), .grantDatabase),
        ]
        for (grant, rule) in grants {
            let configuration = try Peers.configuration(
                .authority(publicKey: authority.publicKey, grant: grant), keyPair: local)
            let error = #expect(throws: NetworkError.self) { try TCPTransport(configuration) }
            #expect(error?.rule == rule)
        }
    }

    @Test func `a refusal contains its reason`() throws {
        for refusal in Greeting.Refusal.allCases {
            let bytes = Greeting(refusing: refusal).bytes
            // No mode, grant, metadata or proof.
            let fields: [UInt8] = [0, refusal.rawValue]
            #expect(bytes == Array("SHN2".utf8) + fields + [UInt8](repeating: 0, count: 68))
            let decoded = try Greeting(decoding: bytes)
            #expect(decoded.refusal == refusal)
            var handshake = Handshake(
                try End(.development(), keyPair: local).credentials, role: .dialer,
                remoteKey: remote.publicKey, exporter: Array(repeating: 9, count: 32))
            let error = #expect(throws: NetworkError.self) {
                try handshake.received(bytes, at: Peers.now)
            }
            #expect(error?.rule == (refusal == .duplicate ? .duplicate : .refusedByRemotePeer))
        }
    }
}
