package import SheafTransport
import Synchronization

/// The connection states published by the loop, readable from any thread.
package final class ConnectionStates: Sendable {
    package struct Entry: Sendable {
        package enum State: Sendable {
            case waiting(untilNanoseconds: UInt64, reason: String?)
            case connecting
            case connected(key: PeerKey, OutgoingQueue, TrafficMeter)
            case elsewhere(key: PeerKey)
        }

        let address: String
        let isOutgoing: Bool
        let state: State

        package init(address: String, isOutgoing: Bool, state: State) {
            self.address = address
            self.isOutgoing = isOutgoing
            self.state = state
        }
    }

    private struct State {
        var dialers: [Entry] = []
        /// The open connections, by the identifiers of their channels.
        var channels: [UInt64: Entry] = [:]
    }

    private let state = Mutex(State())

    package init() {}

    /// Replaces the published states of dialers, and those of some channels; nil removes one.
    package func publish(_ dialers: [Entry], _ channels: [UInt64: Entry?]) {
        state.withLock { state in
            state.dialers = dialers
            for (channel, entry) in channels { state.channels[channel] = entry }
        }
    }

    /// Returns the published states; `now` determines the remaining waiting times.
    package func connections(at now: UInt64) -> [NetworkConnectionStatus] {
        let state = state.withLock { $0 }
        let channels = state.channels.sorted { $0.key < $1.key }.map(\.value)
        return (state.dialers + channels).map { entry in
            var traffic = NetworkTraffic()
            if case .connected(_, _, let meter) = entry.state { traffic = meter.traffic }
            let state: NetworkConnectionStatus.State =
                switch entry.state {
                case .waiting(let until, let reason):
                    .waiting(
                        milliseconds: until > now ? Int((until - now) / 1_000_000) : 0,
                        reason: reason)
                case .connecting: .connecting
                case .connected(let key, let queue, _):
                    .connected(key: key, queuedBytes: queue.length)
                case .elsewhere(let key): .elsewhere(key: key)
                }
            return NetworkConnectionStatus(
                address: entry.address, isOutgoing: entry.isOutgoing, state: state, traffic: traffic
            )
        }
    }
}
