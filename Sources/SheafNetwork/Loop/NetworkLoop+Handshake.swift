import SheafBytes
import SheafDocument
import SheafTransport

/// Establishing connections: connect, TLS handshake, and the handshake that authenticates peers.
extension NetworkLoop {
    /// Continues a channel in its current stage.
    ///
    /// `isClosed` tells whether the socket is closed in both directions, or has failed.
    func serve(_ channel: Channel, writable: Bool, isClosed: Bool) {
        channel.isUnfinished = false
        switch channel.stage {
        case .connecting: if writable { connected(channel) }
        case .tlsHandshake(let session): performTLSHandshake(channel, session)
        case .handshake: receiveHandshake(channel)
        case .exchange(let session, let handler, _):
            if channel.wantsToWrite || channel.queue.length > 0 {
                flush(channel)
                guard channels[channel.identifier] === channel, channel.talkingKey != nil else {
                    return
                }
            }
            // A failed connection ends even while nothing is read from it.
            if channel.sender.isReading || isClosed { listen(channel, session, handler) }
        case .closeMessage:
            flush(channel)
        case .silence:
            if !channel.socket.discard(into: incoming) { end(channel, .closedByOwnPeer) }
        }
    }

    private func connected(_ channel: Channel) {
        if let failure = channel.socket.connectFailure {
            let address = channel.address.shortened(to: ErrorText.limit)
            return end(
                channel, NetworkError(.address, "\(address) cannot be reached: \(failure)"))
        }
        do throws(NetworkError) {
            let session = try TLSSession(
                setup.tls, socket: channel.socket.number, role: .dialer)
            channel.stage = .tlsHandshake(session)
            performTLSHandshake(channel, session)
        } catch {
            end(channel, error)
        }
    }

    private func performTLSHandshake(_ channel: Channel, _ session: TLSSession) {
        channel.wantsToWrite = false
        let step = session.performHandshake()
        if !channel.hasReceived { channel.hasReceived = session.traffic.receivedBytes > 0 }
        switch step {
        case .needsRead: break
        case .needsWrite: channel.wantsToWrite = true
        case .ended: refuse(channel, NetworkError(.cut, "the peer closed the connection"))
        case .failed(let error): refuse(channel, error)
        case .done: beginHandshake(channel, session)
        }
    }

    private func beginHandshake(_ channel: Channel, _ session: TLSSession) {
        do throws(NetworkError) {
            let key = try session.remoteKey()
            try checkLearned(key, at: channel)
            let handshake = Handshake(
                setup.credentials, role: channel.role, remoteKey: key,
                exporter: try session.exporter(), metadata: post { $0.metadata } ?? Object())
            channel.stage = .handshake(session, handshake, received: [], key: key)
            try handshake.begin(at: wallNow)
            if let dialer = channel.dialer { dialers[dialer]?.knownKey = key }
            if channel.role == .dialer {
                _ = channel.queue.append(handshake.words)
                flush(channel)
                guard channels[channel.identifier] === channel else { return }
            }
            receiveHandshake(channel)
        } catch {
            refuse(channel, error)
        }
    }

    private func receiveHandshake(_ channel: Channel) {
        if channel.wantsToWrite { flush(channel) }
        while channels[channel.identifier] === channel,
            case .handshake(let session, var handshake, var received, let key) = channel.stage
        {
            // Never read past the handshake: the bytes after it belong to the replication
            // protocol.
            let wanted = handshake.requiredLength - received.count
            let room = UnsafeMutableRawBufferPointer(
                rebasing: incoming[..<min(wanted, incoming.count)])
            switch session.read(into: room) {
            case .needsRead: return
            case .needsWrite:
                channel.wantsToWrite = true
                return
            case .ended:
                refuse(channel, NetworkError(.cut, "the peer closed without a greeting"))
            case .failed(let error): refuse(channel, error)
            case .done(let count):
                received.append(contentsOf: room[..<count])
                do throws(NetworkError) {
                    var outcome: Handshake.Outcome?
                    if received.count == handshake.requiredLength {
                        outcome = try handshake.received(received, at: wallNow)
                        received = []
                    }
                    channel.stage = .handshake(
                        session, handshake, received: received, key: key)
                    if let outcome { welcome(channel, session, handshake, key, outcome) }
                } catch {
                    refuse(channel, error)
                }
            }
        }
    }

    /// Passes an authenticated connection to the host.
    private func welcome(
        _ channel: Channel, _ session: TLSSession, _ handshake: Handshake, _ key: PeerKey,
        _ outcome: Handshake.Outcome
    ) {
        if let other = connected[key].flatMap({ channels[$0] }) {
            let isKept = DuplicateConnections.isNewKept(
                oldRole: other.role, oldNanoseconds: now - (other.connectedNanoseconds ?? now),
                newRole: channel.role, ownKey: setup.credentials.publicKey, remoteKey: key)
            let error = NetworkError(.duplicate, "another connection to the same peer is kept")
            guard isKept else {
                refuse(channel, error)
                return
            }
            end(other, error)
        }
        if channel.role == .listener { _ = channel.queue.append(handshake.words) }
        let remote = PeerIdentity(
            key: key, address: channel.address, rights: outcome.rights, metadata: outcome.metadata)
        let connection = TCPConnection(
            remote, own: setup.credentials.grant?.rights, channel.identifier, channel.sender,
            share.mailbox)
        guard let handler = post({ $0.connected(connection) }) ?? nil else {
            // A listener has not sent its greeting yet, so it sends the refusal instead. A dialer
            // has sent its greeting; the bytes that its host has queued follow.
            if channel.role == .listener {
                channel.queue.replaceAll(with: Greeting(refusing: .host).bytes)
            }
            sendCloseMessage(channel, session)
            return
        }
        channel.stage = .exchange(session, handler, key: key)
        channel.deadlineNanoseconds = nil
        channel.endMilliseconds = outcome.endMilliseconds
        channel.connectedNanoseconds = now
        unknown[channel.identifier] = nil
        channel.isUnfinished = true
        connected[key] = channel.identifier
        if let dialer = channel.dialer {
            if let dialer = dialers[dialer] { reportSuccess(dialer) }
            dialers[dialer]?.phase = .connected(channel: channel.identifier)
            if let host = channel.learnedHost { learnedPeers.reached(host) }
            dialers[dialer]?.lastFailure = nil
            dialers[dialer]?.failures = 0
        }
        areStatesOutdated = true
        newStates[channel.identifier] = ConnectionStates.Entry(
            address: channel.address, isOutgoing: channel.role == .dialer,
            state: .connected(key: key, channel.queue, channel.traffic))
        channel.sender.open(session)
        flush(channel)
    }

    /// Ends a channel that failed to authenticate.
    ///
    /// A listener first sends the reason, if it has a refusal code and the TLS handshake is over.
    func refuse(_ channel: Channel, _ error: NetworkError) {
        // Failures of outgoing connections are reported when the next attempt is scheduled.
        // Duplicates are normal when two peers connect to each other at the same time.
        if channel.role == .listener, error.rule != .duplicate {
            reportRefusal(channel.address, error)
        }
        guard channel.role == .listener, let refusal = Greeting.Refusal(error.rule),
            case .handshake(let session, _, _, _) = channel.stage
        else {
            end(channel, error)
            return
        }
        channel.queue.replaceAll(with: Greeting(refusing: refusal).bytes)
        sendCloseMessage(channel, session)
    }
}
