import Sheaf
import SheafTestSupport
import Testing

/// The README, whose program must print what is written below it.
@Suite struct ReadmeTests {
    /// A block of code of the README.
    private struct Block {
        var language: Substring
        var lines: [Substring] = []

        var text: String { lines.map { $0 + "\n" }.joined() }
    }

    private func blocks() throws -> [Block] {
        var blocks: [Block] = []
        var isInside = false
        let text = try ProjectFile.text("README.md")
        for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
            if line.hasPrefix("```") {
                if !isInside { blocks.append(Block(language: line.dropFirst(3))) }
                isInside.toggle()
            } else if isInside {
                blocks[blocks.count - 1].lines.append(line)
            }
        }
        return blocks
    }

    @Test func `the program prints what the README shows, and again when it runs again`() throws {
        let blocks = try blocks()
        let program = try #require(blocks.first { $0.lines.first == "import Sheaf" })
        let output = try #require(blocks.first { $0.language == "text" })
        #expect(program.lines.count { !$0.isEmpty } <= 30)
        let outside = OutsideProgram()
        for _ in 1...2 {
            let outcome = try outside.compileAndRun(program.text)
            #expect(outcome.status == 0)
            #expect(outcome.text == output.text)
        }
    }

    @Test func `the manifest names the current version, and products of this package`() throws {
        let blocks = try blocks()
        let manifest = try #require(
            blocks.first { $0.lines.first?.hasPrefix("// swift-tools-version") == true }
        ).text
        #expect(manifest.contains("from: \"\(SheafVersion.current)\""))
        let package = try ProjectFile.text("Package.swift")
        #expect(manifest.hasPrefix(package.prefix { $0 != "\n" }))
        let products = manifest.matches(of: /\.product\(name: "(\w+)"/).map(\.output.1)
        #expect(products == ["Sheaf"])
        for product in products + ["SheafNetwork", "DittoNames"] {
            #expect(package.contains(".library(name: \"\(product)\""))
            #expect(try ProjectFile.text("README.md").contains("`\(product)`"))
        }
    }
}
