import DittoNames
import Foundation

/// A stand-in for list views of user interfaces, with the same strict batch rules.
final class ListView {
    /// The rows to display after the next batch.
    var source: [String] = []
    /// The displayed rows.
    private(set) var shown: [String] = []
    private(set) var batchCount = 0
    var moves = BatchMoves()
    /// A second differ, because the sample reads the moves from the view.
    let differ = DittoDiffer()

    private var inserted: [Int] = []
    private var deleted: [Int] = []
    private var reloaded: [Int] = []
    private var moved: [(from: Int, to: Int)] = []

    func insertItems(at paths: [IndexPath]) { inserted += paths.map { $0[1] } }
    func deleteItems(at paths: [IndexPath]) { deleted += paths.map { $0[1] } }
    func reloadItems(at paths: [IndexPath]) { reloaded += paths.map { $0[1] } }
    func move(at from: Int, to: Int) { moved.append((from, to)) }

    func performBatchUpdates(_ updates: () -> Void, completion: ((Bool) -> Void)?) {
        (inserted, deleted, reloaded, moved) = ([], [], [], [])
        updates()
        batchCount += 1
        precondition(
            shown.count + inserted.count - deleted.count == source.count,
            "A batch accounts for every inserted and deleted row.")
        var rows = [String?](repeating: nil, count: source.count)
        for (from, to) in moved { Self.put(shown[from], at: to, in: &rows) }
        for index in inserted { Self.put(source[index], at: index, in: &rows) }
        let gone = Set(deleted + moved.map(\.from))
        // Remaining rows keep their order and fill the remaining indexes.
        var rest = shown.indices.filter { !gone.contains($0) }.map { shown[$0] }[...]
        for index in rows.indices where rows[index] == nil { rows[index] = rest.popFirst() }
        for index in reloaded { rows[index] = source[index] }
        shown = rows.compactMap { $0 }
        completion?(true)
    }

    private static func put(_ row: String, at index: Int, in rows: inout [String?]) {
        precondition(rows[index] == nil, "No two rows have the same index.")
        rows[index] = row
    }
}

/// The moves of a batch.
package struct BatchMoves {
    private var moves: [(from: Int, to: Int)] = []

    init() {}

    init(of items: [DittoQueryResultItem], _ differ: DittoDiffer) {
        moves = differ.diff(items).moves
    }

    /// Passes each move to the closure, as the sample expects.
    @discardableResult
    func map<Result>(_ body: ((from: Int, to: Int)) -> Result) -> [Result] {
        moves.map(body)
    }
}

extension IndexPath {
    /// Creates an index path, as user interface frameworks do.
    init(item: Int, section: Int) {
        self = [section, item]
    }
}
