import SheafStorage
import SheafSystem
import Synchronization
import Testing

/// Work in parts, each of which runs exactly once.
@Suite struct ParallelWorkTests {
    @Test(arguments: [0, 1, 3]) func `each part runs once, before the call returns`(
        most: Int
    ) {
        let workers = Workers(most: most)
        for count in [0, 1, 2, 7, 1_000] {
            let done = Mutex([Int](repeating: 0, count: count))
            workers.run(count) { part in done.withLock { $0[part] += 1 } }
            #expect(done.withLock { $0 } == Array(repeating: 1, count: count))
        }
    }

    @Test func `concurrent callers each get all of their parts done`() async {
        let workers = Workers(most: 2)
        let sums = await withTaskGroup(of: Int.self) { group in
            for number in 1...8 {
                group.addTask {
                    var total = 0
                    for _ in 0..<50 {
                        let sum = Atomic(0)
                        workers.run(20) { part in sum.add(part * number, ordering: .relaxed) }
                        total += sum.load(ordering: .relaxed)
                    }
                    return total
                }
            }
            return await group.reduce(into: []) { $0.append($1) }.sorted()
        }
        #expect(sums == (1...8).map { 190 * 50 * $0 })
    }
}
