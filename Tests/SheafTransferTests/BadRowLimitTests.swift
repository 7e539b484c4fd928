import SheafDocument
import SheafEngine
import SheafStatements
import SheafStorage
import SheafTestSupport
import SheafTransfer
import Testing

/// The rows at which an import ends: bad ones beyond the limit, which the source finds when it
/// reads rows or the store when it writes them, and rows whose `_id` is in use.
@Suite struct BadRowLimitTests {
    private enum Row {
        case good
        /// A row that is no object.
        case malformed
        /// A row with the `_id` of a document, in which it would set a counter.
        case refused

        var isBad: Bool { self != .good }
    }

    @Test(arguments: [UInt64](1...10))
    func `an import ends after the bad row beyond its limit, or before an id in use`(
        _ seed: UInt64
    ) throws {
        var random = SeededRandom(seed: seed, "rows")
        let fixture = try ImportFixture()
        try insertCounter(fixture)
        let count = 1 + random.below(3 * ImportBatch.maximumRows)
        let period = [3, 50, 2_000, 20_000][random.below(4)]
        let rows = (0..<count).map { _ in
            random.chance(1, in: period) ? [Row.malformed, .refused][random.below(2)] : .good
        }
        let isArray = random.chance(1, in: 2)
        let texts = rows.enumerated().map { Self.text($1, $0) }
        let text =
            isArray
            ? "[\(texts.joined(separator: random.chance(1, in: 2) ? "," : ",\n"))]"
            : texts.joined(separator: "\n")
        let path = try fixture.file("rows", Array(text.utf8))
        var (next, total) = (0, rows.count { $0.isBad })
        while next < count {
            var options = ImportOptions()
            options.conflict = random.chance(1, in: 2) ? .merge : .fail
            options.resumes = next > 0
            let limit = random.below(1 + min(total, 20))
            // The last run has no limit.
            let isLimited = random.chance(5, in: 6)
            options.badRowLimit = isLimited ? UInt64(limit) : .max
            let expected = Outcome(rows, from: next, options)
            let source = try ImportFile.open(path, isArray ? .json : .jsonl, CSVOptions())
            var seen: ImportReport?
            let run = try ImportRun(source, into: fixture.target, options)
            let result = Result { () throws(ImportError) in try run.run { seen = $0 } }
            let report = try (try? result.get()) ?? #require(seen)
            expected.check(result, report, isArray ? "value" : "line", seed)
            total -= expected.bad.count
            next = expected.end
            let found = try fixture.documents().compactMap { document -> Int64? in
                guard case .integer(let row)? = document["row"] else { return nil }
                return row
            }
            let good = (0..<next).filter { !rows[$0].isBad }
            // Runs that begin in one millisecond may give ids in any order.
            #expect(found.sorted() == good.map { Int64($0) }, "seed \(seed)")
        }
    }

    /// The expected end of an import of the rows from one on.
    private struct Outcome {
        /// The row whose id is in use, which ends the import.
        var used: Int?
        /// The bad rows up to the end.
        var bad: [Int]
        var isStopped = false
        /// The row after the last one that is imported or bad.
        var end: Int

        init(_ rows: [Row], from next: Int, _ options: ImportOptions) {
            let rest = rows[next...]
            used = options.conflict == .fail ? rest.firstIndex { $0 == .refused } : nil
            end = used ?? rows.count
            bad = rows[next..<end].indices.filter { rows[$0].isBad }
            guard bad.count > options.badRowLimit else { return }
            bad = Array(bad.prefix(Int(options.badRowLimit) + 1))
            (end, isStopped, used) = (bad[bad.count - 1] + 1, true, nil)
        }

        func check(
            _ result: Result<ImportReport, ImportError>, _ report: ImportReport, _ name: String,
            _ seed: UInt64
        ) {
            switch (result, used) {
            case (.success, nil): break
            case (.failure(.source(let text)), let used?):
                #expect(text.hasPrefix("rows, \(name) \(used + 1): there is a document with"))
            default: Issue.record("\(result) with the refused row \(used ?? -1), seed \(seed)")
            }
            #expect(report.isStopped == isStopped, "seed \(seed)")
            #expect(report.badRowCount == UInt64(bad.count), "seed \(seed)")
            let listed = bad.prefix(ImportReport.maximumListed).map { UInt64($0 + 1) }
            #expect(report.badRows.map(\.row) == listed, "seed \(seed)")
            #expect(report.position.row == UInt64(end + 1), "seed \(seed)")
        }
    }

    private static func text(_ row: Row, _ index: Int) -> String {
        switch row {
        case .good: "{\"row\":\(index)}"
        case .malformed: "[\(index)]"
        case .refused: "{\"_id\":\"counter\",\"n\":\(index)}"
        }
    }

    private func insertCounter(_ fixture: ImportFixture) throws {
        _ = try fixture.queries.documents.write(
            from: nil, append: { batch throws(StorageError) in try fixture.log.append(batch) }
        ) { transaction throws(EngineError) in
            _ = try transaction.apply(DocumentChange("t", "counter", .insert(Object())))
            _ = try transaction.apply(
                DocumentChange("t", "counter", .edit([.increment(path: ["n"], by: .integer(1))])))
        }
    }
}
