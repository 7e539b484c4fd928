import Sheaf
import SheafNetwork
import Testing

/// Limits on the rights in a grant.
struct GrantLimitTests {
    private func grant(_ rights: PeerRights) throws -> PeerGrant {
        let authority = try PeerKeyPair(seed: Array(repeating: 1, count: 32))
        return try PeerGrant(
            authority: authority, databaseID: "cars",
            peerKey: try PeerKeyPair(seed: Array(repeating: 2, count: 32)).publicKey,
            validMilliseconds: 0..<1, rights: rights)
    }

    private func refusal(_ rights: PeerRights) -> String? {
        do {
            _ = try grant(rights)
            return nil
        } catch {
            return (error as? NetworkError)?.text ?? "\(error)"
        }
    }

    @Test func `a condition has at most 4,096 bytes`() throws {
        let condition = String(repeating: "x", count: 4_096)
        #expect(try grant(PeerRights(read: [:], write: ["cars": condition])).rights != nil)
        #expect(
            refusal(PeerRights(read: [:], write: ["cars": condition + "x"]))
                == "the condition to write the collection \"cars\" has 4097 bytes; a condition may have at most 4096"
        )
    }

    @Test func `the name of a collection has at most 1,024 bytes`() throws {
        let name = String(repeating: "c", count: 1_024)
        #expect(refusal(PeerRights(read: [name: "true"], write: [:])) == nil)
        #expect(
            refusal(PeerRights(read: [name + "c": "true"], write: [:]))
                == "a collection in the rights to read has a name of 1025 bytes; it may have at most 1024"
        )
    }

    @Test func `rights name at most 1,024 collections`() {
        let conditions = (0...1_024).map { ("c\($0)", "true") }
        let most = Dictionary(uniqueKeysWithValues: conditions.dropLast())
        #expect(refusal(PeerRights(read: most, write: [:])) == nil)
        let excess = PeerRights(read: Dictionary(uniqueKeysWithValues: conditions), write: [:])
        #expect(
            refusal(excess)
                == "the rights to read have 1025 collections; a grant may have at most 1024 to read"
        )
    }
}
