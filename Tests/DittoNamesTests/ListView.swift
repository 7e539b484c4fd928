import DittoNames
import Foundation

/// Stands in for the list views of a user interface, and is as strict about batches as they are.
final class ListView {
    /// What the rows are to show.
    var source: [String] = []
    /// What the rows show.
    private(set) var shown: [String] = []
    private(set) var batchCount = 0
    var moves = Moves()
    /// Tells the moves, which the sample takes from the view.
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
            "The rows after a batch are those before, with the inserted, without the deleted ones.")
        var rows = [String?](repeating: nil, count: source.count)
        for (from, to) in moved { Self.put(shown[from], at: to, in: &rows) }
        for index in inserted { Self.put(source[index], at: index, in: &rows) }
        let gone = Set(deleted + moved.map(\.from))
        // Rows that are left keep their order, and take the places that are left.
        var rest = shown.indices.filter { !gone.contains($0) }.map { shown[$0] }[...]
        for index in rows.indices where rows[index] == nil { rows[index] = rest.popFirst() }
        for index in reloaded { rows[index] = source[index] }
        shown = rows.compactMap { $0 }
        completion?(true)
    }

    private static func put(_ row: String, at index: Int, in rows: inout [String?]) {
        precondition(rows[index] == nil, "No two rows come to one place.")
        rows[index] = row
    }
}

/// The moves of a batch.
struct Moves {
    private var moves: [(from: Int, to: Int)] = []

    init() {}

    init(of items: [DittoQueryResultItem], _ differ: DittoDiffer) {
        moves = differ.diff(items).moves
    }

    /// As the sample has it, for what the closure does alone.
    @discardableResult
    func map<Result>(_ body: ((from: Int, to: Int)) -> Result) -> [Result] {
        moves.map(body)
    }
}

extension IndexPath {
    /// As user interfaces have it.
    init(item: Int, section: Int) {
        self = [section, item]
    }
}
