import SheafTransport

/// Transferring bytes on open connections, and closing them.
extension NetworkLoop {
    /// Maximum number of records read or written on one channel before the next one is served.
    private static let recordsAtOnce = 32

    /// Reads available bytes and passes them to `handler`.
    func listen(_ channel: Channel, _ session: TLSSession, _ handler: any PeerConnectionHandler) {
        defer { channel.traffic.record(session.traffic) }
        for round in 0..<Self.recordsAtOnce {
            // The host may stop the reading at any time.
            guard round == 0 || channel.sender.isReading else { return changes.add(channel) }
            // After this end has closed the connection, the handler receives nothing more.
            guard channels[channel.identifier] === channel, channel.talkingKey != nil,
                !channel.queue.isClosing
            else { return }
            switch session.read(into: incoming) {
            case .done(let count):
                handler.received(UnsafeRawBufferPointer(rebasing: incoming[..<count]))
            case .needsRead: return
            case .needsWrite:
                channel.wantsToWrite = true
                return
            case .ended:
                end(channel, .closedByRemotePeer)
                return
            case .failed(let error):
                end(channel, error)
                return
            }
        }
        channel.isUnfinished = true
    }

    /// Writes queued bytes until the socket is full.
    func flush(_ channel: Channel) {
        let session: TLSSession
        switch channel.stage {
        case .connecting, .tlsHandshake, .silence: return
        case .handshake(let local, _, _, _), .exchange(let local, _, _),
            .closeMessage(let local):
            session = local
        }
        channel.queue.acknowledge()
        guard !channel.queue.isOverfull else {
            end(
                channel,
                NetworkError(
                    .queue,
                    "more than \(limits.queuedBytes) bytes are queued; the peer receives too "
                        + "slowly"))
            return
        }
        channel.wantsToWrite = false
        defer { setClosingDeadline(channel) }
        let waiting = channel.queue.length
        let outcome = channel.sender.send(over: session, records: Self.recordsAtOnce)
        // The closing deadline is renewed while the peer still receives bytes.
        if channel.queue.isClosing, channel.queue.length < waiting {
            channel.deadlineNanoseconds = nil
        }
        switch outcome {
        case .sent(let hasEmptied):
            if channel.queue.length > 0 { channel.isUnfinished = true }
            wrote(channel, session, hasEmptied: hasEmptied)
        case .blocked: channel.wantsToWrite = true
        case .ended: end(channel, .closedByRemotePeer)
        case .failed(let error): broke(channel, session, error)
        }
    }

    /// Ends a channel after a failed write; bytes received before the failure are still delivered.
    private func broke(_ channel: Channel, _ session: TLSSession, _ error: NetworkError) {
        guard case .exchange(_, let handler, _) = channel.stage else {
            end(channel, error)
            return
        }
        while channels[channel.identifier] === channel {
            switch channel.queue.isClosing ? .failed(error) : session.read(into: incoming) {
            case .done(let count):
                handler.received(UnsafeRawBufferPointer(rebasing: incoming[..<count]))
            case .ended: end(channel, .closedByRemotePeer)
            case .needsRead, .needsWrite, .failed: end(channel, error)
            }
        }
    }

    private func wrote(_ channel: Channel, _ session: TLSSession, hasEmptied: Bool) {
        switch channel.stage {
        case .exchange(_, let handler, _):
            if channel.queue.isFinished {
                splitConnection(channel, session)
            } else if hasEmptied, !channel.queue.isClosing {
                handler.drained()
            }
        case .closeMessage where channel.queue.length == 0: splitConnection(channel, session)
        default: break
        }
    }

    /// Sends the queued bytes, such as a refusal, and a close alert, then ends the channel.
    func sendCloseMessage(_ channel: Channel, _ session: TLSSession) {
        channel.stage = .closeMessage(session)
        channel.sender.restart()
        channel.deadlineNanoseconds = nil
        dialerLost(channel, NetworkError(.host, "the host refused the connection"))
        flush(channel)
    }

    /// Sends a close alert after the last queued byte, and waits for the peer to close.
    ///
    /// Closing a socket with unread input would reset the connection and discard the bytes sent.
    private func splitConnection(_ channel: Channel, _ session: TLSSession) {
        guard session.sendCloseMessage() else {
            channel.wantsToWrite = true
            return
        }
        channel.socket.endSending()
        let (last, error) = (channel.stage, channel.closing(.closedByOwnPeer))
        channel.stage = .silence
        channel.wantsToWrite = false
        channel.deadlineNanoseconds = nil
        setClosingDeadline(channel)
        guard case .exchange(_, let handler, let key) = last else { return }
        left(channel, handler, key, error)
        channel.parting = (key, error)
    }

    /// Ends a channel immediately.
    func end(_ channel: Channel, _ error: NetworkError) {
        guard remove(channel) else { return }
        let last = channel.stage
        switch last {
        case .exchange(let session, let handler, let key):
            let error = channel.closing(error)
            // Without a close alert the peer sees a truncated stream, which is correct if bytes are
            // lost.
            if channel.queue.die() == 0 { _ = session.sendCloseMessage() }
            channel.stage = .silence
            left(channel, handler, key, error)
            peerLeft(channel, key, error)
        case .connecting, .tlsHandshake, .handshake:
            channel.queue.die()
            dialerLost(channel, error)
        case .closeMessage, .silence:
            channel.queue.die()
            if let (key, error) = channel.parting { peerLeft(channel, key, error) }
        }
    }

    private func left(
        _ channel: Channel, _ handler: any PeerConnectionHandler, _ key: PeerKey,
        _ error: NetworkError
    ) {
        channel.queue.die()
        channel.sender.close()
        if connected[key] == channel.identifier { connected[key] = nil }
        nextLearning = now
        areStatesOutdated = true
        newStates.updateValue(nil, forKey: channel.identifier)
        handler.closed(error.description)
    }

    /// Allows redialing once the peer has closed too, since it may have been reading until then.
    private func peerLeft(_ channel: Channel, _ key: PeerKey, _ error: NetworkError) {
        dialerLost(channel, error)
        if connected[key] == nil { peerIsGone(key) }
    }

    /// Sets the deadline of a closing channel.
    private func setClosingDeadline(_ channel: Channel) {
        guard channel.deadlineNanoseconds == nil else { return }
        switch channel.stage {
        case .connecting, .tlsHandshake, .handshake: return
        case .exchange: guard channel.queue.isClosing else { return }
        case .closeMessage, .silence: break
        }
        channel.deadlineNanoseconds = now + UInt64(limits.closingMilliseconds) * 1_000_000
    }

    /// Publishes the states of all dialers and of the connections that have begun or ended.
    func publishConnectionStates() {
        areStatesOutdated = false
        var entries: [ConnectionStates.Entry] = []
        for dialer in dialers.values.sorted(by: { $0.identifier < $1.identifier }) {
            let state: ConnectionStates.Entry.State
            switch dialer.phase {
            case .waiting(let until):
                state = .waiting(untilNanoseconds: until, reason: dialer.lastFailure)
            case .resolving, .trying: state = .connecting
            case .content(let key): state = .elsewhere(key: key)
            case .connected: continue
            }
            entries.append(
                ConnectionStates.Entry(
                    address: dialer.target.text, isOutgoing: true, state: state))
        }
        share.connectionStates.publish(entries, newStates)
        newStates = [:]
    }
}

extension Channel {
    /// Returns the close error: the reason passed to `close`, if this end closed the connection.
    fileprivate func closing(_ error: NetworkError) -> NetworkError {
        guard error.rule == .closed, let reason = queue.closeReason else { return error }
        return NetworkError(.closed, reason)
    }

    /// Whether to poll for reading.
    ///
    /// False while connecting, while the last bytes are being sent, and while the host says so.
    var wantsReading: Bool {
        switch stage {
        case .connecting, .closeMessage: false
        case .tlsHandshake, .handshake, .silence: true
        case .exchange: !queue.isClosing && sender.isReading
        }
    }
}
