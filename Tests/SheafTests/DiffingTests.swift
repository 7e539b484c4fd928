import Sheaf
import SheafTestSupport
import Testing

/// Diffs of lists, compared with a model based on linear searches.
struct DiffingTests {
    private let firstSeed: UInt64 = 21_000

    /// A differ, its last list, and the indexes whose contents it requested.
    private struct Differ {
        var state = DiffState()
        var rows: [DiffingRow] = []
        var requestedIndexes: [Int] = []

        mutating func diff(_ new: [DiffingRow]) -> Diff {
            var requestedIndexes: [Int] = []
            let diff = state.diff(versions: new.map(\.version)) { index in
                requestedIndexes.append(index)
                return (new[index].id, new[index].content)
            }
            (rows, self.requestedIndexes) = (new, requestedIndexes)
            return diff
        }

        mutating func checkedDiff(_ new: [DiffingRow], _ comment: Comment) {
            let model = DiffingModel(rows, new)
            let diff = diff(new)
            model.check(diff, comment)
            #expect(requestedIndexes == model.unknown, comment)
            if diff.isEmpty { #expect(model.old.map(\.label) == new.map(\.label), comment) }
            #expect(state.count == new.count, comment)
        }
    }

    /// Returns one row per letter, with the letter as its id.
    private func rows(_ ids: String, version: UInt64 = 0, content: UInt64 = 0) -> [DiffingRow] {
        ids.utf8.enumerated().map {
            DiffingRow(
                version: version == 0 ? 0 : version + UInt64($0.offset), id: UInt64($0.element),
                content: content)
        }
    }

    private func editedArrays(
        _ seed: UInt64, idCount: Int, unversioned: Int, count: Int, steps: Int
    ) {
        var list = RandomRows(
            seed: seed, idCount: idCount, unversioned: unversioned, count: count)
        var differ = Differ()
        for step in 0..<steps {
            differ.checkedDiff(list.rows, "seed \(seed), step \(step)")
            list.change()
        }
    }

    @Test func `diffs of random lists match the model`() {
        for seed in firstSeed..<firstSeed + 8 {
            editedArrays(seed, idCount: 100_000, unversioned: 1, count: 30, steps: 150)
        }
    }

    @Test func `items with equal ids are matched in their order`() {
        for (offset, idCount) in [1, 2, 3, 5, 8, 13].enumerated() {
            let seed = firstSeed + 100 + UInt64(offset)
            editedArrays(seed, idCount: idCount, unversioned: 6, count: 12, steps: 200)
        }
    }

    @Test func `items without versions are matched by id`() {
        for seed in firstSeed + 200..<firstSeed + 204 {
            editedArrays(seed, idCount: 40, unversioned: 12, count: 25, steps: 150)
        }
    }

    @Test func `diffs of long lists match the model`() {
        for seed in firstSeed + 300..<firstSeed + 304 {
            editedArrays(seed, idCount: 100_000, unversioned: 0, count: 400, steps: 10)
        }
    }

    @Test func `each permutation of five items is reached with the fewest moves`() {
        let orders = permutations(Array("abcde"))
        for (offset, order) in orders.enumerated() {
            var differ = Differ()
            differ.checkedDiff(rows("abcde"), "first")
            differ.checkedDiff(rows(String(order)), "order \(offset)")
        }
    }

    private func permutations(_ letters: [Character]) -> [[Character]] {
        guard letters.count > 1 else { return [letters] }
        return letters.indices.flatMap { index in
            var rest = letters
            let first = rest.remove(at: index)
            return permutations(rest).map { [first] + $0 }
        }
    }

    @Test func `diffs of shuffled and reversed long lists match the model`() {
        for seed in firstSeed + 400..<firstSeed + 404 {
            var random = SeededRandom(seed: seed, "shuffles")
            var list = (1...300).map {
                DiffingRow(version: UInt64($0) * 320, id: random.next(), content: 0)
            }
            var differ = Differ()
            differ.checkedDiff(list, "seed \(seed), first")
            list.shuffle(using: &random)
            differ.checkedDiff(list, "seed \(seed), shuffled")
            list.reverse()
            differ.checkedDiff(list, "seed \(seed), reversed")
            for index in list.indices { list[index].version += 1 }
            list.shuffle(using: &random)
            differ.checkedDiff(list, "seed \(seed), written and shuffled")
        }
    }

    @Test func `a document that occurs in several rows produces an applicable diff`() {
        for seed in firstSeed + 500..<firstSeed + 520 {
            var random = SeededRandom(seed: seed, "repeated")
            var differ = Differ()
            for step in 0..<40 {
                // The contents of a version never change; the number of its rows does.
                let new = (0..<random.below(24)).map { _ in
                    let version = UInt64(1 + random.below(6))
                    return DiffingRow(version: version, id: version / 2, content: version % 2)
                }
                let old = differ.rows
                let diff = differ.diff(new)
                DiffingModel.checkApplying(diff, old, new, "seed \(seed), step \(step)")
            }
        }
    }

    @Test func `the contents of a row with a known version are not requested`() {
        var differ = Differ()
        #expect(differ.diff(rows("abcdef", version: 10)).insertions == Array(0..<6))
        #expect(differ.requestedIndexes == Array(0..<6))
        #expect(differ.diff(rows("abcdef", version: 10)).isEmpty)
        #expect(differ.requestedIndexes.isEmpty)
        let reversed = Array(rows("abcdef", version: 10).reversed())
        #expect(differ.diff(reversed).moves.count == 5)
        #expect(differ.requestedIndexes.isEmpty)
    }

    @Test func `a document that was written with equal contents has not changed`() {
        var differ = Differ()
        _ = differ.diff(rows("abc", version: 10))
        #expect(differ.diff(rows("abc", version: 20)).isEmpty)
        #expect(differ.requestedIndexes == [0, 1, 2])
        #expect(differ.diff(rows("abc")).isEmpty)
        #expect(differ.diff(rows("abc", version: 30)).isEmpty)
    }

    @Test func `an item that moved and changed is in the moves and the updates`() {
        var differ = Differ()
        _ = differ.diff(rows("abcd", version: 10))
        let moved = rows("d", version: 50, content: 1) + rows("abc", version: 10)
        #expect(differ.diff(moved) == Diff(updates: [0], moves: [Diff.Move(from: 3, to: 0)]))
    }

    @Test func `an item shifted by insertions and deletions has not moved`() {
        var differ = Differ()
        _ = differ.diff(rows("abcd", version: 10))
        var list = rows("abcd", version: 10)
        list.insert(contentsOf: rows("xy", version: 50), at: 1)
        list.remove(at: 0)
        #expect(differ.diff(list) == Diff(insertions: [0, 1], deletions: [0]))
    }

    @Test func `swapping two halves of 50,000 rows with one id each moves one half`() {
        // With this many rows, an algorithm in quadratic time would be too slow.
        let count = 50_000
        let halves = { (first: UInt64, second: UInt64) in
            (0..<count).map {
                DiffingRow(version: 0, id: $0 < count / 2 ? first : second, content: 0)
            }
        }
        var differ = Differ()
        _ = differ.diff(halves(1, 2))
        let diff = differ.diff(halves(2, 1))
        #expect(diff.moves.count == count / 2)
        #expect(diff.insertions.isEmpty && diff.deletions.isEmpty && diff.updates.isEmpty)
        // All old rows are deleted if no id matches.
        #expect(differ.diff(halves(3, 4)).deletions.count == count)
    }

    @Test func `an item occupies 24 bytes`() {
        var differ = Differ()
        let count = 100_000
        _ = differ.diff((1...count).map { DiffingRow(version: UInt64($0), id: 7, content: 7) })
        // The allocator returns complete pages.
        #expect(differ.state.byteCount <= count * 24 + 4_096)
        #expect(differ.state.byteCount >= count * 24)
    }
}
