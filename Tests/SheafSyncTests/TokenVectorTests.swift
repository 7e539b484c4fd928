import SheafBytes
import SheafDocument
import SheafSync
import SheafTestSupport
import Testing

/// Token messages of `format-spec/sync.md`, tested against the vectors.
@Suite struct TokenVectorTests {
    private let vectors: FormatVectors

    init() throws {
        vectors = try FormatVectors("sync.txt")
    }

    @Test func `token messages match the vectors, and malformed ones are refused`() throws {
        let bytes = try vectors.bytes("token.token")
        let token = try bytes.withUnsafeBytes { try TokenAddress(decoding: $0) }
        #expect(token.bytes == bytes)
        #expect(token.attachment == Array(0..<32))
        #expect(Array(token.document.collection.utf8) == (try vectors.bytes("token.collection")))
        #expect(token.document.id == (try vectors.bytes("token.id")))
        try vectors.forEach("refusedToken") { name, bytes in
            #expect(throws: Malformed.self, "\(name)") {
                try bytes.withUnsafeBytes { try TokenAddress(decoding: $0) }
            }
        }
    }

    @Test func `the unproven tokens of a document match the vectors`() throws {
        let bytes = try vectors.bytes("unproven.commits")
        var names = NameTable()
        let commits = try bytes.withUnsafeBytes { try WireNameDictionary.commits(in: $0, &names) }
        let unproven = [UInt8(0), 7].map { [UInt8](repeating: $0, count: 32) }
        #expect(commits.count == 1)
        #expect(commits.first?.documents.map(\.unproven) == [unproven, []])
        var writer = CommitWriter()
        for commit in commits { commit.write(into: &writer) }
        var dictionary = ByteWriter()
        WireNameDictionary.write([], into: &dictionary)
        #expect(dictionary.bytes + writer.bytes == bytes)
    }

    @Test func `a token is requested once and confirmed once`() throws {
        let token = TokenAddress(
            attachment: Array(0..<32), document: DocumentAddress(collection: "c", id: [1]))
        var pair = SessionPair()
        pair.left.requestProof(of: token)
        pair.left.requestProof(of: token)
        // No confirmation of this token was requested.
        pair.right.confirm(
            TokenAddress(attachment: token.attachment, document: .init(collection: "d", id: [1])))
        let requested = pair.exchange()
        #expect(requested == [.proofAsked(token)])
        pair.right.confirm(token)
        pair.right.confirm(token)
        let proven = pair.exchange()
        #expect(proven == [.proven(token)])
        #expect(pair.left.isOpen && pair.right.isOpen)
    }

    @Test func `more token requests than the limit end the connection`() throws {
        var pair = SessionPair()
        for number in 0...SyncLimits.askedProofs {
            let id = [UInt8(number & 255), UInt8(number >> 8)]
            pair.left.requestProof(
                of: TokenAddress(
                    attachment: Array(0..<32), document: DocumentAddress(collection: "c", id: id)))
        }
        _ = pair.exchange()
        #expect(!pair.right.isOpen)
    }
}

/// Two sessions that have exchanged their hellos.
private struct SessionPair {
    var left = Self.session(1)
    var right = Self.session(2)

    init() { _ = exchange() }

    private static func session(_ number: UInt8) -> SyncSession {
        let database = Hello.DatabaseID(low: 1, high: 2)
        return SyncSession(
            Hello(
                database: database, peerKey: Array(repeating: number, count: 32),
                site: Site(rawValue: UInt64(number)), log: database, nonce: 1, wallMilliseconds: 1,
                isServer: false, name: ""),
            at: 0)
    }

    /// Exchanges all pending messages and returns the effects that concern tokens.
    mutating func exchange() -> [SyncSession.Effect] {
        var found: [SyncSession.Effect] = []
        var isQuiet = false
        while !isQuiet {
            isQuiet = true
            while let effect = left.nextEffect() {
                isQuiet = false
                if let kept = Self.deliver(effect, to: &right) { found.append(kept) }
            }
            while let effect = right.nextEffect() {
                isQuiet = false
                if let kept = Self.deliver(effect, to: &left) { found.append(kept) }
            }
        }
        return found
    }

    private static func deliver(
        _ effect: SyncSession.Effect, to other: inout SyncSession
    ) -> SyncSession.Effect? {
        switch effect {
        case .send(let bytes):
            bytes.withUnsafeBytes { other.receive($0, at: 0) }
            return nil
        case .proofAsked, .proven: return effect
        default: return nil
        }
    }
}
