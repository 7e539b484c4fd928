import Sheaf

/// Prints what happens to a peer that runs, a line for each event.
struct PeerEvents: Sendable {
    let isJSON: Bool

    /// Where a peer listens, whom it refused, and whom it could not reach.
    func note(_ event: PeerTransportEvent) {
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
        case .attemptsEnded: break
        }
    }

    func noteConnected(_ remote: PeerIdentity) {
        let key = PeerKey(remote.key)?.description ?? ""
        write(
            "connected", [("peer", key), ("address", remote.address)],
            "connected \(key) at \(remote.address)")
    }

    func noteDisconnected(_ remote: PeerIdentity, _ reason: String) {
        let key = PeerKey(remote.key)?.description ?? ""
        write(
            "disconnected",
            [("peer", key), ("address", remote.address), ("reason", reason)],
            "disconnected \(key) at \(remote.address): \(reason)")
    }

    /// Another peer that has the key of this one.
    func note(_ conflict: PeerKeyConflict) {
        let reason = "\(conflict); each peer needs a key of its own, of 'sheaf keygen'"
        write(
            "conflict", [("peer", conflict.key.description), ("reason", reason)],
            "conflict: \(reason)")
    }

    private func write(_ event: String, _ fields: [(String, String?)], _ sentence: String) {
        guard isJSON else { return Output.writeNow(TerminalText.visible(sentence)) }
        var line = JSONLine()
        line.add("event", event)
        for (name, value) in fields { line.add(name, value) }
        Output.writeNow(TerminalText.visible(line.closed))
    }
}

/// A transport whose connections are told of as they come and go.
final class ToldTransport: PeerTransport {
    private let base: any PeerTransport
    private let events: PeerEvents
    private let host: Host

    init(_ base: any PeerTransport, _ events: PeerEvents) {
        self.base = base
        self.events = events
        host = Host(events)
    }

    func start(_ host: any PeerTransportHost) throws {
        self.host.real.set(host)
        try base.start(self.host)
    }

    func stop() {
        base.stop()
        host.real.set(nil)
    }

    private final class Host: PeerTransportHost {
        let real = WeakHost()
        private let events: PeerEvents

        init(_ events: PeerEvents) {
            self.events = events
        }

        func connected(_ connection: any PeerConnection) -> (any PeerLink)? {
            guard let link = real.host?.connected(connection) else { return nil }
            events.noteConnected(connection.remote)
            return Link(link, connection.remote, events)
        }

        func report(_ event: PeerTransportEvent) {
            real.host?.report(event)
        }
    }

    private final class Link: PeerLink {
        private let base: any PeerLink
        private let remote: PeerIdentity
        private let events: PeerEvents

        init(_ base: any PeerLink, _ remote: PeerIdentity, _ events: PeerEvents) {
            self.base = base
            self.remote = remote
            self.events = events
        }

        func received(_ bytes: UnsafeRawBufferPointer) {
            base.received(bytes)
        }

        func drained() {
            base.drained()
        }

        func closed(_ reason: String) {
            base.closed(reason)
            events.noteDisconnected(remote, reason)
        }
    }
}
