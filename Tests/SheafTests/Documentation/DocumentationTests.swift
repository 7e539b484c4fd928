import SheafTestSupport
import Testing

/// The code examples of the documentation, each of which must be part of a test.
///
/// `ReadmeTests` runs those of the README.
struct DocumentationTests {
    private static let catalogs = [
        "Sources/Sheaf/Sheaf.docc", "Sources/SheafNetwork/SheafNetwork.docc",
        "Sources/DittoNames/DittoNames.docc", "Sources/SheafInspector/SheafInspector.docc",
        "Sources/SheafHub/SheafHub.docc",
    ]

    /// The pages of all catalogs.
    private static func pages() throws -> [String] {
        try catalogs.flatMap { catalog in
            try ProjectFile.names(in: catalog).filter { $0.hasSuffix(".md") }.sorted()
                .map { "\(catalog)/\($0)" }
        }
    }

    private static let examples = [
        "Tests/SheafTests/Documentation/DocumentationExampleTests.swift",
        "Tests/SheafTests/Documentation/TaskExampleTests.swift",
        "Tests/SheafTests/Documentation/TypedCallExampleTests.swift",
        "Tests/DittoNamesTests/DocumentedNamesTests.swift",
        "Tests/SheafHubTests/DocumentedHubTests.swift",
        "Tests/SheafInspectorTests/DocumentedInspectorTests.swift",
        "Tests/SheafNetworkTests/DocumentedNetworkTests.swift",
        "Tests/SheafNetworkTests/PointOfSaleTests.swift",
    ]

    /// Returns the lines of each Swift block of a page, without indentation.
    private static func blocks(of page: String) throws -> [[Substring]] {
        var blocks: [[Substring]] = []
        var isInside = false
        for line in try ProjectFile.text(page).split(separator: "\n") {
            if line == "```swift" {
                isInside = true
                blocks.append([])
            } else if line.hasPrefix("```") {
                isInside = false
            } else if isInside {
                blocks[blocks.count - 1].append(line.drop { $0 == " " })
            }
        }
        return blocks
    }

    @Test(arguments: try pages()) func `each example of a page is part of a test`(page: String)
        throws
    {
        let code = try Self.examples.map { try ProjectFile.text($0) }.joined(separator: "\n")
            .split(separator: "\n").map { $0.drop { $0 == " " } }
        for block in try Self.blocks(of: page) {
            let isPresent = code.indices.contains { code[$0...].starts(with: block) }
            #expect(isPresent, "\(page): \(block.joined(separator: "\n"))")
        }
    }

    @Test func `typed calls take at most half the lines that statements take`() throws {
        let blocks = try Self.blocks(of: "Sources/Sheaf/Sheaf.docc/Tasks.md").dropFirst(2)
        #expect(blocks.count == 30)
        let typed = blocks.enumerated().filter { $0.offset.isMultiple(of: 2) }
        let lines = typed.reduce(0) { $0 + $1.element.count }
        let all = blocks.reduce(0) { $0 + $1.count }
        #expect(2 * lines <= all - lines, "\(lines) lines against \(all - lines)")
    }

    @Test func `each page of a catalog belongs to a topic of its landing page`() throws {
        for catalog in Self.catalogs {
            let name = catalog.split(separator: "/")[1]
            let landing = try ProjectFile.text("\(catalog)/\(name).md")
            for page in try ProjectFile.names(in: catalog)
            where page.hasSuffix(".md") && page != "\(name).md" {
                #expect(landing.contains("- <doc:\(page.dropLast(3))>"), "\(catalog)/\(page)")
            }
        }
    }
}
