import SheafEngine
import SheafStatements
import SheafStorage
import SheafSync
import SheafTransport

extension Replicator {
    /// Minimum duration of a connection that is not counted as short, in nanoseconds.
    private static let steadyNanoseconds: UInt64 = 60_000_000_000

    /// Removes a connection that has ended, and records the reason.
    package func disconnect(
        _ number: UInt64, _ reason: CloseReason = .lost("the connection was lost")
    ) {
        end(number, reason)
        pump()
    }

    func end(_ number: UInt64, _ reason: CloseReason) {
        guard let connection = table.remove(number) else { return }
        emit(.ended(connection: number, reason))
        record(disconnected: connection, reason)
        mesh.closed(number, at: now)
        transfer.close(number)
    }

    /// Ends all connections.
    package func stop() {
        transfer.flushChunks()
        for connection in orderedConnections {
            fail(connection, .done, "the peer stops")
        }
    }

    /// Ends a connection with a close message, before the caller continues.
    func fail(_ connection: Connection, _ code: CloseMessage.Code, _ reason: String) {
        connection.session.end(CloseMessage(code, reason))
        settle(connection)
    }

    /// Records that this peer refused another one, as if a connection had ended for that reason.
    package func deny(_ key: [UInt8], at address: String, because reason: String) {
        // A permitted connection to the peer remains open.
        guard !table.isConnected(key) else { return }
        let closeMessage = CloseMessage(.refused, reason)
        _ = recordEnded(key, address, .ended(closeMessage, isRemote: false), afterShortTime: true)
    }

    /// Records and logs why a connection ended.
    ///
    /// Of consecutive short connections, the first is logged, and again each time their number
    /// doubles.
    private func record(disconnected connection: Connection, _ reason: CloseReason) {
        guard let key = connection.session.remote?.peerKey ?? connection.expectedKey else {
            return writeToLog(reason, nil, 1)
        }
        // Another connection to the peer remains open.
        guard !table.isConnected(key) else { return }
        let isSteady = now >= connection.connectedAt + Self.steadyNanoseconds
        let count = recordEnded(key, connection.address, reason, afterShortTime: !isSteady)
        if count & (count - 1) == 0 { writeToLog(reason, key, count) }
    }

    /// Sets the status of a disconnected peer; returns its number of consecutive short connections.
    private func recordEnded(
        _ key: [UInt8], _ address: String, _ reason: CloseReason, afterShortTime isShort: Bool
    ) -> UInt64 {
        makeRoom(forPeer: key)
        let count = peers.recordEnded(
            key, at: address, reason, wall: wallMilliseconds, isShort: isShort)
        emit(.statusChanged)
        emit(.presenceChanged)
        return count
    }

    private func writeToLog(_ reason: CloseReason, _ key: [UInt8]?, _ count: UInt64) {
        var level = StoreLog.Level.warning
        // A single `done` is normal; consecutive short connections that end with it are not.
        if case .ended(let closeMessage, _) = reason, closeMessage.code == .done, count < 2 {
            level = .info
        }
        queries.log?.write(
            level, "a connection to a peer has ended",
            [
                "peer": key.map { PeerKey(unchecked: $0).description } ?? "unknown",
                "reason": "\(reason)", "connections": "\(count)",
            ])
    }
}
