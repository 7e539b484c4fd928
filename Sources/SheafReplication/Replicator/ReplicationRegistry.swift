package import SheafDocument
import SheafQuery
package import SheafStatements
import SheafStorage
import SheafTransport
import Synchronization

/// The replication status of other peers, for system collections and for waiting callers.
package final class ReplicationRegistry: Sendable {
    /// The status of one peer.
    struct Row: Sendable {
        var status = ReplicationStatus()
        /// Time of the last update received, in milliseconds since 1970.
        var updatedAt: UInt64?
    }

    fileprivate struct Waiter: Sendable {
        let number: UInt64
        let key: [UInt8]
        let commit: UInt64
        let end: @Sendable (WaitEnd) -> Void
    }

    /// The result of waiting for a commit.
    package enum WaitEnd: Sendable {
        case reached
        case refused(RefusedWrite)
        /// Unrecorded documents were refused, some of which may belong to the commit.
        case refusedUnnamed(UInt64)
        /// This peer was closed, or the task was canceled.
        case ended
    }

    fileprivate struct State: Sendable {
        var rows: [[UInt8]: Row] = [:]
        /// The local writes that other peers refuse, by the keys of the peers.
        var refusals: [[UInt8]: PeerRefusals] = [:]
        var onRefusedWrites: (@Sendable ([RefusedWrite]) -> Void)?
        var isSyncing = false
        /// The names of the types of the transports.
        var transports: [String] = []
        /// The open connections by number; a newer one to the same peer has a greater number.
        var traffic: [UInt64: ConnectionTraffic] = [:]
        var waiters: [Waiter] = []
        /// Numbers of the waiters canceled before they were added.
        var cancelled: Set<UInt64> = []
        var count: UInt64 = 0
        var isClosed = false
    }

    private let state = Mutex(State())

    package init() {}

    /// Registers the system collections about replication.
    package func register(in queries: QueryEngine) {
        let collections = queries.registeredCollections
        collections.register("data_sync_info") { [self] in rows }
        collections.register("refused_writes") { [self] in refusedRows }
        collections.register("transports_info") { [self] in transportRows }
    }

    /// Records whether the transports are started.
    package func recordSyncing(_ isSyncing: Bool) {
        state.withLock { $0.isSyncing = isSyncing }
    }

    /// Sets the transports of the peer, by the names of their types.
    package func recordTransports(_ names: [String]) {
        state.withLock { $0.transports = names }
    }

    /// Adds a connection, or removes it with nil.
    package func record(_ traffic: ConnectionTraffic?, ofConnection number: UInt64) {
        state.withLock { $0.traffic[number] = traffic }
    }

    /// Returns the bytes of the newest connection to a peer; nil without one.
    package func traffic(with key: [UInt8]) -> ConnectionTraffic? {
        state.withLock { state in
            state.traffic.filter { $0.value.key == key }.max { $0.key < $1.key }?.value
        }
    }

    /// Returns the status of a remembered peer.
    package func status(of key: [UInt8]) -> ReplicationStatus? {
        state.withLock { $0.rows[key]?.status }
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

    /// Updates the status and the refusals of peers, and completes waiters.
    package func update(
        _ statuses: [[UInt8]: ReplicationStatus], _ refusals: [[UInt8]: PeerRefusals],
        at milliseconds: UInt64
    ) {
        let done = state.withLock { state in
            for (key, refusals) in refusals {
                state.refusals[key] = refusals.isEmpty ? nil : refusals
            }
            for (key, status) in statuses {
                let old = state.rows[key]
                var row = old ?? Row()
                if status.updates > old?.status.updates ?? 0 { row.updatedAt = milliseconds }
                row.status = status
                state.rows[key] = row
            }
            return Self.removeFinished(&state)
        }
        for (waiter, end) in done { waiter.end(end) }
    }

    private static func removeFinished(_ state: inout State) -> [(Waiter, WaitEnd)] {
        var done: [(Waiter, WaitEnd)] = []
        state.waiters = state.waiters.filter { waiter in
            guard let end = state.end(for: waiter.commit, on: waiter.key) else { return true }
            done.append((waiter, end))
            return false
        }
        return done
    }

    /// All refused writes, in the order of the keys of the peers.
    package var refusedWrites: [RefusedWrite] {
        state.withLock { state in
            state.refusals.sorted { $0.key.lexicographicallyPrecedes($1.key) }
                .flatMap(\.value.writes)
        }
    }

    /// The rows of `system:refused_writes`.
    var refusedRows: [Object] { refusedWrites.map(\.row) }

    /// Sets the listener for refused writes, and calls it with the known ones.
    package func onRefusedWrites(_ listener: (@Sendable ([RefusedWrite]) -> Void)?) {
        state.withLock { $0.onRefusedWrites = listener }
        let known = refusedWrites
        if !known.isEmpty { listener?(known) }
    }

    /// Calls the listener with newly refused writes.
    package func announce(_ writes: [RefusedWrite]) {
        state.withLock(\.onRefusedWrites)?(writes)
    }

    /// The rows of `system:data_sync_info`.
    package var rows: [Object] {
        state.withLock { state in
            state.rows.sorted { $0.key.lexicographicallyPrecedes($1.key) }.map { key, row in
                let status =
                    !state.isSyncing
                    ? "Disabled" : row.status.isConnected ? "Connected" : "Not Connected"
                return [
                    "_id": .string(PeerKey(unchecked: key).description),
                    "is_ditto_server": .bool(row.status.isServer),
                    "clock": row.status.clock.object,
                    "attachments": .object([
                        "quota_reason": row.status.attachmentQuotaReason.map(Value.string) ?? .null
                    ]),
                    "documents": .object([
                        "sync_session_status": .string(status),
                        "last_close_reason": row.status.lastCloseReason.map(Value.string) ?? .null,
                        "synced_up_to_local_commit_id": .integer(
                            Int64(clamping: row.status.syncedUpTo ?? 0)),
                        "delivered_up_to_local_commit_id": .integer(
                            Int64(clamping: state.delivered(to: key))),
                        "receiving": .progress(row.status.receiving),
                        "sending": .progress(row.status.sending),
                        "last_update_received_time": row.updatedAt.map {
                            .integer(Int64(clamping: $0))
                        } ?? .null,
                    ]),
                ]
            }
        }
    }

    /// The status of the connected peers, in the order of their keys.
    package var connected: [(key: [UInt8], status: ReplicationStatus)] {
        state.withLock { state in
            state.rows.filter(\.value.status.isConnected)
                .sorted { $0.key.lexicographicallyPrecedes($1.key) }
                .map { ($0.key, $0.value.status) }
        }
    }

    /// Waits until a peer has a commit or has refused part of it, or this peer is closed.
    package nonisolated(nonsending) func wait(
        for commit: UInt64, on key: [UInt8]
    ) async throws -> WaitEnd {
        let number = state.withLock { state in
            state.count += 1
            return state.count
        }
        let end = await withTaskCancellationHandler {
            await withUnsafeContinuation { (continuation: UnsafeContinuation<WaitEnd, Never>) in
                let waiter = Waiter(number: number, key: key, commit: commit) {
                    continuation.resume(returning: $0)
                }
                let known: WaitEnd? = state.withLock { state in
                    if let end = state.end(for: commit, on: key) { return end }
                    if state.isClosed || state.cancelled.remove(number) != nil { return .ended }
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
            waiter?.end(.ended)
        }
        state.withLock { _ = $0.cancelled.remove(number) }
        if case .ended = end { try Task.checkCancellation() }
        return end
    }

    /// Ends all waiting, and marks all peers as disconnected.
    package func close() {
        let waiters = state.withLock { state in
            state.isClosed = true
            state.onRefusedWrites = nil
            state.isSyncing = false
            state.traffic = [:]
            for key in state.rows.keys { state.rows[key]?.status.isConnected = false }
            defer { state.waiters = [] }
            return state.waiters
        }
        for waiter in waiters { waiter.end(.ended) }
    }
}

extension ReplicationRegistry.State {
    /// Returns the newest commit delivered to a peer before the first refused one; 0 if unknown.
    fileprivate func delivered(to key: [UInt8]) -> UInt64 {
        let delivered = rows[key]?.status.deliveredUpTo ?? 0
        guard let refusals = refusals[key] else { return delivered }
        guard refusals.omitted == 0 else { return 0 }
        let refused = refusals.writes.compactMap(\.commitIDs.first).min() ?? .max
        return min(delivered, UInt64(clamping: max(refused, 1) - 1))
    }

    /// Returns the result of waiting for a commit; nil if it is not decided yet.
    fileprivate func end(for commit: UInt64, on key: [UInt8]) -> ReplicationRegistry.WaitEnd? {
        if let refusals = refusals[key] {
            if let write = refusals.writes.first(where: { $0.concerns(commit) }) {
                return .refused(write)
            }
            if refusals.omitted > 0, refusals.omittedThrough >= commit {
                return .refusedUnnamed(refusals.omitted)
            }
        }
        return rows[key]?.status.syncedUpTo ?? 0 >= commit ? .reached : nil
    }
}
