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

    /// Removes a connection that has ended, and records why.
    package func disconnect(
        _ number: UInt64, _ reason: CloseReason = .lost("the connection was lost")
    ) {
        guard let link = links.removeValue(forKey: number) else { return }
        emit(.ended(link: number, reason))
        note(disconnected: link, reason)
        noteReportsLost(link)
        mesh.closed(number, at: now)
        noteLost(link)
    }

    /// Ends all conversations.
    package func stop() {
        settleParts()
        for link in allLinks {
            link.session.end(Farewell(.done, "the peer stops"))
            handle(link)
        }
    }

    /// Ends a conversation because of something that went wrong here.
    func fail(_ link: Link, _ code: Farewell.Code, _ reason: String) {
        link.session.end(Farewell(code, reason))
        handle(link)
    }

    /// Records that a peer was refused on this side, as if its connection had ended with that reason.
    package func deny(_ key: [UInt8], at address: String, because reason: String) {
        let isThere = links.values.contains { $0.session.remote?.peerKey == key }
        // The connection that is permitted goes on.
        guard !isThere else { return }
        let farewell = Farewell(.refused, reason)
        _ = noteEnded(key, address, .ended(farewell, isRemote: false), afterShortTime: true)
    }

    /// Records why a connection ended, and writes it to the log: the first time in a row of short
    /// connections, and each time that their number has doubled.
    private func note(disconnected link: Link, _ reason: CloseReason) {
        guard let key = link.session.remote?.peerKey ?? link.expectedKey else {
            return writeToLog(reason, nil, 1)
        }
        let isStillThere = links.values.contains { $0.session.remote?.peerKey == key }
        // The other connection of the two goes on.
        guard !isStillThere else { return }
        let isSteady = now >= link.connectedAt + Self.steadyNanoseconds
        let count = noteEnded(key, link.address, reason, afterShortTime: !isSteady)
        if count & (count - 1) == 0 { writeToLog(reason, key, count) }
    }

    /// Sets the status of a peer without a connection; returns the number of short connections in a row.
    private func noteEnded(
        _ key: [UInt8], _ address: String, _ reason: CloseReason, afterShortTime isShort: Bool
    ) -> UInt64 {
        makeRoom(forPeer: key)
        var status = statuses[key] ?? Status()
        status.isConnected = false
        status.address = address
        status.lastCloseReason = "\(reason)"
        status.endedMilliseconds = wallMilliseconds
        status.shortConnections = isShort ? status.shortConnections + 1 : 1
        statuses[key] = status
        emit(.statusChanged)
        emit(.presenceChanged)
        return status.shortConnections
    }

    private func writeToLog(_ reason: CloseReason, _ key: [UInt8]?, _ count: UInt64) {
        var level = StoreLog.Level.warning
        // A single `done` is normal; a row of short connections that end with it is not.
        if case .ended(let farewell, _) = reason, farewell.code == .done, count < 2 {
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
