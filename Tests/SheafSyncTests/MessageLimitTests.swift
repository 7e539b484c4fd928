import SheafBytes
import SheafDocument
import SheafSync
import Testing

/// Texts and lists in messages at and one beyond their limits.
struct MessageLimitTests {
    /// A text of ASCII letters, or of letters with two bytes each after an ASCII letter.
    private static func text(_ bytes: Int, hasWideLetters: Bool = false) -> String {
        guard hasWideLetters else { return String(repeating: "a", count: bytes) }
        return "a" + String(repeating: "\u{E9}", count: (bytes - 1) / 2)
    }

    @Test func `the text of a close reason is cut at 512 bytes, between two characters`() {
        for length in [511, 512] {
            #expect(CloseMessage(.refused, Self.text(length)).text == Self.text(length))
        }
        #expect(CloseMessage(.refused, Self.text(513)).text == Self.text(512))
        let wide = Self.text(513, hasWideLetters: true)
        #expect(wide.utf8.count == 513)
        let cut = CloseMessage(.refused, wide).text
        #expect(cut == Self.text(511, hasWideLetters: true) && cut.utf8.count == 511)
    }

    @Test func `a close reason with a text of more than 512 bytes is refused`() throws {
        func closing(_ length: Int) throws -> CloseMessage {
            var writer = ByteWriter()
            writer.write(CloseMessage.Code.refused.rawValue)
            writer.writeText(Self.text(length))
            return try writer.bytes.withUnsafeBytes { try CloseMessage(decoding: $0) }
        }
        for length in [511, 512] {
            #expect(try closing(length) == CloseMessage(.refused, Self.text(length)))
        }
        #expect(throws: Malformed.self) { try closing(513) }
    }

    @Test func `the name of a device is cut at 256 bytes, between two characters`() throws {
        func names(of name: String) -> [String] {
            let hello = OpenSession.hello(1)
            let other = Hello(
                database: hello.database, peerKey: hello.peerKey, site: hello.site, log: hello.log,
                nonce: 1, wallMilliseconds: 1, isServer: false, name: name)
            return [other.name, PeerRecord.Description(name: name).name]
        }
        for length in [255, 256] {
            #expect(names(of: Self.text(length)) == [Self.text(length), Self.text(length)])
        }
        #expect(names(of: Self.text(257)) == [Self.text(256), Self.text(256)])
        let cut = Self.text(255, hasWideLetters: true)
        #expect(cut.utf8.count == 255)
        #expect(names(of: Self.text(257, hasWideLetters: true)) == [cut, cut])
    }

    @Test func `a hello with a name of more than 256 bytes is refused`() throws {
        // The name is the last field, and is empty here.
        let start = OpenSession.hello(1).bytes.dropLast()
        func name(_ length: Int) throws -> String {
            var writer = ByteWriter()
            writer.write(Array(start))
            writer.writeText(Self.text(length))
            return try writer.bytes.withUnsafeBytes { try Hello(decoding: $0) }.name
        }
        for length in [255, 256] { #expect(try name(length) == Self.text(length)) }
        #expect(throws: Malformed.self) { try name(257) }
    }

    // MARK: Addresses

    /// Two ids of 100 bytes that share a prefix.
    private static func addresses(sharing count: Int) -> [DocumentAddress] {
        [[UInt8](repeating: 7, count: 100), [UInt8](repeating: 7, count: count)].map { id in
            DocumentAddress(
                collection: "c", id: id + [UInt8](repeating: 9, count: 100 - id.count))
        }
    }

    @Test func `an id omits at most 64 bytes that it shares with the one before`() throws {
        func length(sharing count: Int) throws -> Int {
            let documents = Want.Documents.some(Self.addresses(sharing: count), isContinued: false)
            let bytes = Want(generation: 1, documents).bytes
            #expect(try bytes.withUnsafeBytes { try Want(decoding: $0) }.documents == documents)
            return bytes.count
        }
        let whole = try length(sharing: 0)
        #expect(try length(sharing: 63) == whole - 63)
        #expect(try length(sharing: 64) == whole - 64)
        #expect(try length(sharing: 65) == whole - 64)
        #expect(try length(sharing: 99) == whole - 64)
    }

    @Test func `an id that omits more than 64 bytes is refused`() throws {
        func want(sharing count: Int) throws -> Want {
            let first = Self.addresses(sharing: count)[0]
            var writer = ByteWriter()
            // The generation, the kind, and the number of addresses.
            writer.write([1, 0, 2])
            writer.write(UInt8(0))
            writer.writeText(first.collection)
            writer.writeVarint(UInt64(first.id.count))
            writer.write(first.id)
            writer.write(UInt8(1 + count))
            writer.write([1, 9])
            return try writer.bytes.withUnsafeBytes { try Want(decoding: $0) }
        }
        for count in [63, 64] {
            let first = Self.addresses(sharing: count)[0]
            let second = DocumentAddress(collection: "c", id: Array(first.id.prefix(count)) + [9])
            #expect(
                try want(sharing: count).documents == .some([first, second], isContinued: false))
        }
        #expect(throws: Malformed.self) { try want(sharing: 65) }
    }

    // MARK: Reconciliation

    private static func bound(_ number: Int) -> [UInt8] {
        [UInt8(number >> 8), UInt8(number & 0xFF)]
    }

    @Test func `127 wanted ranges are named in a message, and more in several`() throws {
        /// Compares subranges, of which every second one has only documents of the sender.
        func messages(_ ranges: Int) throws -> [Int] {
            let own = stride(from: 0, to: 2 * ranges, by: 2).map {
                DocumentVersion(id: Self.bound($0), version: 5)
            }
            var writer = ByteWriter()
            writer.writeVarint(1)
            writer.writeVarint(UInt64(2 * ranges) << 2)
            for number in 1...2 * ranges {
                if number < 2 * ranges {
                    // No prefix is shared.
                    writer.write([0, 2] + Self.bound(number))
                }
                writer.write(5 as UInt64)
            }
            let answer = try writer.bytes.withUnsafeBytes { try RangeAnswer(decoding: $0) }
            var requester = RangeRequester(VersionList(sorted: own))
            guard case .done = try requester.process(answer) else { return [] }
            return requester.removeRanges().map(\.count)
        }
        #expect(try messages(126) == [126])
        #expect(try messages(127) == [127])
        #expect(try messages(128) == [127, 1])
    }

    /// Divides ranges with one own document each into subranges, of which the first of each range
    /// equals the own one and the others have only documents of the sender.
    ///
    /// Returns the ranges wanted then, and the numbers of the subranges to divide further.
    private func dividing(_ counts: [Int]) throws -> (wanted: [KeyRange], further: [Int]) {
        /// Returns an answer of subranges with the same sum, by their bounds in each range.
        func answer(_ parts: [[Int]], sum: UInt64) throws -> RangeAnswer {
            var writer = ByteWriter()
            writer.writeVarint(UInt64(parts.count))
            for bounds in parts {
                writer.writeVarint(UInt64(bounds.count + 1) << 2)
                for bound in bounds {
                    // No prefix is shared.
                    writer.write([0, 2] + Self.bound(bound))
                    writer.write(sum)
                }
                writer.write(sum)
            }
            return try writer.bytes.withUnsafeBytes { try RangeAnswer(decoding: $0) }
        }
        let starts = counts.indices.map { 4_096 * $0 }
        let own = starts.map { DocumentVersion(id: Self.bound($0), version: 5) }
        var requester = RangeRequester(VersionList(sorted: own), usesSketches: false)
        let first = try requester.process(try answer([Array(starts.dropFirst())], sum: 6))
        #expect(first == .request(RangeQuestion(Array(counts.indices))))
        let bounds = zip(starts, counts).map { start, count in (1..<count).map { start + $0 } }
        let step = try requester.process(try answer(bounds, sum: 5))
        let wanted = requester.removeRanges().flatMap { $0 }
        guard case .request(let question) = step else { return (wanted, []) }
        return (wanted, question.ranges)
    }

    @Test func `ranges are wanted if an answer has 2,048 subranges, and not if it has more`()
        throws
    {
        let one = KeyRange(from: Self.bound(1), to: nil)
        let two = [
            KeyRange(from: Self.bound(1), to: Self.bound(4_096)),
            KeyRange(from: Self.bound(4_097), to: nil),
        ]
        for (counts, wanted) in [([2_048], [one]), ([1_024, 1_024], two)] {
            let found = try dividing(counts)
            #expect(found.wanted == wanted)
            #expect(found.further.isEmpty)
        }
        // Only the first subrange of each range is not divided further.
        for (counts, equal) in [([2_049], [0]), ([1_024, 1_025], [0, 1_024])] {
            let found = try dividing(counts)
            #expect(found.wanted.isEmpty)
            #expect(found.further == (0..<2_049).filter { !equal.contains($0) })
        }
    }

    @Test func `a message with more than 127 wanted ranges is refused`() throws {
        func read(_ count: Int) throws -> Want.Documents {
            let ranges = (0..<count).map {
                KeyRange(from: Self.bound(2 * $0), to: Self.bound(2 * $0 + 1))
            }
            let bytes = Want(generation: 1, .ranges(ranges)).bytes
            return try bytes.withUnsafeBytes { try Want(decoding: $0) }.documents
        }
        for count in [126, 127] {
            guard case .ranges(let ranges) = try read(count) else {
                Issue.record("no ranges")
                return
            }
            #expect(ranges.count == count)
        }
        #expect(throws: Malformed.self) { try read(128) }
    }

    @Test func `a request names at most 65,536 ranges, with numbers below 65,536`() throws {
        func ranges(_ count: UInt64, _ steps: [UInt8]) throws -> [Int] {
            var writer = ByteWriter()
            writer.writeVarint(count)
            writer.write(steps)
            return try writer.bytes.withUnsafeBytes { try RangeQuestion(decoding: $0) }.ranges
        }
        // Each byte is the number of ranges that are skipped.
        let steps = [UInt8](repeating: 0, count: 65_536)
        let all = try ranges(65_536, steps)
        #expect(all.count == 65_536 && all.last == 65_535)
        #expect(throws: Malformed.self) { try ranges(65_537, steps + [0]) }
        #expect(RangeQuestion([65_535]).bytes == [1, 0xFF, 0xFF, 3])
        #expect(try ranges(1, [0xFF, 0xFF, 3]) == [65_535])
        #expect(throws: Malformed.self) { try ranges(1, [0x80, 0x80, 4]) }
    }

    @Test func `an answer has at most 65,536 parts, subranges and documents together`() throws {
        func answer(_ parts: Int, documents: UInt8) throws -> RangeAnswer {
            var writer = ByteWriter()
            writer.writeVarint(UInt64(parts))
            // A part without documents has one byte; the last one has all documents.
            writer.write([UInt8](repeating: 1, count: parts - 1))
            writer.write(documents << 2 | 1)
            for number in 0..<documents {
                writer.write([0, 1, number])
                writer.write(5 as UInt64)
            }
            return try writer.bytes.withUnsafeBytes { try RangeAnswer(decoding: $0) }
        }
        #expect(try answer(65_536, documents: 0).parts.count == 65_536)
        #expect(throws: Malformed.self) { try answer(65_537, documents: 0) }
        #expect(try answer(65_533, documents: 3).parts.count == 65_533)
        #expect(throws: Malformed.self) { try answer(65_533, documents: 4) }
    }
}
