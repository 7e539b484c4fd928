package import SheafSync

/// Why a connection ended, for the log, the status of sync and `explain-sync`.
package enum CloseReason: Sendable, Equatable {
    /// One side said why.
    case ended(Farewell, isRemote: Bool)
    /// The transport lost it, and says why.
    case lost(String)
}

extension CloseReason: CustomStringConvertible {
    package var description: String {
        switch self {
        case .ended(let farewell, let isRemote):
            let text = farewell.text.isEmpty ? "\(farewell.code)" : farewell.text
            return (isRemote ? "the other side" : "this side") + " closed the connection: \(text)"
        case .lost(let reason): return reason
        }
    }
}

extension SyncHost {
    /// A connection that lasted so long ends a row of short ones.
    private static let steadyNanoseconds: UInt64 = 60_000_000_000

    /// Records why a connection ended, and writes it to the log: the first time in a row of short
    /// connections, and each time that their number has doubled.
    func note(disconnected link: Link, _ reason: CloseReason) {
        guard let key = link.session.remote?.peerKey ?? link.expectedKey else {
            return writeToLog(reason, nil, 1)
        }
        let isStillThere = links.values.contains { $0.session.remote?.peerKey == key }
        // The other connection of the two goes on.
        guard !isStillThere else { return }
        makeRoom(forPeer: key)
        let old = statuses[key]
        var status = old ?? Status()
        let isSteady = now >= link.connectedAt + Self.steadyNanoseconds
        status.isConnected = false
        status.lastCloseReason = "\(reason)"
        status.shortConnections = isSteady ? 1 : status.shortConnections + 1
        statuses[key] = status
        emit(.statusChanged)
        let count = status.shortConnections
        if count & (count - 1) == 0 { writeToLog(reason, key, count) }
    }

    private func writeToLog(_ reason: CloseReason, _ key: [UInt8]?, _ count: UInt64) {
        if case .ended(let farewell, _) = reason, farewell.code == .done { return }
        queries.log?.write(
            .warning, "a connection to a peer has ended",
            [
                "peer": key.map { PeerKey(unchecked: $0).description } ?? "unknown",
                "reason": "\(reason)", "connections": "\(count)",
            ])
    }
}
