import BenchHarness
import Sheaf
import SheafDocument
import SheafEngine
import SheafStorage

/// Single-field edits of one large map, one commit for each.
final class MapEditTrial: Trial {
    private let store: StoreEngine
    private let engine: DocumentEngine
    private let directory: Folder

    private static let entryCount = 1_000
    private static let editCount = 50

    init(_ stage: Stage) throws {
        directory = try stage.memory.child("map")
        store = try StoreEngine(
            opening: try PosixVolume(path: directory.path, creatingDirectory: true))
        engine = try DocumentEngine(store)
    }

    private func commit(_ id: String, _ action: DocumentChange.Action) throws -> Int {
        let before = store.snapshot().end
        _ = try engine.commit([DocumentChange("carts", .string(id), action)]) {
            batch throws(StorageError) in try store.append(batch)
        }
        try store.flush()
        let after = store.snapshot().end
        // Commits that start a new segment are excluded, because its header is not part of the
        // edit.
        return before.segment == after.segment ? after.offset - before.offset : 0
    }

    func run(round: Int) throws -> Sample {
        let id = "b1946ac9-2491-4b6e-8d0b-9b7d3c1f0a\(10 + round)"
        let entries = (0..<Self.entryCount).map {
            ("item-\(100_000 + $0)", Value.integer(Int64($0)))
        }
        _ = try commit(id, .insert(["items": .object(Object(entries))]))
        var sum = 0
        var count = 0
        for edit in 0..<Self.editCount {
            let path = ["items", "item-\(100_000 + edit * 19)"]
            let length = try commit(id, .edit([.set(path: path, to: .integer(7))]))
            sum += length
            if length > 0 { count += 1 }
        }
        return Sample(Double(sum) / Double(max(count, 1)))
    }

    func finish() throws {
        try store.close()
        directory.remove()
    }
}
