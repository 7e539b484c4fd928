import Sheaf
import SheafNetwork
import SheafSystem
import SheafTestSupport
import SheafTransport
import Testing

/// Tests of the errors for greetings, grants and addresses that are refused.
struct GreetingErrorTests {
    /// Returns the text of the error that `body` throws, or nil.
    private func text(_ body: () throws -> Void) -> String? {
        do {
            try body()
            return nil
        } catch {
            return (error as? NetworkError)?.text ?? "\(error)"
        }
    }

    // MARK: Greetings

    /// Returns the error for a greeting with changed bytes.
    private func greeting(
        mode: UInt8 = 0, grant: Int = 0, metadata: Int = 0,
        _ change: (inout [UInt8]) -> Void = { _ in }
    ) -> String? {
        var bytes = Greeting(
            mode: mode, grantLength: grant, metadataLength: metadata,
            databaseProof: [UInt8](repeating: 1, count: 32),
            secretProof: [UInt8](repeating: 2, count: 32)
        ).bytes
        change(&bytes)
        return text { _ = try Greeting(decoding: bytes) }
    }

    @Test func `a greeting that is refused has its reason`() {
        #expect(greeting() == nil)
        let start = "the first bytes are not a Sheaf greeting"
        #expect(greeting { $0.removeLast() } == start)
        #expect(greeting { $0.append(0) } == start)
        for index in 0..<4 { #expect(greeting { $0[index] ^= 1 } == start) }
        #expect(greeting(mode: 1) == nil)
        #expect(greeting(mode: 2, grant: 1) == nil)
        #expect(greeting(mode: 3) == "the mode 3 in a greeting; it must be 0 to 2")
        #expect(greeting { $0[5] = 9 } == "the unknown refusal code 9 in a greeting")
        #expect(greeting { $0[5] = 8 } == nil)
        #expect(greeting(mode: 2, grant: 32_768) == nil)
        #expect(
            greeting(mode: 2, grant: 32_769)
                == "a grant of 32769 bytes is announced; the maximum is 32768")
        let grant = "a greeting must have a grant in authority mode, and in no other mode"
        #expect(greeting(mode: 2) == grant)
        #expect(greeting(mode: 1, grant: 1) == grant)
        #expect(greeting(mode: 2, grant: 1) { $0[5] = 8 } == grant)
        #expect(greeting(mode: 2) { $0[5] = 8 } == nil)
        #expect(greeting(metadata: 4_096) == nil)
        #expect(
            greeting(metadata: 4_097)
                == "metadata of 4097 bytes is announced; the maximum is 4096")
        #expect(greeting(metadata: 1) { $0[5] = 8 } == "a refusal must not have metadata")
    }

    @Test func `the error of a refused peer has the reason of the other one`() throws {
        let reasons: [(Greeting.Refusal, String)] = [
            (.greeting, "it cannot decode the greeting"),
            (.mode, "it uses another mode (development, shared key, authority)"),
            (.database, "it belongs to another database"),
            (.sharedKey, "it has another shared key"),
            (.grant, "it does not accept the grant of this peer"),
            (.grantTime, "the grant of this peer is not valid at this time"),
            (.duplicate, "it keeps another connection to this peer"),
            (.host, "its host refused the connection"),
        ]
        #expect(reasons.count == Greeting.Refusal.allCases.count)
        let credentials = try Credentials(Peers.configuration())
        for (refusal, reason) in reasons {
            let found = text {
                var handshake = Handshake(
                    credentials, role: .dialer,
                    remoteKey: PeerKey(unchecked: [UInt8](repeating: 7, count: 32)),
                    exporter: [UInt8](repeating: 9, count: 32))
                _ = try handshake.received(
                    Greeting(refusing: refusal).bytes, at: Peers.now)
            }
            #expect(found == "the peer refused the connection: \(reason)")
        }
    }

    @Test func `errors of a handshake name what differs`() throws {
        let (local, remote) = (try PeerKeyPair.generate(), try PeerKeyPair.generate())
        let exporter = [UInt8](repeating: 9, count: 32)
        func refusal(_ dialer: NetworkIdentity, _ listener: NetworkIdentity) throws -> String? {
            let first = try Credentials(Peers.configuration(dialer, keyPair: local))
            let second = try Credentials(Peers.configuration(listener, keyPair: remote))
            let words = Handshake(
                first, role: .dialer, remoteKey: remote.publicKey, exporter: exporter
            ).words
            var handshake = Handshake(
                second, role: .listener, remoteKey: local.publicKey, exporter: exporter)
            return text { _ = try handshake.received(words, at: Peers.now) }
        }
        let keys = try [1, 2].map { try SharedKey([UInt8](repeating: $0, count: 16)) }
        #expect(
            try refusal(.development(), .sharedKey(keys[0]))
                == "the peer uses the mode development; this one uses shared key")
        #expect(
            try refusal(.sharedKey(keys[0]), .development())
                == "the peer uses the mode shared key; this one uses development")
        #expect(
            try refusal(.sharedKey(keys[0]), .sharedKey(keys[1]))
                == "the peer has another shared key; both need the same key")
        #expect(try refusal(.sharedKey(keys[0]), .sharedKey(keys[0])) == nil)
    }

    // MARK: Grants

    /// Returns the error for a grant with these bytes after the period of validity.
    private func grant(
        _ rest: [UInt8], from: UInt8 = 1, until: UInt8 = 2,
        _ change: (inout [UInt8]) -> Void = { _ in }
    ) -> String? {
        var bytes = Array("SHGR".utf8) + [1] + [UInt8](repeating: 7, count: 32 + 16 + 32)
        bytes += [from] + [UInt8](repeating: 0, count: 7)
        bytes += [until] + [UInt8](repeating: 0, count: 7)
        bytes += rest
        change(&bytes)
        return text { _ = try PeerGrant(bytes) }
    }

    @Test func `errors of a grant name the first wrong field`() {
        let signature = [UInt8](repeating: 5, count: 64)
        #expect(grant([0] + signature) == nil)
        #expect(
            grant([0] + signature) { $0[3] = 0x53 } == "invalid grant: not a grant at offset 0")
        let byte = "invalid grant: the byte 2 at offset"
        #expect(grant([0] + signature) { $0[4] = 2 } == "\(byte) 4 is not allowed here")
        #expect(grant([2] + signature) == "\(byte) 101 is not allowed here")
        #expect(grant([0] + signature, from: 2) == nil)
        #expect(
            grant([0] + signature, from: 3)
                == "invalid grant: an end before its start at offset 101")
        let cut = "invalid grant: the bytes end inside the value at offset"
        #expect(grant([0] + signature.dropLast()) == "\(cut) 102")
        #expect(
            grant([0] + signature + [0])
                == "invalid grant: bytes after the signature at offset 166")
        let longest = [UInt8](repeating: 5, count: 32_769 - 102)
        #expect(
            grant([0] + longest.dropLast())
                == "invalid grant: bytes after the signature at offset 166")
        #expect(grant([0] + longest) == "a grant of 32769 bytes; the maximum is 32768")
    }

    @Test func `errors of the rights in a grant name the collection`() {
        let signature = [UInt8](repeating: 5, count: 64)
        func rights(_ read: [UInt8]) -> String? { grant([1] + read + [0] + signature) }
        #expect(rights([2, 1, 0x61, 0, 1, 0x62, 0]) == nil)
        let order = "invalid grant: collections out of order at offset 106"
        #expect(rights([2, 1, 0x62, 0, 1, 0x61, 0]) == order)
        #expect(rights([2, 1, 0x61, 0, 1, 0x61, 0]) == order)
        // Two texts that Unicode regards as equal.
        #expect(
            rights([2, 3, 0x65, 0xCC, 0x81, 0, 2, 0xC3, 0xA9, 0])
                == "invalid grant: a duplicate collection at offset 108")
        #expect(
            rights([1, 1, 0xFF, 0]) == "invalid grant: the text at offset 103 is not UTF-8")
        let length = "invalid grant: the length at offset"
        #expect(rights([0x81, 8]) == "\(length) 102 is 1025, more than the 1024 allowed")
        #expect(rights([1, 0x81, 8]) == "\(length) 103 is 1025, more than the 1024 allowed")
        #expect(
            rights([1, 1, 0x61, 0x81, 0x20]) == "\(length) 105 is 4097, more than the 4096 allowed")
    }

    @Test func `a grant that is not valid has its reason`() throws {
        let keys = try (1...3 as ClosedRange<UInt8>).map {
            try PeerKeyPair(seed: [UInt8](repeating: $0, count: 32))
        }
        let grant = try PeerGrant(
            authority: keys[0], databaseID: "cars", peerKey: keys[1].publicKey,
            validMilliseconds: 10..<20)
        func refusal(
            _ authority: Int = 0, _ peer: Int = 1, _ database: DatabaseID = "cars", at now: UInt64
        ) -> String? {
            text {
                try grant.verify(
                    authority: keys[authority].publicKey, databaseID: database,
                    peerKey: keys[peer].publicKey, at: now)
            }
        }
        let names = keys.map { "\($0.publicKey)" }
        #expect(refusal(at: 10) == nil && refusal(at: 19) == nil)
        #expect(refusal(at: 9) == "the grant is valid from 10 ms since 1970; now is 9")
        #expect(refusal(at: 20) == "the grant expired at 20 ms since 1970; now is 20")
        #expect(
            refusal(2, at: 10)
                == "the grant was issued by the authority \(names[0]); expected \(names[2])")
        #expect(
            refusal(0, 2, at: 10) == "the grant is for the key \(names[1]); expected \(names[2])")
        #expect(refusal(0, 1, "bikes", at: 10) == "the grant is for another database")
        let other = try PeerGrant(grant.description)
        #expect(other == grant)
        for wrong in ["", "grant", "grant:0", String(grant.description.dropFirst())] {
            #expect(
                text { _ = try PeerGrant(wrong) }
                    == "the text is not a grant as printed by 'sheaf grant'")
        }
    }

    // MARK: Addresses

    @Test func `the error for an invalid address shows an example`() throws {
        let transport = try TCPTransport(
            Peers.configuration(), clock: FakeClock().clock, random: { 0 })
        for address in ["a:0", "a:65535", "[::1]:1", "[a]:1"] {
            #expect(text { try transport.add(address) } == nil, "\(address)")
        }
        for address in ["", "a", "a:", "a:65536", "a:-1", "a:b", "a:b:1", "::1:1", "[::1:1"] {
            #expect(
                text { try transport.add(address) }
                    == "\"\(address)\" is not an address; expected a host and a port, such as "
                    + "\"example.org:4120\" or \"[::1]:4120\"")
        }
    }
}
