import SheafDocument
import SheafEngine
import SheafStatements
import SheafStorage
import SheafTestSupport
import SheafTransfer
import Testing

/// The limit of bad rows, which the source finds when it reads rows, or the store when it writes
/// them.
@Suite struct BadRowLimitTests {
    private enum Row {
        case good
        /// A row that is no object.
        case malformed
        /// A row that would set a counter.
        case refused

        var isBad: Bool { self != .good }
    }

    @Test(arguments: [UInt64](1...10))
    func `an import ends with the first bad row beyond the limit, whatever its kind`(
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
            options.conflict = .merge
            options.resumes = next > 0
            let limit = random.below(1 + min(total, 20))
            // The last run has no limit.
            let isLimited = random.chance(5, in: 6)
            options.badRowLimit = isLimited ? UInt64(limit) : .max
            let report = try fixture.run(path, isArray ? .json : .jsonl, CSVOptions(), options)
            let bad = rows[next...].indices.filter { rows[$0].isBad }
            let isStopped = isLimited && bad.count > limit
            let end = isStopped ? bad[limit] + 1 : count
            let expected = bad.filter { $0 < end }
            #expect(report.isStopped == isStopped, "seed \(seed)")
            #expect(report.badRowCount == UInt64(expected.count), "seed \(seed)")
            #expect(
                report.badRows.map(\.row)
                    == expected.prefix(ImportReport.maximumListed).map { UInt64($0 + 1) },
                "seed \(seed)")
            #expect(report.position.row == UInt64(end + 1), "seed \(seed)")
            total -= expected.count
            next = end
            let found = try fixture.documents().compactMap { document -> Int64? in
                guard case .integer(let row)? = document["row"] else { return nil }
                return row
            }
            let good = (0..<end).filter { !rows[$0].isBad }
            // Runs that begin in one millisecond may give ids in any order.
            #expect(found.sorted() == good.map { Int64($0) }, "seed \(seed)")
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
