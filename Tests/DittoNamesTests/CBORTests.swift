import DittoNames
import Foundation
import Sheaf
import SheafTestSupport
import Testing

struct CBORTests {
    /// Returns the CBOR bytes of each value, without the enclosing row.
    private func bytes(_ values: [Value]) async throws -> [[UInt8]] {
        let store = try await Store.inMemory()
        let ditto = Ditto(over: store)
        var encoded: [[UInt8]] = []
        for value in values {
            let result = try await ditto.store.execute(
                query: "SELECT :v AS v FROM system:dual", arguments: ["v": value])
            let row = [UInt8](try #require(result.items.first).cborData())
            // A map of one field, whose name is "v".
            #expect(row.prefix(3) == [0xA1, 0x61, 0x76])
            encoded.append([UInt8](row.dropFirst(3)))
        }
        try await ditto.close()
        return encoded
    }

    /// The examples of RFC 8949, appendix A, that can be document values.
    private static let vectors: [(Value, String)] = [
        (0, "00"), (1, "01"), (10, "0a"), (23, "17"), (24, "1818"), (25, "1819"), (100, "1864"),
        (1000, "1903e8"), (1_000_000, "1a000f4240"), (1_000_000_000_000, "1b000000e8d4a51000"),
        (-1, "20"), (-10, "29"), (-100, "3863"), (-1000, "3903e7"),
        (0.0, "f90000"), (-0.0, "f98000"), (1.0, "f93c00"), (1.1, "fb3ff199999999999a"),
        (1.5, "f93e00"), (65504.0, "f97bff"), (100000.0, "fa47c35000"),
        (3.4028234663852886e+38, "fa7f7fffff"), (1.0e+300, "fb7e37e43c8800759c"),
        (5.960464477539063e-8, "f90001"), (0.00006103515625, "f90400"), (-4.0, "f9c400"),
        (-4.1, "fbc010666666666666"), (false, "f4"), (true, "f5"), (.null, "f6"),
        (.bytes([]), "40"), (.bytes([1, 2, 3, 4]), "4401020304"), ("", "60"), ("a", "6161"),
        ("IETF", "6449455446"), ("\"\\", "62225c"), ("\u{fc}", "62c3bc"),
        ("\u{6c34}", "63e6b0b4"), ("\u{10151}", "64f0908591"), ([], "80"), ([1, 2, 3], "83010203"),
        ([1, [2, 3], [4, 5]], "8301820203820405"),
        (
            .array((1...25).map { .integer($0) }),
            "98190102030405060708090a0b0c0d0e0f101112131415161718181819"
        ),
        ([:], "a0"), (["a": 1, "b": [2, 3]], "a26161016162820203"),
        (["a", ["b": "c"]], "826161a161626163"),
        (
            ["a": "A", "b": "B", "c": "C", "d": "D", "e": "E"],
            "a56161614161626142616361436164614461656145"
        ),
    ]

    @Test func `values are encoded as in RFC 8949`() async throws {
        let encoded = try await bytes(Self.vectors.map(\.0))
        for ((value, expected), bytes) in zip(Self.vectors, encoded) {
            #expect(bytes.map { String(format: "%02x", $0) }.joined() == expected, "\(value)")
        }
    }

    /// The last values of each length, and the first ones of the next.
    private static let boundaries: [(Value, String)] = [
        (255, "18ff"), (256, "190100"), (65_535, "19ffff"), (65_536, "1a00010000"),
        (4_294_967_295, "1affffffff"), (4_294_967_296, "1b0000000100000000"),
        (.integer(.max), "1b7fffffffffffffff"), (-24, "37"), (-25, "3818"), (-256, "38ff"),
        (-257, "390100"), (-65_536, "39ffff"), (-65_537, "3a00010000"),
        (-4_294_967_296, "3affffffff"), (-4_294_967_297, "3b0000000100000000"),
        (.integer(.min), "3b7fffffffffffffff"), (.float(0x1p-15), "f90200"),
        (.float(0x1p-24), "f90001"), (.float(0x1.8p-24), "fa33c00000"),
        (.float(0x1p-25), "fa33000000"), (.float(-0x1.8p-23), "f98003"),
        (.float(0x1.ff8p-15), "f903ff"), (.float(0x1.ffcp-15), "fa387fe000"),
        (.float(0x1.004p0), "f93c01"), (.float(0x1.002p0), "fa3f801000"),
        (.float(0x1p16), "fa47800000"), (.float(-0x1p15), "f9f800"),
        (.float(0x1.000002p0), "fa3f800001"), (.float(0x1.000001p0), "fb3ff0000010000000"),
        (.float(0x1p128), "fb47f0000000000000"),
    ]

    @Test func `each number has its shortest form`() async throws {
        let encoded = try await bytes(Self.boundaries.map(\.0))
        for ((value, expected), bytes) in zip(Self.boundaries, encoded) {
            #expect(bytes.map { String(format: "%02x", $0) }.joined() == expected, "\(value)")
        }
    }

    @Test func `each length of a text, of bytes and of a list has its shortest form`()
        async throws
    {
        let heads: [(count: Int, head: [UInt8])] = [
            (23, [23]), (24, [24, 24]), (255, [24, 255]), (256, [25, 1, 0]),
            (65_535, [25, 255, 255]), (65_536, [26, 0, 1, 0, 0]),
        ]
        for (count, head) in heads {
            let encoded = try await bytes([
                .string(String(repeating: "a", count: count)),
                .bytes(Array(repeating: 7, count: count)),
            ])
            for (kind, bytes) in zip([0x60, 0x40] as [UInt8], encoded) {
                #expect(Array(bytes.prefix(head.count)) == [kind | head[0]] + head.dropFirst())
                #expect(bytes.count == head.count + count)
            }
        }
    }

    @Test func `shorter names come first, as deterministic encoding requires`() async throws {
        let encoded = try await bytes([["aa": 1, "b": 2, "é": 3]])
        #expect(encoded == [[0xA3, 0x61, 0x62, 2, 0x62, 0x61, 0x61, 1, 0x62, 0xC3, 0xA9, 3]])
    }

    @Test(arguments: 1...20 as ClosedRange<UInt64>)
    func `random values survive a round trip through CBOR`(seed: UInt64) async throws {
        var random = SeededRandom(seed: seed, "cbor")
        let values = (0..<50).map { _ in Self.value(&random, depth: 3) }
        for (value, bytes) in zip(values, try await bytes(values)) {
            var reader = CBORReader(bytes)
            #expect(reader.value()?.json == value.json, "seed \(seed)")
            #expect(reader.isAtEnd, "seed \(seed)")
        }
    }

    private static func value(_ random: inout SeededRandom, depth: Int) -> Value {
        switch random.below(depth > 0 ? 8 : 6) {
        case 0: return random.chance(1, in: 2) ? .null : .bool(random.chance(1, in: 2))
        case 1: return .integer(Int64(bitPattern: random.next()) >> Int64(random.below(64)))
        case 2:
            let value = Double(bitPattern: random.next())
            return .float(value.isFinite ? value : 0.5)
        case 3:
            // Floats that fit into few bits, and neighbors that do not.
            let exponent = Double(random.below(50)) - 30
            return .float(Double(random.below(4096)) * Foundation.pow(2, exponent))
        case 4: return .string(String(repeating: "né", count: random.below(150)))
        case 5: return .bytes(random.bytes(random.below(300)))
        case 6: return .array((0..<random.below(30)).map { _ in value(&random, depth: depth - 1) })
        default:
            let fields = (0..<random.below(30)).map { _ in
                (String(random.below(2000)), value(&random, depth: depth - 1))
            }
            return .object(Object(fields))
        }
    }
}
