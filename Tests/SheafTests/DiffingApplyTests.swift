import Sheaf
import Testing

/// Diffs applied to arrays and views.
struct DiffingApplyTests {
    @Test func `new elements are created for insertions and updates only`() {
        let diff = Diff(
            insertions: [2], deletions: [1], updates: [0, 1], moves: [Diff.Move(from: 3, to: 0)])
        var requestedIndexes: [Int] = []
        var letters = ["a", "b", "c", "d"]
        letters.apply(diff) { index in
            requestedIndexes.append(index)
            return "new \(index)"
        }
        #expect(letters == ["new 0", "new 1", "new 2", "c"])
        #expect(requestedIndexes == [0, 1, 2])
    }

    @Test func `elements without changes are kept`() {
        let diff = Diff(insertions: [0], updates: [2], moves: [Diff.Move(from: 2, to: 1)])
        var letters = ["a", "b", "c"]
        letters.apply(diff, from: ["W", "X", "Y", "Z"][...])
        #expect(letters == ["W", "c", "Y", "b"])
    }

    @Test func `an array stays unchanged if a new element cannot be created`() {
        struct Unmade: Error {}
        var letters = ["a", "b"]
        #expect(throws: Unmade.self) {
            try letters.apply(Diff(insertions: [1], deletions: [0])) { _ throws(Unmade) in
                throw Unmade()
            }
        }
        #expect(letters == ["a", "b"])
    }

    @Test func `an empty diff changes nothing`() {
        #expect(Diff().isEmpty)
        #expect(!Diff(updates: [0]).isEmpty)
        var letters = ["a", "b"]
        letters.apply(Diff(), from: ["c", "d"])
        #expect(letters == ["a", "b"])
    }

    @Test func `a collection view follows a list of cars`() {
        // The view follows this data source.
        var cars = ["Golf, blue", "Polo, red", "Fiesta, blue", "Clio, white"]
        let collectionView = BatchUpdateView(cars)
        var differ = DiffState()
        func difference(_ ids: [UInt64]) -> Diff {
            differ.diff(versions: ids.map { _ in 0 }) { index in
                (ids[index], cars[index].utf8.reduce(5) { $0 &* 31 &+ UInt64($1) })
            }
        }
        _ = difference([1, 2, 3, 4])

        // The Polo is deleted, the Golf updated, the Clio moved to the front, and a Corsa inserted.
        cars = ["Clio, white", "Golf, green", "Corsa, black", "Fiesta, blue"]
        let diff = difference([4, 1, 5, 3])

        collectionView.performBatchUpdates(showing: cars) {
            collectionView.insertItems(at: diff.insertions)
            collectionView.deleteItems(at: diff.deletions)
            collectionView.reloadItems(at: diff.updates)
            for move in diff.moves { collectionView.moveItem(at: move.from, to: move.to) }
        }
        #expect(collectionView.cells == cars)
        #expect(
            diff
                == Diff(
                    insertions: [2], deletions: [1], updates: [1],
                    moves: [Diff.Move(from: 3, to: 0)]))
    }
}
