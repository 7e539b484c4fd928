import Foundation
import SheafTestSupport
import Testing

/// The map of the sources, compared with the sources.
@Suite struct MapTests {
    private static let map = "Sources/README.md"
    private static let pages = [
        map, "Sources/Internals.md", "Sources/Decisions.md", "Sources/OpenEnds.md",
    ]

    /// The names of the Swift files of the project, and the types that they declare.
    private struct Sources {
        let files: Set<String>
        let types: Set<String>

        init() throws {
            let all = try MapTests.files(below: "Sources") + MapTests.files(below: "Tests")
            let swift = all.filter { $0.path.hasSuffix(".swift") }
            files = Set(swift.map(\.lastPathComponent))
            types = Set(try swift.flatMap { Self.types(in: Array(try Data(contentsOf: $0))) })
        }

        private static let keywords: Set<String> = [
            "struct", "class", "enum", "protocol", "typealias", "actor",
        ]

        /// Returns the words with a capital that follow a keyword and a space.
        ///
        /// A regular expression would take seconds for all files.
        private static func types(in code: [UInt8]) -> [String] {
            code.withUnsafeBytes { code in
                var types: [String] = []
                var index = 1
                while index < code.count {
                    let start = index
                    index += 1
                    guard code[start] >= 0x41, code[start] <= 0x5A, code[start - 1] == 0x20 else {
                        continue
                    }
                    var word = start - 1
                    while word > 0, code[word - 1] >= 0x61, code[word - 1] <= 0x7A { word -= 1 }
                    // The shortest keyword has four letters.
                    guard start - 1 - word >= 4 else { continue }
                    let keyword = String(decoding: code[word..<start - 1], as: UTF8.self)
                    guard keywords.contains(keyword) else { continue }
                    while index < code.count, isInName(code[index]) { index += 1 }
                    types.append(String(decoding: code[start..<index], as: UTF8.self))
                }
                return types
            }
        }

        private static func isInName(_ byte: UInt8) -> Bool {
            byte >= 0x61 && byte <= 0x7A || byte >= 0x41 && byte <= 0x5A
                || byte >= 0x30 && byte <= 0x39 || byte == UInt8(ascii: "_")
        }
    }

    /// Read once for all pages.
    private static let sources = Result { try Sources() }

    private static func files(below folder: String) throws -> [URL] {
        let root = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../../../\(folder)").standardizedFileURL
        let files = try #require(FileManager.default.enumerator(atPath: root.path))
        return files.compactMap { $0 as? String }.map { root.appending(path: $0) }
    }

    /// Returns the texts between pairs of backticks.
    private func quoted(in text: String) -> [Substring] {
        let parts = text.split(separator: "`", omittingEmptySubsequences: false)
        return parts.indices.filter { $0 % 2 == 1 }.map { parts[$0] }
    }

    @Test(arguments: pages) func `each file and type that a page names exists`(
        page: String
    ) throws {
        let sources = try Self.sources.get()
        let targets = try Set(ProjectFile.names(in: "Sources"))
        var count = 0
        for word in quoted(in: try ProjectFile.text(page)) {
            if word.hasSuffix(".swift") {
                let name = word.split(separator: "/").last.map(String.init) ?? ""
                guard name != "VERBCommand.swift" else { continue }
                #expect(sources.files.contains(name), "there is no file \(word)")
                count += 1
            } else if let match = word.wholeMatch(of: /([A-Z]\w*)(\.\w+)?/) {
                let name = String(match.output.1)
                guard name.contains(where: \.isLowercase) else { continue }
                #expect(
                    sources.types.contains(name) || targets.contains(name)
                        || ["Any", "Array", "Int", "Int64", "NSNumber", "String"].contains(name),
                    "there is no type \(word)")
                count += 1
            }
        }
        #expect(count > (page == Self.map ? 80 : 5))
    }

    @Test func `each folder that the map names exists`() throws {
        let files = try Self.files(below: "Sources").map(\.path)
        for word in quoted(in: try ProjectFile.text(Self.map)) where word.hasSuffix("/") {
            guard !word.contains("."), word != "format-spec/", word != "Benchmarks/" else {
                continue
            }
            #expect(files.contains { $0.contains("/\(word)") }, "there is no folder \(word)")
        }
    }

    @Test func `the map has at most 250 lines, and each walk at most ten steps`() throws {
        let lines = try ProjectFile.text(Self.map).split(
            separator: "\n", omittingEmptySubsequences: false)
        #expect(lines.count <= 250)
        let walks = lines.drop { $0 != "## Walks" }.prefix { $0 != "## Tests" }
        let steps = walks.split { $0.hasPrefix("### ") }.map {
            $0.count { $0.first?.isNumber == true }
        }
        #expect(steps.dropFirst().count == 4)
        #expect(steps.allSatisfy { $0 <= 10 })
    }

    @Test func `the map links to pages that exist, and the glossary has at most 60 lines`() throws {
        let pages = try ProjectFile.names(in: "Sources")
        for hyperlink in try ProjectFile.text(Self.map).matches(of: /\]\((\w+\.md)\)/) {
            #expect(pages.contains(String(hyperlink.output.1)))
        }
        let glossary = try ProjectFile.text("Sources/Glossary.md").split(
            separator: "\n", omittingEmptySubsequences: false)
        #expect(glossary.count <= 61)
    }
}
