import SheafStorage
import SheafTestSupport
import Synchronization
import Testing

@Suite struct BTreeSnapshotTests {
    @Test func `snapshots keep their state while the tree changes`() {
        for (seed, kind) in KeyKind.allCases.enumerated() {
            var random = SeededRandom(seed: UInt64(seed), "snapshots")
            var tree = BTree(fanout: seed % 2 == 0 ? 3 : 20)
            var model = BTreeModel()
            var snapshots: [(BTreeSnapshot, BTreeModel)] = []
            for step in 0..<600 {
                let key =
                    random.chance(1, in: 2) && model.count > 0
                    ? model.keys[random.below(model.count)] : kind.key(step, &random)
                if random.chance(3, in: 5) {
                    let value = randomValue(&random)
                    _ = (tree.put(key, value), model.put(key, value))
                } else {
                    _ = (tree.remove(key), model.remove(key))
                }
                if random.chance(1, in: 8) { snapshots.append((tree.snapshot(), model)) }
                // Snapshots are released in random order.
                if random.chance(1, in: 10), !snapshots.isEmpty {
                    let (snapshot, model) = snapshots.remove(at: random.below(snapshots.count))
                    #expect(snapshot.holds(model), "seed \(seed), \(kind)")
                    #expect(snapshot.checkInvariants() == [])
                }
                if step % 100 == 99 { #expect(tree.checkInvariants() == [], "seed \(seed)") }
            }
            for (snapshot, model) in snapshots {
                #expect(snapshot.holds(model), "seed \(seed), \(kind)")
            }
            snapshots = []
            #expect(tree.snapshot().holds(model))
            #expect(tree.checkInvariants() == [])
        }
    }

    @Test func `a wrong number of entries violates an invariant`() {
        var tree = BTree(fanout: 3)
        for number in 0..<20 as Range<UInt8> { _ = tree.put([1, number], BTreeValue.empty) }
        let snapshot = tree.snapshot()
        #expect(snapshot.checkInvariants(count: 20) == [])
        for count in [0, 19, 21] {
            #expect(
                snapshot.checkInvariants(count: count)
                    == ["20 entries found, but \(count) counted"])
        }
    }

    @Test(arguments: [UInt64](1...6))
    func `forks change apart from each other and from the tree`(_ seed: UInt64) {
        var random = SeededRandom(seed: seed, "forks")
        let fanout = seed % 2 == 0 ? 3 : 20
        var tree = BTree(fanout: fanout)
        var model = BTreeModel()
        var forks: [(BTreeSnapshot, BTreeModel)] = []
        for step in 0..<300 {
            change(&tree, &model, step, &random)
            if random.chance(1, in: 6) { forks.append((tree.snapshot(), model)) }
            if random.chance(1, in: 3), !forks.isEmpty {
                // Forks of forks follow, and the snapshots of their origins are released.
                let index = random.below(forks.count)
                var (snapshot, forked) = forks[index]
                var fork = BTree(forking: snapshot, fanout: fanout)
                for _ in 0..<random.below(40) { change(&fork, &forked, step, &random) }
                #expect(fork.checkInvariants() == [], "seed \(seed)")
                if random.chance(1, in: 2) {
                    snapshot = fork.snapshot()
                    for _ in 0..<random.below(10) { change(&fork, &forked, step, &random) }
                    #expect(fork.checkInvariants() == [], "seed \(seed)")
                }
                forks[index] = (fork.snapshot(), forked)
            }
            if forks.count > 4 {
                let (snapshot, model) = forks.remove(at: random.below(forks.count))
                #expect(snapshot.holds(model), "seed \(seed)")
            }
            // Wrong weights stay wrong, so that a later check finds them.
            for (snapshot, model) in forks + [(tree.snapshot(), model)] {
                let isRight =
                    step % 10 == 9 ? snapshot.holds(model) : snapshot.hasEntries(of: model)
                #expect(isRight, "seed \(seed)")
            }
            #expect(tree.checkInvariants() == [], "seed \(seed)")
        }
    }

    private func change(
        _ tree: inout BTree, _ model: inout BTreeModel, _ step: Int, _ random: inout SeededRandom
    ) {
        let isKnown = random.chance(1, in: 2) && model.count > 0
        let key =
            isKnown
            ? model.keys[random.below(model.count)]
            : KeyKind.allCases[step % KeyKind.allCases.count].key(step, &random)
        if random.chance(3, in: 5) {
            let value = randomValue(&random)
            _ = (tree.put(key, value), model.put(key, value))
        } else {
            _ = (tree.remove(key), model.remove(key))
        }
    }

    @Test func `snapshots outlive their tree`() {
        func makeSnapshots() -> [BTreeSnapshot] {
            var tree = BTree(fanout: 4)
            return (0..<50).map { number in
                _ = tree.put([UInt8(number)], BTreeValue(UInt64(number)))
                return tree.snapshot()
            }
        }
        for (number, snapshot) in makeSnapshots().enumerated() {
            #expect(snapshot.count == number + 1)
            #expect(snapshot.checkInvariants() == [])
            #expect(snapshot.find([UInt8(number)]) == BTreeValue(UInt64(number)))
        }
    }

    @Test func `an unchanged tree returns the same snapshot`() {
        var tree = BTree()
        let empty = tree.snapshot()
        #expect(tree.snapshot() === empty)
        _ = tree.put([1], .empty)
        let one = tree.snapshot()
        #expect(one !== empty)
        #expect(one.version > empty.version)
        _ = tree.remove([2])
        #expect(tree.snapshot() === one)
    }

    @Test func `pages without snapshots are changed in place`() {
        var tree = BTree(fanout: 4)
        for number in 0..<200 { _ = tree.put([UInt8(number)], BTreeValue(0)) }
        let before = tree.statistics
        for round in 1..<100 {
            _ = tree.snapshot()
            for number in 0..<200 { _ = tree.put([UInt8(number)], BTreeValue(UInt64(round))) }
        }
        #expect(tree.statistics == before)
    }

    @Test func `memory stays bounded with short-lived snapshots, even while one is kept`() {
        for keepsOne in [false, true] {
            var random = SeededRandom(seed: 5, "bounded")
            var tree = BTree(fanout: 8)
            for number in 0..<1000 { _ = tree.put(key(number), BTreeValue(0)) }
            let kept = keepsOne ? tree.snapshot() : nil
            let pages = tree.statistics.pagesInUse
            var recent: [BTreeSnapshot] = []
            for round in 0..<5000 {
                let number = random.below(1000)
                _ = tree.put(key(number), BTreeValue(UInt64(round)))
                recent.append(tree.snapshot())
                if recent.count > 3 { recent.remove(at: random.below(4)) }
            }
            // The three recent snapshots retain a few pages each, the kept one all of its pages.
            let statistics = tree.statistics
            let total = statistics.pagesInUse + statistics.pagesFree + statistics.pagesRetired
            #expect(total < pages * (keepsOne ? 2 : 1) + 200)
            if let kept {
                #expect(kept.checkInvariants() == [])
                #expect(kept.entries().values.allSatisfy { $0 == BTreeValue(0) })
            }
            recent = []
            #expect(tree.checkInvariants() == [])
        }
    }

    private func key(_ number: Int) -> [UInt8] {
        [UInt8(truncatingIfNeeded: number >> 8), UInt8(truncatingIfNeeded: number)]
    }

    /// A tree in a mutex, as the store keeps it.
    private final class Shelf: Sendable {
        package struct State: ~Copyable {
            var tree = BTree(fanout: 6)
            var isDone = false
        }

        let state = Mutex(State())
    }

    @Test func `concurrent readers of snapshots never see a partial transfer`() async {
        let shelf = Shelf()
        let accounts = 300
        shelf.state.withLock { state in
            for number in 0..<accounts { _ = state.tree.put(key(number), BTreeValue(1000)) }
        }
        await withTaskGroup(of: Void.self) { group in
            group.addTask {
                var random = SeededRandom(seed: 9, "transfers")
                for _ in 0..<20_000 {
                    let (from, to) = (random.below(accounts), random.below(accounts))
                    let extra = accounts + random.below(100)
                    shelf.state.withLock { state in
                        let amount = UInt64(random.below(10))
                        transfer(amount, from, to, &state.tree)
                        // Empty accounts are added and removed, so that pages split and merge.
                        if state.tree.remove(key(extra)) == nil {
                            _ = state.tree.put(key(extra), BTreeValue(0))
                        }
                    }
                }
                shelf.state.withLock { $0.isDone = true }
            }
            for _ in 0..<3 {
                group.addTask {
                    var isDone = false
                    while !isDone {
                        let snapshot = shelf.state.withLock { state in
                            isDone = state.isDone
                            return state.tree.snapshot()
                        }
                        var sum: UInt64 = 0
                        var count = 0
                        snapshot.forEach { _, value in
                            sum &+= value.low
                            count += 1
                            return true
                        }
                        #expect(sum == UInt64(1000 * accounts))
                        #expect(count == snapshot.count)
                    }
                }
            }
        }
        shelf.state.withLock { #expect($0.tree.checkInvariants() == []) }
    }

    private func transfer(_ amount: UInt64, _ from: Int, _ to: Int, _ tree: inout BTree) {
        guard from != to, let source = tree.find(key(from)), let target = tree.find(key(to)),
            source.low >= amount
        else { return }
        _ = tree.put(key(from), BTreeValue(source.low - amount))
        _ = tree.put(key(to), BTreeValue(target.low + amount))
    }
}
