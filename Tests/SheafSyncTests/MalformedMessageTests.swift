import SheafBytes
import SheafDocument
import SheafSync
import Testing

/// Returns the error of a decoder, or nil if it accepts the bytes.
func refusal<Message>(
    _ bytes: [UInt8], _ decode: (UnsafeRawBufferPointer) throws -> Message
) -> Malformed? {
    do {
        _ = try bytes.withUnsafeBytes { try decode($0) }
        return nil
    } catch let error as Malformed {
        return error
    } catch {
        Issue.record("Unexpected error: \(error)")
        return nil
    }
}

/// Returns the encoding of a number with variable length.
func varint(_ number: UInt64) -> [UInt8] {
    var writer = ByteWriter()
    writer.writeVarint(number)
    return writer.bytes
}

/// Tests of the errors for malformed messages, with the offsets that they name.
struct MalformedMessageTests {
    private static let id = [UInt8](repeating: 7, count: 32)

    @Test func `errors of a hello name the first wrong field`() {
        // The versions have two bytes, the database ends at 18, the key at 50, the site at 58.
        let valid = OpenSession.hello(1).bytes
        func hello(_ change: (inout [UInt8]) -> Void) -> Malformed? {
            var bytes = valid
            change(&bytes)
            return refusal(bytes) { try Hello(decoding: $0) }
        }
        #expect(valid.count == 93)
        #expect(hello { _ in } == nil)
        #expect(hello { $0[0] = 0 } == .invalid("an empty range of versions", at: 2))
        #expect(hello { $0[0] = 5 } == .invalid("an empty range of versions", at: 2))
        #expect(hello { $0[0] = 4 } == nil)
        #expect(hello { $0[0] = 1 } == nil)
        #expect(hello { $0[50] = 0 } == .invalid("a zero site", at: 58))
        #expect(hello { $0[91] = 1 } == nil)
        #expect(hello { $0[91] = 2 } == .unexpected(2, at: 91))
        #expect(hello { $0.replaceSubrange(92..., with: [1, 0xFF]) } == .notText(at: 92))
        #expect(
            hello { $0.replaceSubrange(92..., with: [0x81, 2]) }
                == .tooLong(at: 92, length: 257, limit: 256))
        #expect(hello { $0.append(0) } == .invalid("bytes after the name", at: 93))
        #expect(hello { $0.removeLast() } == .truncated(at: 92))
    }

    @Test func `errors of short messages name the first wrong field`() {
        func close(_ bytes: [UInt8]) -> Malformed? {
            refusal(bytes) { try CloseMessage(decoding: $0) }
        }
        #expect(close([9, 0]) == nil)
        #expect(close([10, 0]) == .unexpected(10, at: 0))
        #expect(close([0, 1, 0xFF]) == .notText(at: 1))
        #expect(close([0, 0, 1]) == .invalid("bytes after the text", at: 2))
        #expect(
            refusal([1, 2, 3]) { try Acknowledge(decoding: $0) }
                == .invalid("bytes after the last field", at: 2))
        let zeros = [UInt8](repeating: 0, count: 16)
        #expect(refusal(zeros) { try LostWrite(decoding: $0) } == nil)
        #expect(
            refusal(zeros + [0]) { try LostWrite(decoding: $0) }
                == .invalid("bytes after the last field", at: 16))
        #expect(
            refusal(Array(zeros.prefix(8))) { try NewSite(decoding: $0) }
                == .invalid("a zero site", at: 0))
        #expect(
            refusal([1] + Array(zeros.prefix(8))) { try NewSite(decoding: $0) }
                == .invalid("bytes after the last field", at: 8))
        #expect(
            refusal([1] + zeros + [0]) { try QuarantineNotice(decoding: $0) }
                == .invalid("bytes after the last field", at: 17))
    }

    @Test func `errors of addresses name the address`() {
        func want(_ addresses: [UInt8]) -> Malformed? {
            refusal([1, 0] + addresses) { try Want(decoding: $0) }
        }
        // The number of addresses is at offset 2; the first one has five bytes.
        let first: [UInt8] = [2, 0, 1, 0x63, 1, 7]
        #expect(want(first + [2, 1, 9]) == nil)
        #expect(want(first + [3, 1, 9]) == .unexpected(3, at: 8))
        #expect(want(first + [0, 1, 0x63, 1, 9]) == .invalid("a repeated collection name", at: 8))
        #expect(want(first + [2, 0]) == .invalid("an id without bytes of its own", at: 8))
        #expect(want([1, 1, 1, 7]) == .invalid("a first document without a collection", at: 3))
        #expect(want([1, 0, 1, 0x63, 0]) == .invalid("an id without bytes of its own", at: 3))
        #expect(
            want([1, 0] + varint(1_025)) == .tooLong(at: 4, length: 1_025, limit: 1_024))
        #expect(
            want([1, 0, 1, 0x63] + varint(4_097)) == .tooLong(at: 6, length: 4_097, limit: 4_096))
        // A byte of the id is that of the address before.
        #expect(
            want(first + [2] + varint(4_096)) == .tooLong(at: 9, length: 4_096, limit: 4_095))
        func address(_ bytes: [UInt8]) -> Malformed? {
            refusal(bytes) { try DocumentAddress(decoding: $0) }
        }
        let longest = [UInt8](repeating: 7, count: 4_096)
        #expect(address([1, 0x63] + longest) == nil)
        #expect(address([1, 0x63] + longest + [7]) == .invalid("an id of 4097 bytes", at: 2))
        #expect(address([1, 0x63]) == .invalid("an id of 0 bytes", at: 2))
        #expect(
            refusal(Self.id + [1, 0x63]) { try TokenAddress(decoding: $0) }
                == .invalid("an id of 0 bytes", at: 2))
    }

    @Test func `errors of wanted documents name the wrong part`() {
        func want(_ bytes: [UInt8]) -> Malformed? {
            refusal(bytes) { try Want(decoding: $0) }
        }
        #expect(want([1, 6]) == .unexpected(6, at: 1))
        #expect(want([1, 2]) == nil)
        #expect(want([1, 2, 9]) == .invalid("bytes after the last field", at: 2))
        #expect(want([1, 5] + varint(128)) == .tooLong(at: 2, length: 128, limit: 127))
        #expect(want([1, 4] + varint(4_096)) == .tooLong(at: 2, length: 4_096, limit: 4_095))
        #expect(want([1, 4] + varint(4_095)) == .truncated(at: 4))
        let text = "a wanted range that is empty or out of order"
        #expect(want([1, 5, 1, 1, 7, 1, 7]) == .invalid(text, at: 3))
        #expect(want([1, 5, 1, 1, 7, 1, 8]) == nil)
        // The second range may begin where the first one ends, and not before.
        #expect(want([1, 5, 2, 1, 1, 1, 3, 1, 3, 1, 4]) == nil)
        #expect(want([1, 5, 2, 1, 1, 1, 3, 1, 2, 1, 4]) == .invalid(text, at: 7))
        #expect(want([1, 5, 2, 1, 1, 0, 1, 2, 1, 4]) == .invalid(text, at: 6))
        #expect(want([1, 5, 1] + varint(4_097)) == .tooLong(at: 3, length: 4_097, limit: 4_096))
    }

    @Test func `errors of a subscription name the wrong part`() {
        func subscribe(_ bytes: [UInt8]) -> Malformed? {
            refusal(bytes) { try SubscribePart(decoding: $0) }
        }
        #expect(subscribe([1, 2]) == .unexpected(2, at: 1))
        #expect(
            subscribe([1, 0] + varint(4_097)) == .tooLong(at: 4, length: 4_097, limit: 4_096))
        #expect(subscribe([1, 1, 0]) == .invalid("an empty part that is continued", at: 3))
        #expect(subscribe([1, 1, 1, 1, 0x71, 0]) == nil)
        #expect(subscribe([1, 0, 0, 5, 0]) == nil)
        #expect(subscribe([1, 0, 0, 5, 2]) == .unexpected(2, at: 4))
        #expect(subscribe([1, 0, 0, 5, 0, 9]) == .invalid("bytes after the last field", at: 5))
        #expect(
            subscribe([1, 1, 1] + varint(65_537)) == .tooLong(at: 3, length: 65_537, limit: 65_536))
        #expect(
            subscribe([1, 1, 1, 1, 0x71] + varint(262_145))
                == .tooLong(at: 5, length: 262_145, limit: 262_144))
        // The error of a list of documents to send complete follows a cursor.
        let cursor: [UInt8] = [1, 0, 0, 5, 1] + [UInt8](repeating: 7, count: 16) + [3]
        #expect(subscribe(cursor + [0]) == nil)
        #expect(
            subscribe(cursor + [1, 1])
                == .invalid("a first document without a collection", at: 23))
    }

    @Test func `errors of notices about documents name the wrong part`() {
        func announce(_ bytes: [UInt8]) -> Malformed? {
            refusal(bytes) { try Announce(decoding: $0) }
        }
        func vector(_ sites: [UInt8]) -> [UInt8] {
            var bytes: [UInt8] = [1, 7, 1, 0, 1, 0x63, 1, 7, UInt8(sites.count)]
            for site in sites { bytes += [site] + [UInt8](repeating: 0, count: 15) }
            return bytes
        }
        #expect(announce(vector([1, 2])) == nil)
        #expect(announce(vector([2, 1])) == .invalid("sites out of order", at: 8))
        #expect(announce(vector([2, 2])) == .invalid("sites out of order", at: 8))
        #expect(announce([1, 7, 0, 9]) == .invalid("bytes after the last field", at: 3))
        func refused(_ bytes: [UInt8]) -> Malformed? {
            refusal(bytes) { try RefusedNotice(decoding: $0) }
        }
        #expect(refused([1, 7, 2]) == .unexpected(2, at: 2))
        #expect(refused([1, 7, 1, 1, 0]) == nil)
        #expect(refused([1, 7, 0, 0, 0]) == .invalid("a notice without documents", at: 4))
        #expect(refused([1, 7, 0, 1, 0, 9]) == .invalid("bytes after the last field", at: 5))
        func addresses(_ count: Int) -> [UInt8] {
            var bytes: [UInt8] = [1, 7, 0, 0] + varint(UInt64(count))
            bytes += [0, 1, 0x63, 1, 7]
            for number in 1..<count { bytes += [1, 2, UInt8(number >> 8), UInt8(number & 0xFF)] }
            return bytes
        }
        #expect(refused(addresses(256)) == nil)
        #expect(refused(addresses(257)) == .tooLong(at: 4, length: 257, limit: 256))
    }

    @Test func `errors of messages about attachments name the wrong field`() {
        func seek(_ rest: [UInt8]) -> Malformed? {
            refusal(Self.id + rest) { try Seek(decoding: $0) }
        }
        #expect(seek([8]) == nil)
        #expect(seek([9]) == .unexpected(9, at: 32))
        #expect(seek([8, 0]) == .invalid("bytes after the last field", at: 33))
        func offer(_ rest: [UInt8]) -> Malformed? {
            refusal(Self.id + rest) { try Offer(decoding: $0) }
        }
        let longest: UInt64 = 68_719_476_736
        #expect(offer(varint(longest)) == nil)
        #expect(
            offer(varint(longest + 1)) == .tooLong(at: 32, length: longest + 1, limit: longest))
        #expect(offer([1, 0]) == .invalid("bytes after the last field", at: 33))
        func part(_ rest: [UInt8]) -> Malformed? {
            refusal(Self.id + rest) { try AttachmentPart(decoding: $0) }
        }
        #expect(part([2, 0]) == .unexpected(2, at: 32))
        #expect(part([1] + varint(262_143)) == nil)
        #expect(
            part([1] + varint(262_144)) == .tooLong(at: 33, length: 262_144, limit: 262_143))
        #expect(part([0, 0, 0]) == .invalid("bytes after the last field", at: 34))
        func content(_ count: Int) -> Malformed? {
            refusal(Self.id + [1, 0] + [UInt8](repeating: 7, count: count)) {
                try AttachmentBytes(decoding: $0)
            }
        }
        #expect(content(1) == nil)
        #expect(content(262_144) == nil)
        #expect(content(0) == .invalid("an attachment part of 0 bytes", at: 34))
        #expect(content(262_145) == .invalid("an attachment part of 262145 bytes", at: 34))
    }

    // MARK: Segments

    private func commits(_ bytes: [UInt8]) -> Malformed? {
        refusal(bytes) { bytes in
            var names = NameTable()
            return try WireNameDictionary.commits(in: bytes, &names)
        }
    }

    @Test func `errors of commits name the commit or the document`() {
        // No names; the flags and the number of a commit, from offset 1 on.
        #expect(commits([0, 0, 7, 0]) == nil)
        #expect(commits([0, 16, 7, 0]) == .unexpected(16, at: 1))
        #expect(commits([0, 4, 7, 0]) == .unexpected(4, at: 1))
        #expect(commits([0, 0, 7, 0, 6, 7, 0]) == nil)
        #expect(commits([0, 0, 7, 0, 4, 7, 0]) == .unexpected(4, at: 4))
        #expect(commits([0, 2, 7, 1]) == .invalid("a batch both continued and cut", at: 1))
        #expect(commits([0, 0, 7, 3]) == .invalid("a first document without a collection", at: 3))
        #expect(commits([0, 0, 7, 6]) == .unexpected(6, at: 3))
        #expect(commits([0, 0, 7, 8]) == .unexpected(8, at: 3))
        #expect(commits([0, 0, 7, 2, 1, 0x63, 0]) == .invalid("an empty id", at: 6))
        #expect(commits([0, 0, 7, 2, 1, 0x63, 1, 9, 0, 5, 1, 9, 0, 0]) == nil)
        // The ids of unproven tokens follow the document, from offset 9 on.
        let document: [UInt8] = [0, 0, 7, 10, 1, 0x63, 1, 9, 0]
        #expect(commits(document + [0]) == .tooLong(at: 9, length: 0, limit: 1_024))
        #expect(
            commits(document + varint(1_025)) == .tooLong(at: 9, length: 1_025, limit: 1_024))
        let (low, high) = (Self.id, [UInt8](repeating: 8, count: 32))
        let text = "attachment ids out of order"
        #expect(commits(document + [2] + low + high + [0]) == nil)
        #expect(commits(document + [2] + high + low + [0]) == .invalid(text, at: 42))
        #expect(commits(document + [2] + low + low + [0]) == .invalid(text, at: 42))
    }

    @Test func `errors of numbered names name the number or the name`() {
        #expect(commits([2, 1, 0x61, 1, 0x62]) == nil)
        #expect(commits([2, 1, 0x61, 1, 0x61]) == .invalid("a duplicate name", at: 3))
        #expect(commits([1, 65]) == .tooLong(at: 1, length: 65, limit: 64))
        #expect(commits(varint(4_097)) == .tooLong(at: 0, length: 4_097, limit: 4_096))
        let second = refusal(varint(4_096)) { bytes in
            var names = NameTable(["a"]) ?? NameTable()
            return try WireNameDictionary.commits(in: bytes, &names)
        }
        #expect(second == .tooLong(at: 0, length: 4_096, limit: 4_095))
        let segment = refusal(varint(16_777_217)) { bytes in
            var segments = ShippedSegmentReader()
            return try segments.raw(of: bytes)
        }
        #expect(segment == .tooLong(at: 0, length: 16_777_217, limit: 16_777_216))
    }

    @Test func `each document and each commit of a segment takes room`() throws {
        let bytes: [UInt8] = [0, 7, 2, 1, 0x63, 1, 9, 0, 3, 1, 8, 0, 0]
        func read(_ room: Int) -> (rest: Int, error: Malformed?) {
            var rest = room
            let error = refusal(bytes) { bytes in
                var reader = ByteReader(bytes)
                return try ShippedCommit(from: &reader, room: &rest)
            }
            return (rest, error)
        }
        #expect(read(3) == (0, nil))
        #expect(read(10) == (7, nil))
        let error = Malformed.invalid("more than 65536 documents and commits", at: 0)
        #expect(read(2).error == error)
        #expect(read(0).error == error)
    }
}
