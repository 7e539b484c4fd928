package import SheafHubLog
import SheafSystem

/// The thread on which an engine calls its host, with the events that wait for it.
package final class HubEventThread: Sendable {
    package enum Event: Sendable {
        case stored(HubMessageID, as: UInt64)
        case failed(HubMessageID, HubLogError)
        case received([HubLogEntry], of: HubShard)
        case broadcast([UInt8])
        case reread(ClosedRange<UInt64>, of: HubShard, HubLogError?)
        case connected
        case disconnected(HubLogError)
    }

    private struct State {
        var events: [Event] = []
        var isStopped = false
    }

    /// Maximum number of events that wait; beyond it, broadcasts are lost.
    ///
    /// The other events are limited by the messages and bytes that a hub has outstanding.
    package static let waitingEvents = 1 << 16
    /// Maximum number of entries in one call.
    private static let entriesPerCall = 1_024

    private let state: Monitor<State>
    private let thread: Thread

    /// Starts the thread, which retains the host until `stop`.
    package init(_ host: any HubLogHost) throws(HubLogError) {
        let state = Monitor(State())
        self.state = state
        do throws(ThreadRefused) {
            thread = try Thread(name: "sheaf-hub-event") { Self.run(state, host) }
        } catch {
            throw .refused("the system has no thread for the hub log (error \(error.code))")
        }
    }

    deinit { end() }

    /// Adds an event; it is lost after `stop`.
    package func post(_ event: Event) {
        state.withLock { state in
            guard !state.isStopped else { return }
            if case .broadcast = event, state.events.count >= Self.waitingEvents { return }
            state.events.append(event)
        }
        state.signal()
    }

    /// Discards the waiting events, and returns after the last call of the host.
    ///
    /// On the thread itself it returns at once, and no other call follows the current one.
    package func stop() {
        end()
        thread.join()
    }

    private func end() {
        state.withLock { state in
            state.isStopped = true
            state.events = []
        }
        state.broadcast()
    }

    private static func run(_ state: Monitor<State>, _ host: any HubLogHost) {
        while true {
            let events = state.wait(while: { $0.events.isEmpty && !$0.isStopped }) { state in
                defer { state.events = [] }
                return state.events
            }
            guard !events.isEmpty else { return }
            var index = 0
            while index < events.count {
                guard !state.withLock({ $0.isStopped }) else { return }
                index = call(host, events, at: index)
            }
        }
    }

    /// Reports an event, and those after it that are entries of the same shard; returns the next.
    private static func call(_ host: any HubLogHost, _ events: [Event], at index: Int) -> Int {
        switch events[index] {
        case .stored(let id, let entry): host.stored(id, as: entry)
        case .failed(let id, let error): host.failed(id, error)
        case .broadcast(let bytes): host.received(broadcast: bytes)
        case .reread(let entries, let shard, let error):
            host.reread(entries, of: shard, error)
        case .connected: host.connected()
        case .disconnected(let error): host.disconnected(error)
        case .received(var entries, let shard):
            var next = index + 1
            while next < events.count, entries.count < entriesPerCall,
                case .received(let more, shard) = events[next]
            {
                entries += more
                next += 1
            }
            host.received(entries, of: shard)
            return next
        }
        return index + 1
    }
}
