import SheafDocument
import SheafEngine
import SheafNetwork
import SheafQuery
import SheafStatements
import SheafSync
import SheafTestSupport
import Testing

/// The page of limits, compared with the constants of the sources.
@Suite struct DocumentedLimitTests {
    /// A row of the table of limits.
    private struct Row {
        let text: String
        let value: String

        /// Creates a row from a line of the page; nil for the head of a table and other lines.
        init?(_ line: Substring) {
            let cells = line.split(separator: "|").map { $0.drop { $0 == " " } }
            guard line.hasPrefix("| "), cells.count == 3, cells[0] != "limit of " else {
                return nil
            }
            text = String(cells[0].dropLast())
            value = String(cells[1].dropLast())
        }

        /// The numbers in order, without their units: in bytes, nanoseconds or as a count.
        var numbers: [Int] {
            var numbers: [Int] = []
            let words = (text + " " + value).split(separator: " ").map {
                $0.trimming { ";,.()".contains($0) }
            }
            for (index, word) in words.enumerated() {
                guard let number = Int(word.filter { $0 != "," }) else { continue }
                let unit = index + 1 < words.count ? Row.units[String(words[index + 1])] : nil
                numbers.append(number * (unit ?? 1))
            }
            return numbers
        }

        private static let units = [
            "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "ns": 1, "µs": 1_000,
            "s": 1_000_000_000, "minutes": 60_000_000_000, "hours": 3_600_000_000_000,
            "days": 86_400_000_000_000,
        ]
    }

    private static func rows() throws -> [Row] {
        try ProjectFile.text("Sources/Sheaf/Sheaf.docc/Limits.md").split(separator: "\n")
            .compactMap { Row($0) }
    }

    @Test func `the page of limits has the values of the constants`() throws {
        let constants = try DocumentedLimits.all()
        var found: Set<String> = []
        for row in try Self.rows() {
            // The longest key, because one text can begin with another one.
            let keys = constants.keys.filter(row.text.hasPrefix)
            guard let key = keys.max(by: { $0.utf8.count < $1.utf8.count }) else {
                Issue.record("no constants for the limit of \(row.text)")
                continue
            }
            #expect(found.insert(key).inserted, "two rows begin with \(key)")
            #expect(row.numbers == constants[key], "the limit of \(row.text)")
        }
        let missing = constants.keys.filter { !found.contains($0) }.sorted()
        #expect(missing.isEmpty, "limits without a row")
        #expect(found.count > 70)
    }

    @Test func `limits of one thing in several modules are equal`() {
        #expect(QueryLimits.maximumIndexFields == IndexDefinition.maximumFields)
        #expect(IndexDefinition.maximumNameLength == Catalog.maximumCollectionNameLength)
        #expect(PresenceLimits.metadataLength == Greeting.maximumMetadataLength)
        #expect(AttachmentToken.maximumLength == SyncLimits.attachmentLength)
    }

    @Test func `each parameter on the page of limits exists`() throws {
        let page = try ProjectFile.text("Sources/Sheaf/Sheaf.docc/Limits.md")
        let names = page.matches(of: /`([a-z]+(_[a-z]+)+)`/).map { String($0.output.1) }
        #expect(names.count > 10)
        for name in names {
            #expect(DocumentedLimits.parameters.all[name] != nil, "\(name)")
        }
    }
}

extension Substring {
    /// Returns the part without the characters at both ends that satisfy a condition.
    fileprivate func trimming(_ isTrimmed: (Character) -> Bool) -> Substring {
        guard let last = lastIndex(where: { !isTrimmed($0) }) else { return "" }
        return self[...last].drop(while: isTrimmed)
    }
}
