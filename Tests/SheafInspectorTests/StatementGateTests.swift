import SheafInspector
import Synchronization
import Testing

/// Tests of the gate that limits the number of statements that run.
@Suite struct StatementGateTests {
    /// The numbers of statements in the order in which they have run.
    private final class Order: Sendable {
        private let numbers = Mutex<[Int]>([])

        var all: [Int] { numbers.withLock { $0 } }

        func add(_ number: Int) { numbers.withLock { $0.append(number) } }
    }

    private let gate = StatementGate(1)
    private let order = Order()

    /// Starts tasks, each of which has begun to wait before the next one starts.
    private func waitingTasks(_ count: Int) async -> [Task<Void, any Error>] {
        let (gate, order) = (gate, order)
        var tasks: [Task<Void, any Error>] = []
        for number in 0..<count {
            tasks.append(Task { try await gate.run { order.add(number) } })
            while gate.waitingCount <= number { await Task.yield() }
        }
        return tasks
    }

    @Test func `statements that wait run in order, without those that were canceled`() async throws
    {
        let tasks = try await gate.run { () async throws -> [Task<Void, any Error>] in
            let tasks = await waitingTasks(5)
            #expect(order.all == [] && gate.waitingCount == 5)
            for number in [3, 1] {
                tasks[number].cancel()
                await #expect(throws: CancellationError.self) { try await tasks[number].value }
            }
            #expect(order.all == [] && gate.waitingCount == 3)
            return tasks
        }
        for number in [0, 2, 4] { try await tasks[number].value }
        #expect(order.all == [0, 2, 4] && gate.waitingCount == 0)
        let answer = try await gate.run { 7 }
        #expect(answer == 7)
    }

    @Test func `a statement that fails makes room, and a canceled one does not begin`() async throws
    {
        struct Failure: Error {}
        let (gate, order) = (gate, order)
        await #expect(throws: Failure.self) {
            try await gate.run { () throws -> Void in throw Failure() }
        }
        let canceled = Task {
            while !Task.isCancelled { await Task.yield() }
            try await gate.run { order.add(1) }
        }
        canceled.cancel()
        await #expect(throws: CancellationError.self) { try await canceled.value }
        let answer = try await gate.run { 7 }
        #expect(answer == 7 && order.all == [])
        #expect(gate.maximumCount == 1 && gate.waitingCount == 0)
    }
}
