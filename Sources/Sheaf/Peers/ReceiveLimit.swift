package import SheafTransport
import Synchronization

/// The number of bytes received from all peers and not written yet, and the connections that wait.
///
/// A connection on which bytes arrive beyond the limit is not read, so that a slow store does not
/// buffer without bound. All connections are read again once half of the limit is written. Parts of
/// incomplete batches are not counted: they could never be written while nothing is read.
package final class ReceiveLimit: Sendable {
    private struct State {
        /// Number of bytes that wait for the replication thread.
        var queuedLength = 0
        /// Number of bytes of complete batches that are not written.
        var unwrittenLength = 0
        /// The connections that are not read, by number.
        var paused: [UInt64: any PeerConnection] = [:]

        var length: Int { queuedLength + unwrittenLength }
    }

    private let limit: Int
    private let state = Mutex(State())

    package init(_ limit: Int) {
        self.limit = limit
    }

    /// Counts received bytes; beyond the limit, the connection is not read any more.
    package func recordReceived(
        _ count: Int, on number: UInt64, from connection: any PeerConnection
    ) {
        let isExceeded = state.withLock { state in
            state.queuedLength += count
            guard state.length > limit else { return false }
            state.paused[number] = connection
            return true
        }
        guard isExceeded else { return }
        connection.setReading(false)
        // Another thread may have resumed the connection before this one stopped it.
        let isPaused = state.withLock { $0.paused[number] != nil }
        if !isPaused { connection.setReading(true) }
    }

    /// Records that received bytes were processed, and the number of bytes not written then.
    package func recordProcessed(_ count: Int = 0, unwritten: Int) {
        let resumed = state.withLock { state -> [any PeerConnection] in
            state.queuedLength -= count
            state.unwrittenLength = unwritten
            guard !state.paused.isEmpty, state.length <= limit / 2 else { return [] }
            defer { state.paused = [:] }
            return state.paused.sorted { $0.key < $1.key }.map(\.value)
        }
        for connection in resumed { connection.setReading(true) }
    }

    /// Removes a connection that has ended.
    package func remove(_ number: UInt64) {
        state.withLock { $0.paused[number] = nil }
    }
}
