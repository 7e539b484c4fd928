import SheafDocument
import SheafTestSupport
import Testing

/// Translation of documents between name dictionaries.
struct NameTranslationTests {
    private func names(_ count: Int) throws -> NameTable {
        try #require(NameTable((0..<count).map { "name \($0)" }))
    }

    /// Returns a document with an array of objects, each with all names.
    private func document(_ names: NameTable, objects: Int = 1) throws -> [UInt8] {
        var object = Object()
        for number in 0..<names.count {
            object[try #require(names.name(number))] = .integer(Int64(number))
        }
        let all = Value.array(Array(repeating: .object(object), count: objects))
        return try Insertion.initial(["all": all], names)
    }

    @Test func `each unknown name is reported once, in the order of occurrence`() throws {
        let source = try #require(NameTable(["all", "c", "a", "b"]))
        var object = Object()
        for name in ["a", "b", "c"] { object[name] = 1 }
        let bytes = try Insertion.initial(
            ["all": .array([.object(object), .object(object)])], source)
        let translation = NameTranslation(from: source, to: try #require(NameTable(["all", "a"])))
        let unknown = try bytes.withUnsafeBytes {
            try translation.unknownNames(of: try EncodedDocument($0))
        }
        #expect(unknown == ["c", "b"].map { Array($0.utf8) })
    }

    /// The larger count is the number of names that a connection can number.
    @Test func `the time of a translation is linear in the number of names`() throws {
        func microseconds(_ count: Int) throws -> UInt64 {
            let names = try names(count)
            let bytes = try document(names)
            let translation = NameTranslation(from: names)
            var least = UInt64.max
            for _ in 0..<5 {
                let begun = ThreadTime.microseconds()
                let unknown = try bytes.withUnsafeBytes {
                    try translation.unknownNames(of: try EncodedDocument($0))
                }
                least = min(least, ThreadTime.microseconds() - begun)
                #expect(unknown.count == count)
            }
            return least
        }
        let (few, many) = (try microseconds(512), try microseconds(4_096))
        #expect(many < 24 * few, "\(few) and \(many) µs")
    }
}
