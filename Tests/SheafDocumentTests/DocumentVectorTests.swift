import SheafBytes
import SheafDocument
import SheafDocumentModel
import SheafTestSupport
import Testing

/// The vectors of `format-spec/documents.md`, created by an encoder in another language.
@Suite struct DocumentVectorTests {
    private let vectors: FormatVectors

    init() throws {
        vectors = try FormatVectors("documents.txt")
    }

    private func names(_ name: String) throws -> NameTable {
        try vectors.nameTable("\(name).names")
    }

    private func lines(_ name: String) throws -> [String] {
        guard vectors.has(name) else { return [] }
        let text = try vectors.bytes(name)
        return text.split(separator: 0x0A).map { String(decoding: $0, as: UTF8.self) }.sorted()
    }

    /// Checks a document against its vectors.
    private func check(_ bytes: [UInt8], _ name: String, _ names: NameTable) throws {
        try bytes.withUnsafeBytes { bytes in
            let document = try EncodedDocument(bytes)
            try document.validate(names)
            let text = try DocumentText(document, names)
            #expect(text.vector == (try lines("\(name).vector")), "\(name)")
            #expect(text.base == (try lines("\(name).base")), "\(name)")
            #expect(text.deletion == (try lines("\(name).deletion")), "\(name)")
            #expect(text.dots == (try lines("\(name).dots")), "\(name)")
            #expect(text.overrides == (try lines("\(name).overrides")), "\(name)")
            if document.isPartial {
                #expect(text.named == (try lines("\(name).named")), "\(name)")
            } else if vectors.has("\(name).json") {
                let json = try Value(jsonBytes: try vectors.bytes("\(name).json"))
                #expect(try document.value(names).map(Value.object)?.json == json.json, "\(name)")
                var writer = JSONWriter()
                try writer.write(document, names)
                #expect(String(decoding: writer.bytes, as: UTF8.self) == json.json, "\(name)")
            }
            if vectors.has("\(name).tombstone") { #expect(try !document.exists(), "\(name)") }
        }
    }

    @Test func `documents decode as specified`() throws {
        var count = 0
        for name in vectors.cases where vectors.has("\(name).document") {
            count += 1
            try check(try vectors.bytes("\(name).document"), name, try names(name))
        }
        #expect(count >= 87)
    }

    @Test func `seeds are encoded as specified`() throws {
        for name in ["seeds", "seed-token"] {
            guard case .object(let object) = try Value(jsonBytes: vectors.bytes("\(name).json"))
            else {
                Issue.record("\(name) is not an object")
                continue
            }
            let bytes = try Insertion.initial(object, NameTable())
            #expect(bytes == (try vectors.bytes("\(name).document")), "\(name)")
        }
    }

    @Test func `documents join as specified, in either order`() throws {
        var count = 0
        for name in vectors.cases where vectors.has("\(name).joined") {
            count += 1
            let names = try names(name)
            let left = try vectors.bytes("\(name).left")
            let right = try vectors.bytes("\(name).right")
            let joined = try vectors.bytes("\(name).joined")
            #expect(BytesDocument.joined(left, right, names) == joined, "\(name)")
            #expect(BytesDocument.joined(right, left, names) == joined, "\(name)")
            #expect(BytesDocument.joined(joined, right, names) == joined, "\(name)")
            #expect(BytesDocument.joined(joined, joined, names) == joined, "\(name)")
            try check(joined, name, names)
        }
        #expect(count >= 69)
    }

    @Test func `an invalid document is refused`() throws {
        var count = 0
        for name in vectors.cases where vectors.has("\(name).refused") {
            count += 1
            let names = try names(name)
            let bytes = try vectors.bytes("\(name).refused")
            #expect(throws: Malformed.self, "\(name)") {
                try bytes.withUnsafeBytes { try EncodedDocument($0).validate(names) }
            }
        }
        #expect(count >= 182)
    }
}

/// A document in the text format of `format-spec/documents.md`, "Vectors".
private struct DocumentText {
    private(set) var vector: [String] = []
    private(set) var base: [String] = []
    private(set) var deletion: [String] = []
    private(set) var dots: [String] = []
    private(set) var overrides: [String] = []
    private(set) var named: [String] = []

    init(_ document: EncodedDocument, _ names: NameTable) throws {
        vector = try document.vector().entries.map { "\($0.time.rawValue)@\($0.site.rawValue)" }
            .sorted()
        base = try document.baseVector().entries.map {
            "\($0.time.rawValue)@\($0.site.rawValue)"
        }.sorted()
        deletion = try document.deletion().map { [Self.text($0)] } ?? []
        try DotWalk.visit(document, names) { item in
            let path = item.path.isEmpty ? "." : item.path.map { "/" + Self.escaped($0) }.joined()
            switch item.kind {
            case .overrides(let parts): overrides += Self.lines(path, parts)
            case .empty, .named: break
            default: dots.append(Self.line(path, item))
            }
            for line in Self.namedLines(path, item) where !named.contains(line) {
                named.append(line)
            }
        }
        // A named map includes its marks.
        let marks = named.filter { $0.hasSuffix(" map") }.map { String($0.dropLast(4)) + " marks" }
        named.removeAll { marks.contains($0) }
        dots.sort()
        overrides.sort()
        named.sort()
    }

    private static func namedLines(_ path: String, _ item: DotWalk.Item) -> [String] {
        switch item.kind {
        case .empty(let parts), .named(let parts): lines(path, parts)
        case .overrides: []
        case .mark: item.isInPartialMap ? ["\(path) marks"] : []
        default:
            item.isInPartialMap ? lines(path, PartSet(item.part)) : []
        }
    }

    private static func lines(_ path: String, _ parts: PartSet) -> [String] {
        Part.allCases.filter { parts.isSuperset(of: PartSet($0)) }.map { "\(path) \(name($0))" }
    }

    private static func name(_ part: Part) -> String {
        part == .olderCounter ? "older" : "\(part)"
    }

    private static func line(_ path: String, _ item: DotWalk.Item) -> String {
        let kind =
            switch item.kind {
            case .olderSum: "sum"
            default: "\(item.kind)"
            }
        var words = [path, name(item.part), kind, item.stamp.map(text) ?? ""]
        if let epoch = item.epoch { words.append(text(epoch)) }
        if let value = item.value { words.append(text(value)) }
        return words.joined(separator: " ")
    }

    private static func text(_ stamp: Stamp) -> String {
        stamp == .initial ? "initial" : "\(stamp.time.rawValue)@\(stamp.site.rawValue)"
    }

    private static func text(_ value: Value) -> String {
        switch value {
        case .null: "null"
        case .bool(let value): "\(value)"
        case .integer(let value): "\(value)"
        case .float(let value):
            "f"
                + (0..<8).reversed().map { hexadecimal(UInt8(value.bitPattern >> ($0 * 8) & 0xFF)) }
                .joined()
        case .string(let value): "s" + escaped(value)
        case .bytes(let value): "b" + value.map(hexadecimal).joined()
        case .array(let values): "[" + values.map(text).joined(separator: ",") + "]"
        case .object(let object):
            "{" + object.map { escaped($0.name) + "=" + text($0.value) }.joined(separator: ",")
                + "}"
        }
    }

    private static func escaped(_ name: String) -> String {
        Array(name.utf8).map { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
                String(UnicodeScalar(byte))
            default: "%" + hexadecimal(byte)
            }
        }.joined()
    }

    private static func hexadecimal(_ byte: UInt8) -> String {
        (byte < 16 ? "0" : "") + String(byte, radix: 16)
    }
}
