import Sheaf
import SheafQuery
import SheafStore
import SheafTestSupport
import Testing

/// The differences that edits of rows amount to, compared with rows that are edited one by one.
@Suite struct RowRunTests {
    private func move(_ from: Int, _ to: Int) -> RowEdit {
        .move(from: from, to: to, isUpdated: false)
    }

    @Test func `of rows that could stay equally well, those stay that come first in the new list`()
    {
        // The old rows in the new order: 1 0, then 1 0 2, then 2 0 3 1.
        #expect(RowRuns.diff([move(0, 1)], count: 2).moves == [Diff.Move(from: 0, to: 1)])
        #expect(RowRuns.diff([move(0, 1)], count: 3).moves == [Diff.Move(from: 0, to: 1)])
        #expect(
            RowRuns.diff([move(2, 0), move(2, 3)], count: 4).moves
                == [Diff.Move(from: 0, to: 1), Diff.Move(from: 1, to: 3)])
    }

    @Test func `more rows stay than move`() {
        #expect(
            RowRuns.diff([move(0, 3)], count: 4)
                == Diff(moves: [Diff.Move(from: 0, to: 3)]))
        #expect(
            RowRuns.diff([.move(from: 3, to: 0, isUpdated: true)], count: 4)
                == Diff(updates: [0], moves: [Diff.Move(from: 3, to: 0)]))
    }

    @Test(arguments: [1, 2, 3, 4] as [UInt64])
    func `edits amount to what they do one by one, with as few moves as possible`(seed: UInt64) {
        var random = SeededRandom(seed: seed, "row runs")
        for round in 0..<80 {
            var rows = EditedRows(count: random.below(9))
            let edits = (0..<random.below(14)).map { _ in rows.edit(&random) }
            let diff = RowRuns.diff(edits, count: rows.count)
            let context = "seed \(seed), round \(round): \(edits)"
            #expect(diff.insertions == rows.insertions, "\(context)")
            #expect(diff.deletions == rows.deletions, "\(context)")
            #expect(diff.updates == rows.updates, "\(context)")
            #expect(rows.problem(of: diff.moves) == nil, "\(context)")
        }
    }
}

/// Rows of a list that is edited, with their indices in the original list.
private struct EditedRows {
    private struct Row {
        /// The index in the original list; nil for a new row.
        let source: Int?
        var isUpdated = false
    }

    private var rows: [Row]
    private var removed: [(id: UInt8, row: Row)] = []

    init(count: Int) {
        rows = (0..<count).map { Row(source: $0) }
    }

    var count: Int { rows.count }

    /// Makes a random edit, and returns it.
    mutating func edit(_ random: inout SeededRandom) -> RowEdit {
        let id = UInt8(random.below(3))
        let isUpdated = random.chance(1, in: 2)
        let choice = rows.isEmpty ? 0 : random.below(4)
        guard choice > 0 else {
            let index = random.below(rows.count + 1)
            rows.insert(returned(id, isUpdated), at: index)
            return .insert(at: index, id: [id], isUpdated: isUpdated)
        }
        let index = random.below(rows.count)
        switch choice {
        case 1:
            let row = rows.remove(at: index)
            if row.source != nil { removed.append((id, row)) }
            return .remove(at: index, id: [id])
        case 2:
            rows[index].isUpdated = true
            return .update(at: index)
        default:
            let target = random.below(rows.count)
            var row = rows.remove(at: index)
            row.isUpdated = row.isUpdated || isUpdated
            rows.insert(row, at: target)
            return .move(from: index, to: target, isUpdated: isUpdated)
        }
    }

    /// Returns the row that was last removed by an id; a new one if there is none.
    private mutating func returned(_ id: UInt8, _ isUpdated: Bool) -> Row {
        guard let last = removed.lastIndex(where: { $0.id == id }) else {
            return Row(source: nil, isUpdated: isUpdated)
        }
        var row = removed.remove(at: last).row
        row.isUpdated = row.isUpdated || isUpdated
        return row
    }

    var insertions: [Int] { rows.indices.filter { rows[$0].source == nil } }

    var updates: [Int] {
        rows.indices.filter { rows[$0].source != nil && rows[$0].isUpdated }
    }

    var deletions: [Int] { removed.compactMap { $0.row.source }.sorted() }

    /// Returns why moves do not lead to these rows, or are too many; nil if they are right.
    func problem(of moves: [Diff.Move]) -> String? {
        var staying = rows.map(\.source)
        var previous = -1
        for move in moves {
            guard move.to > previous, move.to < rows.count else { return "the order of \(moves)" }
            guard let source = rows[move.to].source, source == move.from else {
                return "the source of \(move)"
            }
            staying[move.to] = nil
            previous = move.to
        }
        let kept = staying.compactMap { $0 }
        guard kept == kept.sorted() else { return "rows that stay are out of order: \(kept)" }
        let expected = longestAscending(rows.compactMap(\.source))
        return kept.count == expected ? nil : "\(kept.count) rows stay instead of \(expected)"
    }

    /// Returns the length of the longest ascending subsequence.
    private func longestAscending(_ numbers: [Int]) -> Int {
        var lengths: [Int] = []
        for (index, number) in numbers.enumerated() {
            var longest = 0
            for earlier in 0..<index where numbers[earlier] < number {
                longest = max(longest, lengths[earlier])
            }
            lengths.append(longest + 1)
        }
        return lengths.max() ?? 0
    }
}
