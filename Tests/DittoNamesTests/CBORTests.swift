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
