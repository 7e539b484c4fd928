import SheafQuery

/// The rows of a result, as runs of what was there before and single rows that were touched.
///
/// It takes in edits one by one; its size, and the time that it takes, are those of the edits.
struct RowPieces {
    /// Rows that are in order, one behind the other.
    private struct Piece {
        /// The index before of the first of them; none for a row that is new.
        var source: Int?
        var count: Int
        /// Whether they say something else; of single rows alone.
        var isUpdated = false
    }

    private var pieces: [Piece]
    /// Rows of before that are gone, by their ids: they may come back.
    private var gone: [[UInt8]: Piece] = [:]

    /// So many rows, to which nothing was done yet.
    init(count: Int) {
        pieces = count > 0 ? [Piece(source: 0, count: count)] : []
    }

    /// What has become of the rows by edits, after which there are `count` rows.
    static func diff(_ edits: [RowEdit], count: Int) -> Diff {
        let before = edits.reduce(count) { count, edit in
            switch edit {
            case .insert: count - 1
            case .remove: count + 1
            case .update, .move: count
            }
        }
        var rows = RowPieces(count: before)
        for edit in edits { rows.apply(edit) }
        return rows.diff
    }

    // MARK: Edits

    private mutating func apply(_ edit: RowEdit) {
        switch edit {
        case .insert(let index, let id, let isUpdated):
            var piece = gone.removeValue(forKey: id) ?? Piece(source: nil, count: 1)
            if isUpdated { piece.isUpdated = true }
            pieces.insert(piece, at: cut(at: index))
        case .remove(let index, let id):
            let piece = pieces.remove(at: single(at: index))
            if piece.source != nil { gone[id] = piece }
        case .update(let index):
            pieces[single(at: index)].isUpdated = true
        case .move(let from, let to, let isUpdated):
            var piece = pieces.remove(at: single(at: from))
            if isUpdated { piece.isUpdated = true }
            pieces.insert(piece, at: cut(at: to))
        }
    }

    /// The number of the piece that begins with a row, or the end.
    private mutating func cut(at index: Int) -> Int {
        var rest = index
        for number in pieces.indices {
            if rest == 0 { return number }
            let piece = pieces[number]
            guard rest < piece.count else {
                rest -= piece.count
                continue
            }
            pieces[number].count = rest
            pieces.insert(
                Piece(source: piece.source.map { $0 + rest }, count: piece.count - rest),
                at: number + 1)
            return number + 1
        }
        precondition(rest == 0, "Edits are of rows that are there.")
        return pieces.count
    }

    /// The number of a piece that is one row.
    private mutating func single(at index: Int) -> Int {
        let number = cut(at: index)
        _ = cut(at: index + 1)
        return number
    }

    // MARK: Diffs

    private var diff: Diff {
        let staying = staying
        var (insertions, updates): ([Int], [Int]) = ([], [])
        var moves: [Diff.Move] = []
        var index = 0
        for (number, piece) in pieces.enumerated() {
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
            insertions: insertions, deletions: gone.values.compactMap(\.source).sorted(),
            updates: updates, moves: moves)
    }

    /// For each piece whether its rows stay in order: those do that are the most rows together.
    private var staying: [Bool] {
        let old = pieces.indices.filter { pieces[$0].source != nil }
        var staying = pieces.map { $0.source == nil }
        // The most rows of pieces up to some source, which end with a piece: a tree of prefixes.
        let ranks = old.sorted { (pieces[$0].source ?? 0) < (pieces[$1].source ?? 0) }
        var rank = [Int](repeating: 0, count: pieces.count)
        for (place, number) in ranks.enumerated() { rank[number] = place + 1 }
        var best = [(rows: Int, piece: Int)](repeating: (0, -1), count: ranks.count + 1)
        var previous = [Int](repeating: -1, count: pieces.count)
        var longest = (rows: 0, piece: -1)
        for number in old {
            var found = (rows: 0, piece: -1)
            var place = rank[number] - 1
            while place > 0 {
                if best[place].rows > found.rows { found = best[place] }
                place &= place - 1
            }
            previous[number] = found.piece
            let here = (rows: found.rows + pieces[number].count, piece: number)
            if here.rows > longest.rows { longest = here }
            place = rank[number]
            while place < best.count {
                if here.rows > best[place].rows { best[place] = here }
                place += place & -place
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
