import Sheaf
import SheafBytes
import SheafNetwork
import SheafTestSupport
import Testing

/// The vectors of `format-spec/network.md`, written by an independent encoder.
struct NetworkVectorTests {
    private let vectors: FormatVectors

    init() throws {
        vectors = try FormatVectors("network.txt")
    }

    @Test func `proofs match the vectors`() throws {
        try vectors.forEach("proof") { name, expected in
            let purpose = try #require(
                Proof.Purpose(rawValue: vectors.text("\(name).purpose")))
            let role = try #require(
                Proof.Role(rawValue: UInt8(vectors.number("\(name).role"))))
            let proof = Proof(exporter: try vectors.bytes("\(name).exporter"))
            let (sender, receiver) = (
                try key("\(name).sender"), try key("\(name).receiver")
            )
            let made = try vectors.bytes("\(name).secret").withUnsafeBytes {
                proof.bytes(of: $0, purpose, role: role, sender: sender, receiver: receiver)
            }
            #expect(made == expected, "\(name)")
        }
    }

    @Test func `greetings match the vectors, and malformed ones are refused`() throws {
        try vectors.forEach("greeting") { name, bytes in
            let greeting = try Greeting(decoding: bytes)
            #expect(greeting.bytes == bytes)
            let mode = try vectors.number("\(name).mode")
            #expect(UInt64(greeting.mode) == mode)
            let refusal = try vectors.number("\(name).refusal")
            #expect(UInt64(greeting.refusal?.rawValue ?? 0) == refusal)
            let length = try vectors.integer("\(name).length")
            #expect(greeting.grantLength == length)
            let metadata = try vectors.integer("\(name).metadata")
            #expect(greeting.metadataLength == metadata)
            let database = try vectors.bytes("\(name).database")
            #expect(greeting.databaseProof == database)
            let secret = try vectors.bytes("\(name).secret")
            #expect(greeting.secretProof == secret)
        }
        try vectors.forEach("refusedGreeting") { name, bytes in
            let rule = rule { _ = try Greeting(decoding: bytes) }
            #expect(rule == .greeting, "\(name)")
        }
    }

    @Test func `grants match the vectors`() throws {
        try vectors.forEach("grant") { name, bytes in
            let grant = try PeerGrant(bytes)
            let authority = try PeerKeyPair(seed: vectors.bytes("\(name).authoritySeed"))
            let (database, peer) = (
                try #require(DatabaseID(vectors.bytes("\(name).database"))),
                try key("\(name).peer")
            )
            #expect(authority.publicKey == (try key("\(name).authority")))
            #expect(grant.authority == authority.publicKey)
            #expect(grant.databaseID == database)
            #expect(grant.peerKey == peer)
            let valid = try vectors.number("\(name).from")..<vectors.number("\(name).until")
            #expect(grant.validMilliseconds == valid)
            var rights: PeerRights?
            if vectors.has("\(name).read") {
                rights = PeerRights(
                    read: try conditions("\(name).read"), write: try conditions("\(name).write"))
            }
            #expect(grant.rights == rights)
            // Ed25519 signatures are deterministic.
            let made = try PeerGrant(
                authority: authority, databaseID: database, peerKey: peer,
                validMilliseconds: valid, rights: rights)
            #expect(made.bytes == bytes)
            let refusal = rule {
                try grant.verify(
                    authority: authority.publicKey, databaseID: database, peerKey: peer,
                    at: valid.lowerBound)
            }
            #expect(refusal == (valid.isEmpty ? .grantExpired : nil))
        }
    }

    @Test func `malformed and unsigned grants are refused`() throws {
        try vectors.forEach("refusedGrant") { name, bytes in
            #expect(rule { _ = try PeerGrant(bytes) } == .grant, "\(name)")
        }
        try vectors.forEach("unsigned") { name, bytes in
            let grant = try PeerGrant(bytes)
            let refusal = rule {
                try grant.verify(
                    authority: grant.authority, databaseID: grant.databaseID,
                    peerKey: grant.peerKey, at: grant.validMilliseconds.lowerBound)
            }
            #expect(refusal == .grantSignature, "\(name)")
        }
    }

    private func key(_ name: String) throws -> PeerKey {
        try #require(PeerKey(vectors.bytes(name)))
    }

    private func conditions(_ name: String) throws -> [String: String] {
        try vectors.bytes(name).withUnsafeBytes { bytes in
            var reader = ByteReader(bytes)
            var conditions: [String: String] = [:]
            while reader.remaining > 0 {
                let collection = try reader.readLengthPrefixed(limit: 4_096)
                let condition = try reader.readLengthPrefixed(limit: 4_096)
                conditions[String(decoding: collection, as: UTF8.self)] = String(
                    decoding: condition, as: UTF8.self)
            }
            return conditions
        }
    }
}
