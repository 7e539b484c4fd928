package import SheafQuery

/// The rows of a result, as runs of old rows and single rows that edits changed.
///
/// Edits are applied one by one; size and time depend on the number of edits, not of rows.
package struct RowRuns {
    /// Consecutive rows.
    private struct RowRun {
        /// The old index of the first row; nil for a new row.
        var source: Int?
        var count: Int
        /// Whether the value changed; only true for a single row.
        var isUpdated = false
    }

    private var runs: [RowRun]
    /// Removed old rows by their ids, which a later edit may insert again, in the order of removal.
    ///
    /// Results with equal contents are not delivered, even if their rows have other ids. So several
    /// old rows may be removed by one id.
    private var removed: [[UInt8]: [RowRun]] = [:]

    /// Creates `count` unchanged rows.
    init(count: Int) {
        runs = count > 0 ? [RowRun(source: 0, count: count)] : []
    }

    /// Returns the diff of edits that result in `count` rows.
    package static func diff(_ edits: [RowEdit], count: Int) -> Diff {
        let before = edits.reduce(count) { count, edit in
            switch edit {
            case .insert: count - 1
            case .remove: count + 1
            case .update, .move: count
            }
        }
        var rows = RowRuns(count: before)
        for edit in edits { rows.apply(edit) }
        return rows.diff
    }

    // MARK: Edits

    private mutating func apply(_ edit: RowEdit) {
        switch edit {
        case .insert(let index, let id, let isUpdated):
            var piece = removed[id]?.popLast() ?? RowRun(source: nil, count: 1)
            if isUpdated { piece.isUpdated = true }
            runs.insert(piece, at: split(at: index))
        case .remove(let index, let id):
            let piece = runs.remove(at: isolate(at: index))
            if piece.source != nil { removed[id, default: []].append(piece) }
        case .update(let index):
            runs[isolate(at: index)].isUpdated = true
        case .move(let from, let to, let isUpdated):
            var piece = runs.remove(at: isolate(at: from))
            if isUpdated { piece.isUpdated = true }
            runs.insert(piece, at: split(at: to))
        }
    }

    /// Splits the runs at a row; returns the index of the run that begins with it, or the end.
    private mutating func split(at index: Int) -> Int {
        var rest = index
        for number in runs.indices {
            if rest == 0 { return number }
            let piece = runs[number]
            guard rest < piece.count else {
                rest -= piece.count
                continue
            }
            runs[number].count = rest
            runs.insert(
                RowRun(source: piece.source.map { $0 + rest }, count: piece.count - rest),
                at: number + 1)
            return number + 1
        }
        precondition(rest == 0, "Edits refer to existing rows.")
        return runs.count
    }

    /// Splits off one row; returns the index of its run.
    private mutating func isolate(at index: Int) -> Int {
        let number = split(at: index)
        _ = split(at: index + 1)
        return number
    }

    // MARK: Diffs

    private var diff: Diff {
        let staying = staying
        var (insertions, updates): ([Int], [Int]) = ([], [])
        var moves: [Diff.Move] = []
        var index = 0
        for (number, piece) in runs.enumerated() {
            if let source = piece.source {
                if piece.isUpdated { updates.append(index) }
                if !staying[number] {
                    moves += (0..<piece.count).map { Diff.Move(from: source + $0, to: index + $0) }
                }
            } else {
                insertions.append(index)
            }
            index += piece.count
        }
        return Diff(
            insertions: insertions,
            deletions: removed.values.joined().compactMap(\.source).sorted(),
            updates: updates, moves: moves)
    }

    /// Whether each run stays: new runs do, and the ascending old runs with the most rows in total.
    private var staying: [Bool] {
        let old = runs.indices.filter { runs[$0].source != nil }
        var staying = runs.map { $0.source == nil }
        // A Fenwick tree finds the most rows of ascending runs before a source, and the last of
        // these runs.
        let ranks = old.sorted { (runs[$0].source ?? 0) < (runs[$1].source ?? 0) }
        var rank = [Int](repeating: 0, count: runs.count)
        for (node, number) in ranks.enumerated() { rank[number] = node + 1 }
        var best = [(rows: Int, piece: Int)](repeating: (0, -1), count: ranks.count + 1)
        var previous = [Int](repeating: -1, count: runs.count)
        var longest = (rows: 0, piece: -1)
        for number in old {
            var found = (rows: 0, piece: -1)
            var node = rank[number] - 1
            while node > 0 {
                if best[node].rows > found.rows { found = best[node] }
                node &= node - 1
            }
            previous[number] = found.piece
            let start = (rows: found.rows + runs[number].count, piece: number)
            if start.rows > longest.rows { longest = start }
            node = rank[number]
            while node < best.count {
                if start.rows > best[node].rows { best[node] = start }
                node += node & -node
            }
        }
        var number = longest.piece
        while number >= 0 {
            staying[number] = true
            number = previous[number]
        }
        return staying
    }
}
