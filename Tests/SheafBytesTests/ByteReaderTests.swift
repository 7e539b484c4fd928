import SheafBytes
import SheafTestSupport
import Testing

@Suite struct ByteReaderTests {
    /// One value of each kind, as encoded by the writer.
    private let written: [UInt8] = {
        var writer = ByteWriter(capacity: 64)
        writer.write(UInt8(0x01))
        writer.write(UInt16(0x0203))
        writer.write(UInt32(0x0405_0607))
        writer.write(UInt64(0x0809_0A0B_0C0D_0E0F))
        writer.writeVarint(300)
        [UInt8](arrayLiteral: 5, 6, 7).withUnsafeBytes { writer.writeLengthPrefixed($0) }
        writer.write([8, 9])
        return writer.bytes
    }()

    /// Reads one value of each kind; returns the offsets where they start and end.
    private func readAll(_ reader: inout ByteReader) throws -> [Int] {
        var offsets: [Int] = [reader.offset]
        #expect(try reader.readUInt8() == 0x01)
        offsets.append(reader.offset)
        #expect(try reader.readUInt16() == 0x0203)
        offsets.append(reader.offset)
        #expect(try reader.readUInt32() == 0x0405_0607)
        offsets.append(reader.offset)
        #expect(try reader.readUInt64() == 0x0809_0A0B_0C0D_0E0F)
        offsets.append(reader.offset)
        #expect(try reader.readVarint() == 300)
        offsets.append(reader.offset)
        #expect(try Array(reader.readLengthPrefixed(limit: 3)) == [5, 6, 7])
        offsets.append(reader.offset)
        #expect(try Array(reader.readBytes(2)) == [8, 9])
        offsets.append(reader.offset)
        return offsets
    }

    @Test func `a reader decodes the little-endian values of a writer`() throws {
        #expect(
            written == [
                0x01, 0x03, 0x02, 0x07, 0x06, 0x05, 0x04, 0x0F, 0x0E, 0x0D, 0x0C, 0x0B, 0x0A, 0x09,
                0x08, 0xAC, 0x02, 3, 5, 6, 7, 8, 9,
            ])
        let (offsets, end) = try reading(written) { try readAll(&$0) }
        #expect(offsets == [0, 1, 3, 7, 15, 17, 21, 23])
        #expect(end == written.count)
    }

    @Test func `truncated bytes are refused at the value that is cut off`() throws {
        let (offsets, _) = try reading(written) { try readAll(&$0) }
        for cut in 0..<written.count {
            // The buffer is exactly as long as the prefix, so that a sanitizer detects reads past
            // its end.
            let found = malformation(Array(written.prefix(cut))) { try readAll(&$0) }
            guard case .truncated(let offset) = found else {
                Issue.record("Truncated at \(cut): \(String(describing: found))")
                continue
            }
            let start = offsets.last { $0 <= cut }
            // After a length prefix, the truncated value starts after the length.
            #expect(offset == start || offset == 18 && start == 17, "cut at \(cut)")
        }
    }

    @Test func `a failed read of a fixed-length value does not advance the reader`() throws {
        try [UInt8](arrayLiteral: 1, 2, 3).withUnsafeBytes { bytes throws in
            var reader = ByteReader(bytes, at: 1)
            #expect(throws: Malformed.truncated(at: 1)) { try reader.readUInt32() }
            #expect(throws: Malformed.truncated(at: 1)) { try reader.readUInt64() }
            #expect(throws: Malformed.truncated(at: 1)) { try reader.readBytes(3) }
            #expect(throws: Malformed.truncated(at: 1)) { try reader.readBytes(-1) }
            #expect(throws: Malformed.truncated(at: 1)) { try reader.readBytes(.max) }
            #expect(throws: Malformed.truncated(at: 1)) { try reader.readBytes(.min) }
            #expect(reader.offset == 1)
            #expect(reader.remaining == 2)
            #expect(try reader.readUInt16() == 0x0302)
            #expect(throws: Malformed.truncated(at: 3)) { try reader.readUInt8() }
            #expect(try reader.readBytes(0).isEmpty)
        }
    }

    @Test func `the initial offset of a reader is clamped to its bytes`() {
        let bytes: [UInt8] = [1, 2, 3]
        bytes.withUnsafeBytes { bytes in
            #expect(ByteReader(bytes, at: -5).offset == 0)
            #expect(ByteReader(bytes, at: 3).remaining == 0)
            #expect(ByteReader(bytes, at: .max).remaining == 0)
            #expect(ByteReader(bytes, at: .min).remaining == 3)
        }
        #expect(ByteReader(UnsafeRawBufferPointer(start: nil, count: 0)).remaining == 0)
    }

    @Test func `a length above its limit is refused, even one close to 2^64`() {
        for length in [4, 5, 1 << 31, 1 << 62, UInt64(Int.max), UInt64(Int.max) + 1, .max] {
            var writer = ByteWriter()
            writer.writeVarint(length)
            writer.write([1, 2, 3, 4, 5])
            let found = malformation([0] + writer.bytes, at: 1) {
                try $0.readLengthPrefixed(limit: 3)
            }
            #expect(found == .tooLong(at: 1, length: length, limit: 3))
        }
        for length in [6, 1 << 31, UInt64(Int.max)] {
            var writer = ByteWriter()
            writer.writeVarint(length)
            let start = writer.count
            writer.write([1, 2, 3, 4, 5])
            let found = malformation(writer.bytes) { try $0.readLengthPrefixed(limit: .max) }
            #expect(found == .truncated(at: start))
        }
    }

    @Test func `a count is at most its limit, and its items fit into the rest`() throws {
        func count(_ bytes: [UInt8]) -> Malformed? {
            malformation([0] + bytes, at: 1) {
                try $0.readCount(of: "shards", limit: 300, size: 2)
            }
        }
        let (read, end) = try reading([2, 7, 7, 7, 7]) {
            try $0.readCount(of: "shards", limit: 2, size: 2)
        }
        #expect(read == 2 && end == 1)
        #expect(count([0]) == nil)
        #expect(count([2, 7, 7, 7]) == .truncated(at: 1))
        #expect(count([2, 7, 7, 7, 7]) == nil)
        #expect(count([0xAC, 2]) == .truncated(at: 1))
        #expect(
            count([0xAD, 2]) == .invalid("301 shards, more than the 300 allowed,", at: 1))
    }

    @Test func `texts, hashes and ends are read with the offsets of their errors`() throws {
        let (text, end) = try reading([0, 2, 0xC3, 0xA9], at: 1) { try $0.readText(limit: 2) }
        #expect(text == "\u{E9}" && end == 4)
        #expect(
            malformation([0, 2, 0x61, 0xC3], at: 1) { try $0.readText(limit: 2) }
                == .notText(at: 1))
        #expect(
            malformation([0, 3, 0x61], at: 1) { try $0.readText(limit: 2) }
                == .tooLong(at: 1, length: 3, limit: 2))
        let bytes = (1...16 as ClosedRange<UInt8>).map { $0 }
        let (hash, _) = try reading(bytes) { try $0.readHash128() }
        #expect(hash.low == 0x0807_0605_0403_0201 && hash.high == 0x100F_0E0D_0C0B_0A09)
        var writer = ByteWriter()
        writer.write(hash)
        writer.writeText("\u{E9}")
        #expect(writer.bytes == bytes + [2, 0xC3, 0xA9])
        #expect(malformation([1], at: 1) { try $0.checkEnd() } == nil)
        #expect(
            malformation([1, 2], at: 1) { try $0.checkEnd() }
                == .invalid("bytes after the last field", at: 1))
    }

    @Test func `reading random bytes succeeds or fails, and never passes their end`() {
        let seed: UInt64 = 3
        var random = SeededRandom(seed: seed, "reader")
        for round in 0..<20_000 {
            let bytes = random.bytes(random.below(24))
            var kinds = (0..<6).map { _ in random.below(7) }
            let found = malformation(bytes) { reader in
                while let kind = kinds.popLast() {
                    let before = reader.offset
                    switch kind {
                    case 0: _ = try reader.readUInt8()
                    case 1: _ = try reader.readUInt16()
                    case 2: _ = try reader.readUInt32()
                    case 3: _ = try reader.readUInt64()
                    case 4: _ = try reader.readVarint()
                    case 5: _ = try reader.readLengthPrefixed(limit: 10)
                    default: _ = try reader.readBytes(3)
                    }
                    #expect(reader.offset > before && reader.offset <= bytes.count)
                }
            }
            if case .truncated(let offset) = found {
                #expect(offset <= bytes.count, "seed \(seed), round \(round)")
            }
        }
    }
}

@Suite struct ByteWriterTests {
    @Test func `alignment pads with zeros, and a patch changes only its own bytes`() {
        var writer = ByteWriter()
        writer.align(to: 8)
        #expect(writer.count == 0)
        writer.write([1, 2, 3])
        writer.align(to: 8)
        #expect(writer.bytes == [1, 2, 3, 0, 0, 0, 0, 0])
        writer.align(to: 8)
        #expect(writer.count == 8)
        writer.writeZeros(5)
        writer.patch(UInt32(0x0A0B_0C0D), at: 1)
        writer.patch(UInt64(0x0102_0304_0506_0708), at: 5)
        #expect(writer.bytes == [1, 0x0D, 0x0C, 0x0B, 0x0A, 8, 7, 6, 5, 4, 3, 2, 1])
        writer.removeAll()
        #expect(writer.bytes == [])
    }

    @Test func `a patch outside the written bytes traps`() async {
        await #expect(processExitsWith: .failure) {
            var writer = ByteWriter()
            writer.write([1, 2, 3, 4])
            writer.patch(UInt32(0), at: 1)
        }
    }

    @Test func `each kind of malformed bytes has a description`() {
        let descriptions: [(Malformed, String)] = [
            (.truncated(at: 3), "the bytes end inside the value at offset 3"),
            (
                .varint(at: 4),
                "the variable-length integer at offset 4 exceeds 64 bits or is not in its "
                    + "shortest form"
            ),
            (
                .compressed(at: 5),
                "the compressed block at offset 5 does not expand to its announced length"
            ),
            (.unexpected(9, at: 5), "the byte 9 at offset 5 is not allowed here"),
            (.notText(at: 5), "the text at offset 5 is not UTF-8"),
            (.invalid("a reason", at: 5), "a reason at offset 5"),
            (.tooDeep(at: 5, limit: 64), "values are nested deeper than 64 at offset 5"),
            (
                .tooLong(at: 6, length: 8, limit: 7),
                "the length at offset 6 is 8, more than the 7 allowed"
            ),
        ]
        for (malformed, description) in descriptions {
            #expect(malformed.description == description)
        }
    }
}
