import SheafBytes
import SheafTestSupport
import Testing

/// The vectors of `format-spec` for encodings of bytes.
@Suite struct FormatVectorTests {
    @Test func `varints match the vectors, and malformed varints are refused`() throws {
        let vectors = try FormatVectors("varint.txt")
        #expect(vectors.cases.count == 15)
        for name in vectors.cases {
            guard vectors.has("\(name).value") else {
                let bytes = try vectors.bytes("\(name).refused")
                let isShort = ["empty", "cut-off"].contains(name)
                #expect(
                    malformation(bytes) { try $0.readVarint() }
                        == (isShort ? .truncated(at: 0) : .varint(at: 0)), "\(name)")
                continue
            }
            let value = try vectors.number("\(name).value")
            let bytes = try vectors.bytes("\(name).bytes")
            #expect(try reading(bytes) { try $0.readVarint() } == (value, bytes.count), "\(name)")
            var writer = ByteWriter()
            writer.writeVarint(value)
            #expect(writer.bytes == bytes, "\(name)")
        }
    }

    @Test func `LZ4 blocks expand to the vectors, and malformed blocks are refused`() throws {
        let vectors = try FormatVectors("lz4.txt")
        #expect(vectors.cases.count == 11)
        for name in vectors.cases {
            guard vectors.has("\(name).raw") else {
                let block = try vectors.bytes("\(name).refused")
                let length = try vectors.integer("\(name).length")
                #expect(throws: Malformed.compressed(at: 0), "\(name)") {
                    try block.withUnsafeBytes { try LZ4.decompress($0, rawLength: length) }
                }
                continue
            }
            let raw = try vectors.bytes("\(name).raw")
            let block = try vectors.bytes("\(name).block")
            #expect(
                try block.withUnsafeBytes { try LZ4.decompress($0, rawLength: raw.count) } == raw,
                "\(name)")
            let again = raw.withUnsafeBytes { LZ4.compress($0) }
            #expect(
                try again.withUnsafeBytes { try LZ4.decompress($0, rawLength: raw.count) } == raw,
                "\(name)")
        }
    }

    @Test func `XXH3 hashes match the vectors`() throws {
        let vectors = try FormatVectors("xxh3.txt")
        #expect(vectors.cases.count == 13)
        for name in vectors.cases {
            let input = try vectors.bytes("\(name).input")
            let seed = try vectors.number("\(name).seed")
            let hash = try vectors.number("\(name).hash")
            #expect(input.withUnsafeBytes { XXH3.hash64($0, seed: seed) } == hash, "\(name)")
        }
    }
}
