import Sheaf
import SheafTestSupport
import Testing

/// The input of a differ for one item of a list.
struct DiffingRow: Equatable, Sendable {
    var version: UInt64
    var id: UInt64
    var content: UInt64

    /// The visible text of the item.
    var label: String { "\(id)=\(content)" }
}

/// The expected diff of two lists, computed by linear searches.
struct DiffingModel {
    let old: [DiffingRow]
    let new: [DiffingRow]
    /// The old index of each new row, nil for insertions.
    private(set) var sources: [Int?]
    /// Indexes of new rows that match no old row by version.
    private(set) var unknown: [Int] = []

    init(_ old: [DiffingRow], _ new: [DiffingRow]) {
        self.old = old
        self.new = new
        sources = Array(repeating: nil, count: new.count)
        var isTaken = Array(repeating: false, count: old.count)
        for index in new.indices where new[index].version != 0 {
            sources[index] = old.indices.first {
                !isTaken[$0] && old[$0].version == new[index].version
            }
            if let source = sources[index] { isTaken[source] = true }
        }
        for index in new.indices where sources[index] == nil {
            unknown.append(index)
            sources[index] = old.indices.first { !isTaken[$0] && old[$0].id == new[index].id }
            if let source = sources[index] { isTaken[source] = true }
        }
    }

    var insertions: [Int] { new.indices.filter { sources[$0] == nil } }

    var deletions: [Int] {
        let kept = Set(sources.compactMap(\.self))
        return old.indices.filter { !kept.contains($0) }
    }

    var updates: [Int] {
        new.indices.filter { index in
            sources[index].map { old[$0].content != new[index].content } ?? false
        }
    }

    /// The minimum number of moves.
    var fewestMoves: Int {
        let kept = sources.compactMap(\.self)
        return kept.count - Self.longestRising(kept)
    }

    private static func longestRising(_ numbers: [Int]) -> Int {
        var lengths: [Int] = []
        for (index, number) in numbers.enumerated() {
            var longest = 0
            for before in 0..<index where numbers[before] < number && lengths[before] > longest {
                longest = lengths[before]
            }
            lengths.append(longest + 1)
        }
        return lengths.max() ?? 0
    }

    /// Checks all guarantees of a diff.
    func check(_ diff: Diff, _ comment: Comment) {
        #expect(diff.insertions == insertions, comment)
        #expect(diff.deletions == deletions, comment)
        #expect(diff.updates == updates, comment)
        #expect(diff.moves.map(\.to) == diff.moves.map(\.to).sorted(), comment)
        #expect(diff.moves.allSatisfy { sources[$0.to] == $0.from }, comment)
        #expect(diff.moves.count == fewestMoves, comment)
        let moved = Set(diff.moves.map(\.to))
        let staying = new.indices.filter { !moved.contains($0) }.compactMap { sources[$0] }
        #expect(zip(staying, staying.dropFirst()).allSatisfy(<), comment)
        Self.checkApplying(diff, old, new, comment)
    }

    /// Checks a diff by applying it to the labels of a list, as an array and as a view.
    static func checkApplying(
        _ diff: Diff, _ old: [DiffingRow], _ new: [DiffingRow], _ comment: Comment
    ) {
        let after = new.map(\.label)
        var labels = old.map(\.label)
        labels.apply(diff, from: after)
        #expect(labels == after, comment)

        let view = BatchUpdateView(old.map(\.label))
        view.performBatchUpdates(showing: after) {
            view.deleteItems(at: diff.deletions)
            view.insertItems(at: diff.insertions)
            view.reloadItems(at: diff.updates)
            for move in diff.moves { view.moveItem(at: move.from, to: move.to) }
        }
        #expect(view.cells == after, comment)
        // Only inserted and updated cells are created.
        #expect(view.madeCount == diff.insertions.count + diff.updates.count, comment)
    }
}

/// A list with random changes.
struct RandomRows {
    private var random: SeededRandom
    private var lastVersion: UInt64 = 0
    private let idCount: Int
    /// The number of rows out of twelve that have no version.
    private let unversioned: Int
    private let maximumCount: Int
    private(set) var rows: [DiffingRow] = []

    /// Creates a list; with few ids, most ids occur in several rows.
    init(seed: UInt64, idCount: Int, unversioned: Int, count: Int) {
        random = SeededRandom(seed: seed, "diffing")
        self.idCount = idCount
        self.unversioned = unversioned
        maximumCount = count * 2
        rows = (0..<count).map { _ in makeRow() }
    }

    private mutating func makeVersion() -> UInt64 {
        if random.chance(unversioned, in: 12) { return 0 }
        lastVersion += 1 + UInt64(random.below(300))
        return lastVersion
    }

    private mutating func makeRow() -> DiffingRow {
        DiffingRow(
            version: makeVersion(), id: UInt64(random.below(idCount)),
            content: UInt64(random.below(3)))
    }

    private mutating func range(upTo length: Int) -> Range<Int> {
        let start = random.below(rows.count + 1)
        return start..<min(rows.count, start + random.below(length + 1))
    }

    /// Applies random changes to the list, most of them short.
    mutating func change() {
        let longest = random.chance(1, in: 4) ? rows.count + 4 : 4
        for _ in 0...random.below(6) { changeOnce(upTo: longest) }
        rows.removeLast(max(rows.count - maximumCount, 0))
    }

    private mutating func changeOnce(upTo longest: Int) {
        let range = range(upTo: longest)
        switch random.below(10) {
        case 0, 1:
            let count = random.below(longest)
            rows.insert(contentsOf: (0..<count).map { _ in makeRow() }, at: range.lowerBound)
        case 2, 3: rows.removeSubrange(range)
        case 4:
            let block = rows[range]
            rows.removeSubrange(range)
            rows.insert(contentsOf: block, at: random.below(rows.count + 1))
        case 5: rows[range].shuffle(using: &random)
        case 6: rows[range].reverse()
        case 7:
            // The versions are new, and most contents are unchanged.
            for index in range {
                rows[index].version = makeVersion()
                if random.chance(1, in: 2) { rows[index].content = UInt64(random.below(3)) }
            }
        case 8: for index in range { rows[index].version = 0 }
        default: for index in range { rows[index] = makeRow() }
        }
    }
}
