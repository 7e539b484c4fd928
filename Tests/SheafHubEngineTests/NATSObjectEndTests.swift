import SheafBytes
import SheafHubNATS
import Testing

/// Tests of the last message of an object in NATS: its bytes, its chunks and its errors.
@Suite struct NATSObjectEndTests {
    private func little(_ number: UInt64, _ count: Int) -> [UInt8] {
        (0..<count).map { UInt8(truncatingIfNeeded: number >> (8 * UInt64($0))) }
    }

    private func hash(_ bytes: [UInt8]) -> UInt64 {
        bytes.withUnsafeBytes { XXH3.hash64($0) }
    }

    /// Returns a message with the hash of its bytes.
    private func message(
        length: UInt64, count: UInt64, hashes: Int, signature: String = "SHO1"
    ) -> [UInt8] {
        var body = Array(signature.utf8)
        for number in [length, 3, 4] { body += little(number, 8) }
        body += little(count, 4)
        for number in 0..<hashes { body += little(UInt64(number) + 7, 8) }
        return body + little(hash(body), 8)
    }

    private func decode(_ bytes: [UInt8]) throws -> NATSObjectEnd {
        try bytes.withUnsafeBytes { try NATSObjectEnd(decoding: $0) }
    }

    @Test func `a message has the length, the hash of all bytes and those of the chunks`() throws {
        let object: [UInt8] = [1, 2, 3]
        let end = try #require(NATSObjectEnd(object))
        let contents = object.withUnsafeBytes { XXH3.hash128($0) }
        #expect(end.length == 3 && end.contents == contents && end.chunks == [hash(object)])
        var body = Array("SHO1".utf8)
        for number in [3, contents.low, contents.high] { body += little(number, 8) }
        body += little(1, 4)
        body += little(hash(object), 8)
        #expect(end.bytes == body + little(hash(body), 8))
    }

    @Test func `the number of chunks is that of the length`() throws {
        let counts: [(length: UInt64, chunks: Int)] = [
            (0, 0), (1, 1), (262_143, 1), (262_144, 1), (262_145, 2), (524_288, 2), (524_289, 3),
        ]
        for (length, chunks) in counts {
            let end = try decode(message(length: length, count: UInt64(chunks), hashes: chunks))
            #expect(end.length == length && end.contents == XXH3.Hash128(low: 3, high: 4))
            #expect(end.chunks == (0..<chunks).map { UInt64($0) + 7 })
            for other in [chunks - 1, chunks + 1] where other >= 0 {
                let error = Malformed.invalid(
                    "a number of chunks that does not match the object", at: 28)
                #expect(throws: error, "\(length): \(other)") {
                    try decode(message(length: length, count: UInt64(other), hashes: other))
                }
            }
        }
    }

    @Test func `an error names the field and its offset`() {
        #expect(throws: Malformed.truncated(at: 0)) {
            try decode([UInt8](repeating: 0, count: 7))
        }
        #expect(throws: Malformed.truncated(at: 4)) {
            try decode(Array("SHO1".utf8) + [0, 0, 0, 0])
        }
        #expect(throws: Malformed.invalid("another first field than SHO1", at: 0)) {
            try decode(message(length: 1, count: 1, hashes: 1, signature: "SHO2"))
        }
        for hashes in [0, 2] {
            let error = Malformed.invalid(
                "a number of chunks that does not match the length", at: 28)
            #expect(throws: error) { try decode(message(length: 1, count: 1, hashes: hashes)) }
        }
        var damaged = message(length: 1, count: 1, hashes: 1)
        damaged[33] ^= 1
        let error = Malformed.invalid("a hash that does not match the bytes before it", at: 40)
        #expect(throws: error) { try decode(damaged) }
    }

    @Test func `a chunk has its own offsets, length and hash`() throws {
        #expect(NATSObjectEnd.range(of: 0, length: 5) == 0..<5)
        #expect(NATSObjectEnd.range(of: 0, length: 262_145) == 0..<262_144)
        #expect(NATSObjectEnd.range(of: 1, length: 262_145) == 262_144..<262_145)
        let first = [UInt8](repeating: 1, count: 262_144)
        let end = try #require(NATSObjectEnd(first + [2]))
        #expect(end.chunks == [hash(first), hash([2])])
        #expect(end.matches(0, first) && end.matches(1, [2]))
        #expect(!end.matches(1, [3]) && !end.matches(1, []) && !end.matches(1, [2, 2]))
        #expect(!end.matches(0, [2]) && !end.matches(0, first + [1]))
    }
}
