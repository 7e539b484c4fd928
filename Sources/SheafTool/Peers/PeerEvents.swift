import Sheaf

/// The output of the events of a running peer, one line per event.
struct PeerEvents: Sendable {
    let isJSON: Bool

    /// Prints an event of the transport or of a connection, except `attemptsEnded`.
    func writeEvent(_ event: PeerTransportEvent) {
        switch event {
        case .listening(let address):
            write("listening", [("address", address)], "listening \(address)")
        case .refused(let address, let reason):
            write(
                "refused", [("address", address), ("reason", reason)],
                "refused \(address): \(reason)")
        case .unreachable(let address, let reason, let milliseconds):
            write(
                "unreachable", [("address", address), ("reason", reason)],
                "unreachable \(address): \(reason); next try in \(milliseconds) ms")
        case .connected(let remote):
            let key = remote.key.description
            write(
                "connected", [("peer", key), ("address", remote.address)],
                "connected \(key) at \(remote.address)")
        case .disconnected(let remote, let reason):
            let key = remote.key.description
            write(
                "disconnected",
                [("peer", key), ("address", remote.address), ("reason", reason)],
                "disconnected \(key) at \(remote.address): \(reason)")
        case .discoveryFailed(let reason):
            write(
                "discovery failed", [("reason", reason)],
                "discovery failed on an interface, and is tried again: \(reason)")
        case .attemptsEnded: break
        }
    }

    /// Prints the progress of each long sync in which documents are received.
    func recordProgress(of peer: Peer) {
        for other in peer.presence.connectedPeers {
            if let progress = other.receiving { record(progress, from: other.key) }
        }
    }

    /// Prints how many documents have been received from a peer in a long sync.
    private func record(_ progress: SyncProgress, from key: PeerKey) {
        let (documents, remaining) = (progress.documents, progress.remaining)
        let all = remaining.map { " of \(documents + $0)" } ?? ""
        var line = JSONLine()
        line.add("event", "receiving")
        line.add("peer", "\(key)")
        line.add("documents", documents)
        line.add("remaining", remaining.map { UInt64($0) })
        write(line, "receiving documents from \(key): \(documents)\(all)")
    }

    /// Prints a conflict with another peer that has the same key.
    func record(_ conflict: PeerKeyConflict) {
        let reason = "\(conflict); each peer needs its own key, see 'sheaf keygen'"
        write(
            "conflict", [("peer", conflict.key.description), ("reason", reason)],
            "conflict: \(reason)")
    }

    func write(_ event: String, _ fields: [(String, String?)], _ sentence: String) {
        var line = JSONLine()
        line.add("event", event)
        for (name, value) in fields { line.add(name, value) }
        write(line, sentence)
    }

    private func write(_ line: JSONLine, _ sentence: String) {
        Output.writeNow(TerminalText.visible(isJSON ? line.closed : sentence))
    }
}
