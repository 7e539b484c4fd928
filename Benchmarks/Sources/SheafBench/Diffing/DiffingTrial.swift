import BenchHarness
import Sheaf

/// A repeated comparison of two lists, alternating the direction.
final class DiffingTrial: Trial {
    private let repetitions: Int
    private let compare: (_ isForth: Bool) -> Int

    /// Creates a trial; `compare` returns a value that depends on all differences.
    init(_ stage: Stage, repetitions: Int, _ compare: @escaping (_ isForth: Bool) -> Int) {
        self.repetitions = stage.scale.pick(repetitions, quick: max(repetitions / 5, 1))
        self.compare = compare
    }

    /// Returns milliseconds per comparison.
    func run(round: Int) throws -> Sample {
        let start = now()
        for _ in 0..<repetitions {
            sink(UInt64(compare(true)))
            sink(UInt64(compare(false)))
        }
        return Sample(seconds(since: start) * 1_000 / Double(repetitions * 2))
    }

    func finish() {}
}

extension DiffingTrial {
    /// Creates a trial of Sheaf's differ, which keeps hashes of the previous list.
    static func sheaf(_ stage: Stage, _ lists: DiffingLists) -> DiffingTrial {
        var state = DiffState()
        let versions = (old: lists.old.map(\.version), new: lists.new.map(\.version))
        func diff(_ items: [DiffingItem], _ versions: [UInt64]) -> Int {
            let diff = state.diff(versions: versions) { (items[$0].id, items[$0].content) }
            return diff.insertions.count + diff.deletions.count + diff.updates.count
                + diff.moves.count
        }
        _ = diff(lists.old, versions.old)
        return DiffingTrial(stage, repetitions: 50) { isForth in
            isForth ? diff(lists.new, versions.new) : diff(lists.old, versions.old)
        }
    }

    /// Creates a trial of the standard library's difference by ID with inferred moves, plus content
    /// changes.
    static func stdlib(_ stage: Stage, _ lists: DiffingLists) -> DiffingTrial {
        func diff(_ old: [DiffingItem], _ new: [DiffingItem]) -> Int {
            let difference = new.difference(from: old).inferringMoves()
            return difference.count + updates(difference, old, new)
        }
        return DiffingTrial(stage, repetitions: 5) { isForth in
            isForth ? diff(lists.old, lists.new) : diff(lists.new, lists.old)
        }
    }

    private static func updates(
        _ difference: CollectionDifference<DiffingItem>, _ old: [DiffingItem], _ new: [DiffingItem]
    ) -> Int {
        var count = 0
        var (removals, insertions) = (difference.removals[...], difference.insertions[...])
        var (oldIndex, newIndex) = (0, 0)
        while oldIndex < old.count || newIndex < new.count {
            if case .remove(oldIndex, _, _)? = removals.first {
                removals.removeFirst()
                oldIndex += 1
            } else if case .insert(newIndex, let item, let from)? = insertions.first {
                if let from, old[from].content != item.content { count += 1 }
                insertions.removeFirst()
                newIndex += 1
            } else {
                if old[oldIndex].content != new[newIndex].content { count += 1 }
                oldIndex += 1
                newIndex += 1
            }
        }
        return count
    }
}
