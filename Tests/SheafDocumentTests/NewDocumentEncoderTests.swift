import SheafBytes
import SheafDocument
import SheafTestSupport
import Testing

/// Documents that are encoded before their stamp is known.
@Suite struct NewDocumentEncoderTests {
    private let stamp = Stamp(
        HybridTime(milliseconds: 1_700_000_000_000, counter: 3), Site(rawValue: 0xABCD))

    /// Returns the last document of an encoder with the stamp.
    private func document(_ encoder: borrowing NewDocumentEncoder) -> [UInt8] {
        var bytes: [UInt8] = [1, 2, 3]
        encoder.append(to: &bytes)
        bytes.withUnsafeMutableBytes { NewDocumentEncoder.setStamp(stamp, at: 3, in: $0) }
        return Array(bytes[3...])
    }

    private func encode(
        _ encoder: inout NewDocumentEncoder, _ json: String, _ idName: String, _ names: NameTable
    ) throws -> Value? {
        try Array(json.utf8).withUnsafeBytes { bytes in
            try encoder.encode(json: bytes, idName: Array(idName.utf8), names)
        }
    }

    @Test(arguments: [UInt64](1...8))
    func `JSON and objects are encoded as an insertion encodes them`(_ seed: UInt64) throws {
        var random = RandomValue(seed: seed, "encoder")
        var encoder = NewDocumentEncoder()
        let names = try #require(NameTable(["a", "b", "", "f", "café"]))
        for _ in 0..<400 {
            // JSON has no bytes, infinities and NaN, so the text determines the value.
            let json = Value.object(random.object(depth: 5)).json
            guard case .object(let object) = try Value(json: json) else { continue }
            var rest = object
            rest["a"] = nil
            let expected = try Insertion.document(rest, at: stamp, names)
            let id = try encode(&encoder, spaced(json, &random.random), "a", names)
            #expect(id == object["a"], "seed \(seed): \(json)")
            #expect(document(encoder) == expected, "seed \(seed): \(json)")
            encoder.encode(object, without: "a", names)
            #expect(document(encoder) == expected, "seed \(seed): \(json)")
            let length = encoder.length
            #expect(length == expected.count)
        }
    }

    /// Adds spaces between the tokens of a JSON text, and escapes some letters.
    private func spaced(_ json: String, _ random: inout SeededRandom) -> String {
        var (text, isInString, isEscaped) = ("", false, false)
        for scalar in json.unicodeScalars {
            if isInString {
                if !isEscaped, scalar == "a", random.chance(1, in: 3) {
                    text += "\\u0061"
                } else {
                    text.unicodeScalars.append(scalar)
                }
                if !isEscaped, scalar == "\"" { isInString = false }
                isEscaped = !isEscaped && scalar == "\\"
                continue
            }
            if scalar == "\"" { isInString = true }
            let isToken = "{}[],:".unicodeScalars.contains(scalar)
            if isToken, random.chance(1, in: 4) { text += " \n" }
            text.unicodeScalars.append(scalar)
            if isToken, random.chance(1, in: 4) { text += "\t\r" }
        }
        return text
    }

    @Test func `errors in JSON are those of the parser, with their positions`() throws {
        var encoder = NewDocumentEncoder()
        let deep = String(repeating: "[", count: 64) + String(repeating: "]", count: 64)
        for text in [
            "", "  ", "{", "{\"a\"", "{\"a\":", "{\"a\":1", "{\"a\":1,", "{\"a\":1,}", "{a:1}",
            "{\"a\":nul}", "{\"a\":01}", "{\"a\":\"\u{1}\"}", "{\"a\":\"\\x\"}", "{\"a\":1}x",
            "{\"a\":[1,]}", "{\"a\":1,\"a\":2}", "{\"b\":{\"c\":1,\"c\":2}}", "{\"a\":1e999}",
            "{\"b\":\"\\ud800\"}", "{\"b\":\(deep)}", "[1", "{\"_id\":1,\"_id\":2}",
        ] {
            let expected = #expect(throws: JSONError.self, "\(text)") { try Value(json: text) }
            let found = #expect(throws: JSONError.self, "\(text)") {
                try encode(&encoder, text, "_id", NameTable())
            }
            #expect(found == expected, "\(text)")
        }
        for (text, column) in [("[1]", 1), (" 5", 2), ("null", 1), ("\"a\"", 1)] {
            let error = #expect(throws: JSONError.self) {
                try encode(&encoder, text, "_id", NameTable())
            }
            #expect(error?.reason == .expected("an object") && error?.column == column)
        }
        let bytes = Array("{\"a\":\"".utf8) + [0xFF] + Array("\"}".utf8)
        let error = #expect(throws: JSONError.self) {
            try bytes.withUnsafeBytes { bytes in
                _ = try encoder.encode(json: bytes, idName: [], NameTable())
            }
        }
        #expect(error?.reason == .invalidText && error?.column == 7)
        // After errors the encoder is usable.
        #expect(try encode(&encoder, "{\"_id\":1,\"b\":2}", "_id", NameTable()) == 1)
        #expect(document(encoder) == (try Insertion.document(["b": 2], at: stamp, NameTable())))
    }

    @Test func `a field _id beside the one that becomes the id is reported`() throws {
        var encoder = NewDocumentEncoder()
        #expect(try encode(&encoder, "{\"sku\":1,\"_id\":2}", "sku", NameTable()) == 1)
        var hasOtherID = encoder.hasOtherID
        #expect(hasOtherID)
        #expect(try encode(&encoder, "{\"sku\":1,\"a\":{\"_id\":2}}", "sku", NameTable()) == 1)
        hasOtherID = encoder.hasOtherID
        #expect(!hasOtherID)
        let expected = try Insertion.document(["a": ["_id": 2]], at: stamp, NameTable())
        #expect(document(encoder) == expected)
    }

    @Test(arguments: [UInt64](1...4))
    func `damaged JSON never traps`(_ seed: UInt64) {
        var random = RandomValue(seed: seed, "damaged")
        var encoder = NewDocumentEncoder()
        for _ in 0..<2_000 {
            var bytes = Array(Value.object(random.object(depth: 4)).json.utf8)
            for _ in 0...random.random.below(3) where !bytes.isEmpty {
                let index = random.random.below(bytes.count)
                switch random.random.below(3) {
                case 0: bytes[index] = UInt8(truncatingIfNeeded: random.random.next())
                case 1: bytes.removeSubrange(index...)
                default: bytes.insert(contentsOf: "{[\"\\,:}]".utf8, at: index)
                }
            }
            let isValid =
                (try? Value(jsonBytes: bytes)).map { value in
                    if case .object = value { true } else { false }
                } ?? false
            let isEncoded = bytes.withUnsafeBytes { bytes in
                do {
                    _ = try encoder.encode(json: bytes, idName: Array("_id".utf8), NameTable())
                    return true
                } catch {
                    return false
                }
            }
            #expect(isEncoded == isValid, "seed \(seed): \(String(decoding: bytes, as: UTF8.self))")
        }
    }
}
