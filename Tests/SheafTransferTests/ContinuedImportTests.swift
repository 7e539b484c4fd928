import SheafDocument
import SheafTestSupport
import SheafTransfer
import Testing

/// Imports that ended at bad rows and continue with the same or with changed rows.
@Suite struct ContinuedImportTests {
    @Test(arguments: [UInt64](1...12))
    func `an import continues only if all bytes that it had read are the same`(
        _ seed: UInt64
    ) throws {
        var random = SeededRandom(seed: seed, "bytes")
        let format = ImportFormat.allCases[Int(seed) % ImportFormat.allCases.count]
        let fixture = try ImportFixture()
        let count = 2 + random.below(3 * ImportBatch.maximumRows)
        let bad = Set([random.below(count), random.below(count)])
        let bytes = Self.bytes(count, bad: bad, format)
        var options = ImportOptions()
        options.badRowLimit = 0
        var (good, next) = (0, 0)
        for row in bad.sorted() {
            let path = try fixture.file("rows", bytes)
            let report = try fixture.run(path, format, CSVOptions(), options)
            #expect(report.isStopped && report.importedCount == UInt64(row - next), "seed \(seed)")
            (good, next, options.resumes) = (good + row - next, row + 1, true)
            let read = Int(report.position.offset)
            for _ in 0..<8 {
                var changed = bytes
                let index = random.chance(1, in: 3) ? read - 1 : random.below(read)
                changed[index] = changed[index] ^ UInt8(1 << random.below(7))
                let path = try fixture.file("rows", changed)
                #expect(throws: ImportError.self, "seed \(seed), byte \(index)") {
                    try fixture.run(path, format, CSVOptions(), options)
                }
            }
            #expect(try fixture.documentCount() == good, "seed \(seed)")
        }
        let report = try fixture.run(fixture.file("rows", bytes), format, CSVOptions(), options)
        #expect(report.importedCount == UInt64(count - next), "seed \(seed)")
        #expect(report.earlierBadRowCount == bad.count && !report.isStopped, "seed \(seed)")
        var found: [Int64] = []
        for document in try fixture.documents() {
            guard case .integer(let row)? = document["row"] else { continue }
            found.append(row)
        }
        let all = (0..<count).filter { !bad.contains($0) }.map { Int64($0) }
        #expect(found.sorted() == all, "seed \(seed)")
    }

    private static func bytes(_ count: Int, bad: Set<Int>, _ format: ImportFormat) -> [UInt8] {
        let rows = (0..<count).map { row in
            switch format {
            case .csv: bad.contains(row) ? "1,2" : "\(row)"
            case .json, .jsonl: bad.contains(row) ? "[]" : "{\"row\":\(row)}"
            }
        }
        let text =
            switch format {
            case .csv: "row\n" + rows.joined(separator: "\n")
            case .json: "[\(rows.joined(separator: ",\n"))]"
            case .jsonl: rows.joined(separator: "\n")
            }
        return Array(text.utf8)
    }
}
