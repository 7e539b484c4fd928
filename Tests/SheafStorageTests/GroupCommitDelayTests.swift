import SheafStorage
import Testing

/// The decision for how long a flush waits for the writers of the last one.
@Suite struct GroupCommitDelayTests {
    @Test func `a flush waits for several writers, for at most the time of a flush`() {
        var gathering = GroupCommitDelay()
        #expect(gathering.wait(for: 0, typicalFlush: 100_000) == 0)
        #expect(gathering.wait(for: 1, typicalFlush: 100_000) == 0)
        #expect(gathering.wait(for: 2, typicalFlush: 100_000) == 100_000)
        #expect(gathering.wait(for: 8, typicalFlush: 100_000) == 100_000)
        #expect(gathering.wait(for: 8, typicalFlush: .max) == GroupCommitDelay.longestWait)
    }

    /// Returns the numbers of the flushes, counted from 1, that wait although no wait succeeds.
    private func waits(_ gathering: inout GroupCommitDelay, among count: Int) -> [Int] {
        (1...count).filter { _ in
            guard gathering.wait(for: 8, typicalFlush: 1) > 0 else { return false }
            gathering.recordWait(isComplete: false)
            return true
        }
    }

    @Test func `a wait for writers that do not return is repeated less and less often`() {
        var gathering = GroupCommitDelay()
        let waits = waits(&gathering, among: 2_000)
        let distances = zip(waits.dropFirst(), waits).map { $0 - $1 }
        #expect(distances.prefix(9) == [1, 1, 1, 17, 33, 65, 129, 257, 257])
        #expect(distances.dropFirst(9).allSatisfy { $0 == 257 })
    }

    @Test func `one successful wait makes all following flushes wait`() {
        var gathering = GroupCommitDelay()
        #expect(waits(&gathering, among: 10) == [1, 2, 3, 4])
        while gathering.wait(for: 8, typicalFlush: 1) == 0 {}
        gathering.recordWait(isComplete: true)
        #expect(waits(&gathering, among: 10) == [1, 2, 3, 4])
    }
}
