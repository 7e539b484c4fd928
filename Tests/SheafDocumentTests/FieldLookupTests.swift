import SheafBytes
import SheafDocument
import SheafDocumentModel
import SheafTestSupport
import Testing

/// Tests of objects with few and many fields, whose names are numbered or spelled out.
@Suite struct FieldLookupTests {
    private let stamp = Stamp(HybridTime(rawValue: 5), Site(rawValue: 7))
    private static let names = (0..<300).map { "name \($0)" }

    /// Returns some of the names in random order.
    private func draw(_ count: Int, _ random: inout SeededRandom) -> [String] {
        Array(Self.names.shuffled(using: &random).prefix(count))
    }

    /// Returns a JSON text with the fields in the given order; the value is the position.
    private func json(_ names: [String]) -> String {
        let fields = names.enumerated().map { "\"\($0.element)\":\($0.offset)" }
        return "{" + fields.joined(separator: ",") + "}"
    }

    @Test(arguments: [0, 1, 2, 7, 8, 9, 15, 16, 17, 24, 25, 40, 255, 256, 300])
    func `each field of an object is found by its name`(count: Int) throws {
        var random = SeededRandom(seed: UInt64(count), "lookups")
        for numbered in [0, 10, 250, 300] {
            let table = try #require(NameTable(draw(numbered, &random)))
            let chosen = draw(count, &random)
            var model: [String: Value] = [:]
            for (index, name) in chosen.enumerated() { model[name] = .integer(Int64(index)) }
            let object = Object(model.map { ($0.key, $0.value) })
            let bytes = try Insertion.document(object, at: stamp, table)
            try bytes.withUnsafeBytes { bytes in
                let document = try EncodedDocument(bytes)
                try document.validate(table)
                try document.validateThoroughly(table)
                let fields = try #require(try document.fields())
                #expect(fields.count == count)
                #expect(try fields.value(table) == object)
                let wrong = try Self.names.filter { name in
                    let entry = try fields.find(FieldName(name, in: table))
                    let found = try entry?.value(table)
                    return try found != model[name] || fields.value(of: name, table) != found
                }
                #expect(wrong == [], "\(numbered) of \(count) names")
            }
            var encoder = NewDocumentEncoder()
            let found = encoder.document(json: json(chosen), table)
            let document = try #require(found)
            #expect(document.state(at: stamp).bytes == bytes)
        }
    }

    @Test(arguments: [2, 3, 24, 25, 26, 60])
    func `a name that occurs twice is found in an object of any size`(count: Int) throws {
        var random = SeededRandom(seed: UInt64(count), "duplicates")
        var encoder = NewDocumentEncoder()
        for numbered in [0, 20, 300] {
            let table = try #require(NameTable(draw(numbered, &random)))
            var chosen = draw(count - 1, &random)
            let twice = chosen[random.below(chosen.count)]
            chosen.insert(twice, at: random.below(count))
            let text = json(chosen)
            let expected = #expect(throws: JSONError.self) { try Value(json: text) }
            let error = #expect(throws: JSONError.self) {
                try Array(text.utf8).withUnsafeBytes { bytes in
                    _ = try encoder.encode(json: bytes, idName: [], table)
                }
            }
            #expect(error == expected)
            #expect(error?.reason == .duplicateName(twice))
        }
    }

    @Test func `documents are written as JSON in the order of their names, with their id`() throws {
        var random = RandomValue(seed: 61, "JSON")
        for round in 0..<250 {
            var object = Object(
                (0..<random.random.below(12)).map { _ in
                    (random.string(), random.value(depth: 2))
                })
            let idName = random.string()
            object[idName] = nil
            let count = random.random.below(RandomValue.strings.count + 1)
            let numbered = RandomValue.strings.shuffled(using: &random.random).prefix(count)
            let table = try #require(NameTable(Array(numbered)))
            var document = BytesDocument(nil, table)
            document.insert(object, stamp: stamp)
            if let removed = object.first?.name, random.random.chance(1, in: 3) {
                let later = Stamp(HybridTime(rawValue: 9), Site(rawValue: 8))
                document.apply([.unset(path: [removed])], stamp: later)
                object[removed] = nil
            }
            let id = random.value(depth: 1)
            var whole = object
            whole[idName] = id
            let text = try #require(document.bytes).withUnsafeBytes { bytes in
                let fields = try #require(try EncodedDocument(bytes).fields())
                var writer = JSONWriter()
                let texts = JSONNames(table, idName: idName)
                try writer.write(fields, id: id, idName: idName, texts, table)
                return String(decoding: writer.bytes, as: UTF8.self)
            }
            #expect(text == Value.object(whole).json, "round \(round)")
        }
    }
}
