import Foundation
import Testing

/// The names of all tests, which are sentences.
enum TestSentences {
    /// Returns the sentences of each suite.
    static func bySuite() throws -> [String: Set<String>] {
        let root = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../..").standardizedFileURL
        let paths = try #require(FileManager.default.enumerator(atPath: root.path))
        var result: [String: Set<String>] = [:]
        for path in paths.compactMap({ $0 as? String }) where path.hasSuffix(".swift") {
            let text = try String(contentsOf: root.appending(path: path), encoding: .utf8)
            var suite = ""
            for line in text.utf8.split(separator: UInt8(ascii: "\n")) {
                let line = Substring(line)
                if let name = suiteName(line) {
                    suite = name
                } else if let start = line.firstRange(of: "func `")?.upperBound {
                    result[suite, default: []].insert(String(line[start...].prefix { $0 != "`" }))
                }
            }
        }
        return result
    }

    /// Returns the name of the suite that a line begins.
    private static func suiteName(_ line: Substring) -> String? {
        // A suite may be in the extension of another one.
        let code = line.drop { $0 == " " }
        guard code.startIndex == line.startIndex || code.hasPrefix("@Suite"),
            !code.hasPrefix("/")
        else { return nil }
        let words = code.split(separator: " ")
        guard
            let kind = words.dropLast().firstIndex(where: {
                ["actor", "class", "enum", "extension", "struct"].contains($0)
            })
        else { return nil }
        return String(words[kind + 1].prefix { $0.isLetter || $0.isNumber || $0 == "_" })
    }
}
