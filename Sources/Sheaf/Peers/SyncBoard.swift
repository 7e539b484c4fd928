import SheafDocument
import SheafStorage
import Synchronization

/// What is known of other peers, for whoever asks: `system:data_sync_info`, and those who wait for a commit.
package final class SyncBoard: Sendable {
    /// One peer, as others see it.
    struct Row: Sendable {
        var status = SyncHost.Status()
        /// When something new came last, in milliseconds since 1970.
        var updatedAt: UInt64?
    }

    private struct Waiter: Sendable {
        let number: UInt64
        let key: [UInt8]
        let commit: UInt64
        let end: @Sendable (Bool) -> Void
    }

    private struct State: Sendable {
        var rows: [[UInt8]: Row] = [:]
        var isSyncing = false
        /// The types of the transports of the peer.
        var transports: [String] = []
        var waiters: [Waiter] = []
        /// Those who gave up before they began to wait.
        var cancelled: Set<UInt64> = []
        var count: UInt64 = 0
        var isClosed = false
    }

    private let state = Mutex(State())

    package init() {}

    /// Whether there are connections at all.
    func noteSyncing(_ isSyncing: Bool) {
        state.withLock { $0.isSyncing = isSyncing }
    }

    /// Sets the transports of the peer, by the names of their types.
    func noteTransports(_ names: [String]) {
        state.withLock { $0.transports = names }
    }

    /// The rows of `system:transports_info`.
    var transportRows: [Object] {
        let (names, isSyncing) = state.withLock { ($0.transports, $0.isSyncing) }
        return names.enumerated().map { number, name in
            [
                "_id": .string("\(number)"), "transport": .string(name),
                "is_active": .bool(isSyncing),
            ]
        }
    }

    /// Takes in what a host knows.
    func update(_ statuses: [[UInt8]: SyncHost.Status], at milliseconds: UInt64) {
        let done = state.withLock { state in
            for (key, status) in statuses {
                let old = state.rows[key]
                var row = old ?? Row()
                if status.updates > old?.status.updates ?? 0 { row.updatedAt = milliseconds }
                row.status = status
                state.rows[key] = row
            }
            return Self.takeDone(&state)
        }
        for waiter in done { waiter.end(true) }
    }

    private static func takeDone(_ state: inout State) -> [Waiter] {
        let rows = state.rows
        let done = state.waiters.filter { rows[$0.key]?.status.syncedUpTo ?? 0 >= $0.commit }
        state.waiters.removeAll { waiter in done.contains { $0.number == waiter.number } }
        return done
    }

    /// The rows of `system:data_sync_info`.
    var rows: [Object] {
        state.withLock { state in
            state.rows.sorted { $0.key.lexicographicallyPrecedes($1.key) }.map { key, row in
                let status =
                    !state.isSyncing
                    ? "Disabled" : row.status.isConnected ? "Connected" : "Not Connected"
                return [
                    "_id": .string(PeerKey(unchecked: key).description),
                    "is_ditto_server": .bool(row.status.isServer),
                    "clock": row.status.clock.object,
                    "documents": .object([
                        "sync_session_status": .string(status),
                        "last_close_reason": row.status.lastCloseReason.map(Value.string) ?? .null,
                        "synced_up_to_local_commit_id": .integer(
                            Int64(clamping: row.status.syncedUpTo ?? 0)),
                        "last_update_received_time": row.updatedAt.map {
                            .integer(Int64(clamping: $0))
                        } ?? .null,
                    ]),
                ]
            }
        }
    }

    /// Those who are connected now, and what they call themselves.
    var connected: [(key: [UInt8], status: SyncHost.Status)] {
        state.withLock { state in
            state.rows.filter(\.value.status.isConnected)
                .sorted { $0.key.lexicographicallyPrecedes($1.key) }
                .map { ($0.key, $0.value.status) }
        }
    }

    /// Returns true when a peer has a commit, and false where nobody will know any more.
    nonisolated(nonsending) func wait(for commit: UInt64, on key: [UInt8]) async throws -> Bool {
        let number = state.withLock { state in
            state.count += 1
            return state.count
        }
        let isThere = await withTaskCancellationHandler {
            await withUnsafeContinuation { (continuation: UnsafeContinuation<Bool, Never>) in
                let waiter = Waiter(number: number, key: key, commit: commit) {
                    continuation.resume(returning: $0)
                }
                let known: Bool? = state.withLock { state in
                    if state.rows[key]?.status.syncedUpTo ?? 0 >= commit { return true }
                    if state.isClosed || state.cancelled.remove(number) != nil { return false }
                    state.waiters.append(waiter)
                    return nil
                }
                if let known { continuation.resume(returning: known) }
            }
        } onCancel: {
            let waiter: Waiter? = state.withLock { state in
                guard let index = state.waiters.firstIndex(where: { $0.number == number }) else {
                    state.cancelled.insert(number)
                    return nil
                }
                return state.waiters.remove(at: index)
            }
            waiter?.end(false)
        }
        state.withLock { _ = $0.cancelled.remove(number) }
        if !isThere { try Task.checkCancellation() }
        return isThere
    }

    /// Lets go of all who wait.
    func close() {
        let waiters = state.withLock { state in
            state.isClosed = true
            state.isSyncing = false
            for key in state.rows.keys { state.rows[key]?.status.isConnected = false }
            defer { state.waiters = [] }
            return state.waiters
        }
        for waiter in waiters { waiter.end(false) }
    }
}
