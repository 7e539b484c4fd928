/// A view of a list that applies batches of changes with the semantics of UIKit.
///
/// Deletions and sources of moves are indexes before the batch. Insertions, destinations of moves
/// and reloads are indexes after it.
final class BatchUpdateView<Cell> {
    private(set) var cells: [Cell]
    /// Number of cells that were created from the data.
    private(set) var madeCount = 0
    private var deletions: [Int] = []
    private var insertions: [Int] = []
    private var reloads: [Int] = []
    private var moves: [(from: Int, to: Int)] = []

    init(_ cells: [Cell]) {
        self.cells = cells
    }

    func deleteItems(at indexes: [Int]) { deletions += indexes }

    func insertItems(at indexes: [Int]) { insertions += indexes }

    func reloadItems(at indexes: [Int]) { reloads += indexes }

    func moveItem(at from: Int, to: Int) { moves.append((from, to)) }

    /// Applies the changes that `changes` requests as one batch, with new cells from `data`.
    func performBatchUpdates(showing data: [Cell], _ changes: () -> Void) {
        (deletions, insertions, reloads, moves) = ([], [], [], [])
        changes()
        let moved = moves.map { (to: $0.to, cell: cells[$0.from]) }
        for index in (deletions + moves.map(\.from)).sorted(by: >) { cells.remove(at: index) }
        let inserted = insertions.map { (to: $0, cell: make($0, data)) }
        for (index, cell) in (inserted + moved).sorted(by: { $0.to < $1.to }) {
            cells.insert(cell, at: index)
        }
        for index in reloads { cells[index] = make(index, data) }
        precondition(cells.count == data.count, "The view must show all items of the data.")
    }

    private func make(_ index: Int, _ data: [Cell]) -> Cell {
        madeCount += 1
        return data[index]
    }
}
