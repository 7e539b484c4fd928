import SheafBytes
import SheafHubEngine
import SheafHubLog
import SheafSystem
import SheafTestSupport
import Synchronization
import Testing

/// Tests of the calls in which a host receives the events of its log, and of the last one.
@Suite struct HubEventOrderTests {
    private struct State {
        var calls: [String] = []
        /// Whether the first call has begun, and whether it may end.
        var isEntered = false
        var isReleased = false
        /// Whether the last event was received.
        var isOver = false
        /// Whether the host was deallocated.
        var isFreed = false
    }

    /// A host that waits in `connected`, and ends with `disconnected`.
    private final class RecordedHost: HubLogHost {
        private let state: Monitor<State>
        /// The thread that `disconnected` stops; nil if it stops none.
        let stopped = Mutex<HubEventThread?>(nil)

        init(_ state: Monitor<State>) {
            self.state = state
        }

        deinit {
            state.withLock { $0.isFreed = true }
            state.broadcast()
        }

        func stored(_ id: HubMessageID, as entry: UInt64) {
            record("stored \(id.sequence) as \(entry)")
        }

        func failed(_ id: HubMessageID, _ error: HubLogError) {
            record("failed \(id.sequence): \(error)")
        }

        func received(_ entries: [HubLogEntry], of shard: HubShard) {
            let numbers = entries.map(\.number)
            record(
                "\(entries.count) of \(shard.number): \(numbers.first ?? 0) to "
                    + "\(numbers.last ?? 0)")
        }

        func received(broadcast: [UInt8]) { record("broadcast \(broadcast)") }

        func reread(
            _ entries: ClosedRange<UInt64>, of shard: HubShard, _ error: HubLogError?
        ) {
            record("reread \(entries) of \(shard.number): \(error?.description ?? "all")")
        }

        func connected() {
            state.withLock { $0.isEntered = true }
            state.broadcast()
            state.wait(until: Clock.testDeadline(), while: { !$0.isReleased })
        }

        func disconnected(_ error: HubLogError) {
            stopped.withLock { $0 }?.stop()
            record("disconnected: \(error)")
            state.withLock { $0.isOver = true }
            state.broadcast()
        }

        private func record(_ call: String) { state.withLock { $0.calls.append(call) } }
    }

    private let state = Monitor(State())

    /// Posts events while the thread is in a call, and lets it continue.
    private func post(_ events: [HubEventThread.Event], to thread: HubEventThread) {
        thread.post(.connected)
        state.wait(until: Clock.testDeadline(), while: { !$0.isEntered })
        for event in events { thread.post(event) }
        state.withLock { $0.isReleased = true }
        state.broadcast()
        state.wait(until: Clock.testDeadline(), while: { !$0.isOver })
    }

    /// Returns the calls for events that precede the end of a connection.
    private func calls(for events: [HubEventThread.Event]) throws -> [String] {
        let thread = try HubEventThread(RecordedHost(state))
        defer { thread.stop() }
        post(events + [.disconnected(.timeout("an end"))], to: thread)
        return state.withLock { $0.calls }
    }

    private func entries(_ numbers: ClosedRange<UInt64>, of shard: UInt16) -> HubEventThread.Event {
        .received(
            numbers.map { HubLogEntry($0, []) }, of: HubShard(shard, of: HubLogID(low: 1, high: 1)))
    }

    @Test func `events keep their order, and entries of a shard without others between are joined`()
        throws
    {
        let shard = HubShard(1, of: HubLogID(low: 1, high: 1))
        let found = try calls(for: [
            .stored(TestedEngine.id(3), as: 7), .failed(TestedEngine.id(4), .full("a")),
            entries(1...2, of: 0), entries(3...3, of: 0), entries(1...1, of: 1),
            entries(4...4, of: 0), .broadcast([9]), entries(5...5, of: 0),
            .reread(2...3, of: shard, nil), .reread(4...5, of: shard, .full("b")),
        ])
        let expected: [String] = [
            "stored 3 as 7", "failed 4: the hub log has no space or memory: a", "3 of 0: 1 to 3",
            "1 of 1: 1 to 1", "1 of 0: 4 to 4", "broadcast [9]", "1 of 0: 5 to 5",
            "reread 2...3 of 1: all", "reread 4...5 of 1: the hub log has no space or memory: b",
            "disconnected: the hub log did not respond to: an end",
        ]
        #expect(found == expected)
    }

    @Test func `a call with 1,024 entries has no others`() throws {
        let found = try calls(for: [
            entries(1...1_023, of: 0), entries(1_024...1_024, of: 0), entries(1_025...1_025, of: 0),
            entries(1_026...2_049, of: 0), entries(2_050...2_050, of: 0),
        ])
        #expect(
            found.dropLast() == [
                "1024 of 0: 1 to 1024", "1025 of 0: 1025 to 2049", "1 of 0: 2050 to 2050",
            ])
    }

    @Test func `no event follows a call in which the host stops the thread`() throws {
        do {
            let host = RecordedHost(state)
            let thread = try HubEventThread(host)
            host.stopped.withLock { $0 = thread }
            post([.disconnected(.timeout("an end")), .broadcast([1])], to: thread)
            host.stopped.withLock { $0 = nil }
        }
        // The thread retains the host until it ends.
        let isFreed = state.wait(until: Clock.testDeadline(), while: { !$0.isFreed })
        #expect(isFreed)
        #expect(
            state.withLock { $0.calls } == ["disconnected: the hub log did not respond to: an end"])
    }

    @Test func `a thread ends when its owner releases it`() throws {
        _ = try HubEventThread(RecordedHost(state))
        let isFreed = state.wait(until: Clock.testDeadline(), while: { !$0.isFreed })
        #expect(isFreed)
    }
}
