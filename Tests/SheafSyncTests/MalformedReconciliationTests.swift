import SheafBytes
import SheafSync
import Testing

/// Tests of the errors for malformed requests and answers of a reconciliation, and for records.
struct MalformedReconciliationTests {
    private func answer(_ bytes: [UInt8]) -> Malformed? {
        refusal(bytes) { try RangeAnswer(decoding: $0) }
    }

    /// A document without a shared prefix, of eleven bytes.
    private func document(_ id: UInt8) -> [UInt8] {
        [0, 1, id] + [UInt8](repeating: 5, count: 8)
    }

    @Test func `errors of the parts of an answer name the part`() {
        #expect(answer([0]) == nil)
        #expect(answer([0, 9]) == .invalid("bytes after the last range", at: 1))
        #expect(answer([1, 0]) == .invalid("no subranges", at: 2))
        #expect(answer([1, 1]) == nil)
        #expect(answer([1, 1, 9]) == .invalid("bytes after the last range", at: 2))
        #expect(answer([1, 3]) == .invalid("a part of an unknown kind", at: 1))
        #expect(answer([2, 1, 3]) == .invalid("a part of an unknown kind", at: 2))
        #expect(answer(varint(65_537)) == .tooLong(at: 0, length: 65_537, limit: 65_536))
        // Two parts leave room for 65,534 documents, of which one part has one here.
        #expect(
            answer([2] + varint(65_535 << 2 | 1)) == .tooLong(at: 4, length: 65_535, limit: 65_534)
        )
        #expect(
            answer([2, 5] + document(7) + varint(65_534 << 2 | 1))
                == .tooLong(at: 16, length: 65_534, limit: 65_533))
    }

    @Test func `errors of the ids of an answer name the id`() {
        #expect(answer([1, 9] + document(7) + document(8)) == nil)
        #expect(
            answer([1, 9] + document(7) + document(7)) == .invalid("an id out of order", at: 13))
        #expect(answer([1, 5, 0, 0]) == .invalid("an id out of order", at: 2))
        let text = "a shared prefix longer than the last id"
        #expect(answer([1, 5, 1, 1, 7]) == .invalid(text, at: 2))
        #expect(answer([1, 9] + document(7) + [2, 1, 7]) == .invalid(text, at: 13))
        let shared: [UInt8] = [1, 1, 7] + [UInt8](repeating: 5, count: 8)
        #expect(answer([1, 9] + document(7) + shared) == nil)
        #expect(
            answer([1, 9] + document(7) + [1] + varint(4_096))
                == .tooLong(at: 14, length: 4_096, limit: 4_095))
        // Bounds of subranges are ids, too; the last subrange has none.
        let sum = [UInt8](repeating: 5, count: 8)
        #expect(answer([1, 12] + document(7) + document(8) + sum) == nil)
        #expect(
            answer([1, 12] + document(8) + document(7) + sum)
                == .invalid("an id out of order", at: 13))
    }

    @Test func `errors of a sketch name its number of cells`() {
        #expect(answer([1, 2]) == .invalid("a sketch of 0 cells", at: 2))
        #expect(answer([1, 6]) == .invalid("a sketch of 1 cells", at: 2))
        #expect(answer([1, 14] + [UInt8](repeating: 0, count: 39)) == nil)
        #expect(
            answer([1] + varint(4_098 << 2 | 2)) == .invalid("a sketch of 4098 cells", at: 4))
        #expect(answer([1] + varint(4_095 << 2 | 2)) == .truncated(at: 3))
    }

    @Test func `errors of a request name the range or the size of the sketch`() {
        func question(_ bytes: [UInt8]) -> Malformed? {
            refusal(bytes) { try RangeQuestion(decoding: $0) }
        }
        #expect(question(varint(65_537)) == .tooLong(at: 0, length: 65_537, limit: 65_536))
        let text = "a range index out of bounds"
        #expect(question([1] + varint(65_535)) == nil)
        #expect(question([1] + varint(65_536)) == .invalid(text, at: 4))
        #expect(question([2] + varint(65_535) + [0]) == .invalid(text, at: 5))
        #expect(question([2] + varint(65_534) + [0]) == nil)
        #expect(question([2, 1] + varint(.max)) == .invalid(text, at: 12))
        #expect(question([1, 0, 0]) == .invalid("a sketch with thirds of 0 cells", at: 2))
        #expect(question([1, 0] + varint(1_365)) == nil)
        #expect(
            question([1, 0] + varint(1_366))
                == .invalid("a sketch with thirds of 1366 cells", at: 2))
        #expect(question([0, 1]) == .invalid("a sketch with thirds of 1 cells", at: 1))
        #expect(question([1, 0, 1, 9]) == .invalid("bytes after the size of a sketch", at: 3))
    }

    // MARK: Records of peers

    /// Reads a message of one record, whose fields after the version begin at offset 50.
    private func record(_ fields: [UInt8]) -> Malformed? {
        let start: [UInt8] = [1] + key(2) + [UInt8](repeating: 0, count: 16) + [1]
        return refusal(start + fields) { try PresenceMessage(decoding: $0) }
    }

    private func key(_ byte: UInt8) -> [UInt8] { [UInt8](repeating: byte, count: 32) }

    @Test func `errors of a record name the first wrong field`() {
        #expect(record([1, 0, 0, 0, 0, 0, 0]) == nil)
        #expect(record([2, 0, 0, 0, 0, 0, 0]) == .unexpected(2, at: 50))
        #expect(record([0] + varint(257)) == .tooLong(at: 51, length: 257, limit: 256))
        #expect(record([0, 0] + varint(65)) == .tooLong(at: 52, length: 65, limit: 64))
        #expect(record([0, 0, 0] + varint(65)) == .tooLong(at: 53, length: 65, limit: 64))
        #expect(
            record([0, 0, 0, 0] + varint(4_097)) == .tooLong(at: 54, length: 4_097, limit: 4_096))
        let text = "metadata that is not a JSON object"
        #expect(record([0, 0, 0, 0, 2] + Array("[]".utf8)) == .invalid(text, at: 54))
        #expect(record([0, 0, 0, 0, 2] + Array("{}".utf8) + [0, 0]) == nil)
        #expect(
            record([0, 0, 0, 0, 0, 0, 0, 9]) == .invalid("bytes after the last field", at: 57))
        #expect(
            refusal([0]) { try PresenceMessage(decoding: $0) } == .invalid("no records", at: 0))
        let long = [UInt8](repeating: 1, count: 65_537)
        #expect(
            refusal(long) { try PresenceMessage(decoding: $0) }
                == .invalid("more than 65536 bytes of records", at: 0))
    }

    @Test func `errors of the addresses in a record name the address`() {
        func addresses(_ bytes: [UInt8]) -> Malformed? { record([0, 0, 0, 0, 0] + bytes) }
        func address(_ last: UInt8, port: UInt8 = 1) -> [UInt8] { [4, 10, 0, 0, last, port, 0] }
        #expect(addresses([17]) == .invalid("more than 16 addresses", at: 55))
        #expect(addresses([16]) == .truncated(at: 56))
        #expect(addresses([1, 5]) == .unexpected(5, at: 56))
        let unreachable = "an address that other machines cannot reach"
        #expect(addresses([1, 4, 127, 0, 0, 1, 1, 0]) == .invalid(unreachable, at: 56))
        #expect(addresses([1] + address(1, port: 0)) == .invalid(unreachable, at: 56))
        #expect(addresses([2] + address(1) + address(2) + [0]) == nil)
        #expect(addresses([2] + address(1) + address(1, port: 2) + [0]) == nil)
        let text = "addresses out of order"
        #expect(addresses([2] + address(2) + address(1)) == .invalid(text, at: 63))
        #expect(addresses([2] + address(1) + address(1)) == .invalid(text, at: 63))
        #expect(addresses([2] + address(1, port: 2) + address(1)) == .invalid(text, at: 63))
    }

    @Test func `errors of the neighbors in a record name the neighbor`() {
        func neighbors(_ bytes: [UInt8]) -> Malformed? { record([0, 0, 0, 0, 0, 0] + bytes) }
        #expect(neighbors(varint(1_024)) == .invalid("more than 1023 neighbors", at: 56))
        #expect(neighbors(varint(1_023)) == .truncated(at: 58))
        #expect(neighbors([2] + key(1) + [0] + key(3) + [0]) == nil)
        let text = "neighbors out of order"
        #expect(neighbors([2] + key(3) + [0] + key(1) + [0]) == .invalid(text, at: 90))
        #expect(neighbors([2] + key(3) + [0] + key(3) + [0]) == .invalid(text, at: 90))
        #expect(
            neighbors([1] + key(2) + [0]) == .invalid("a peer that is its own neighbor", at: 57))
    }
}
