import SheafBytes
import SheafStorage
import SheafSystem
import SheafTransport

/// Opening and reopening outgoing connections.
extension NetworkLoop {
    /// Starts keeping a connection to an address.
    func add(_ address: NetworkAddress) {
        guard dialer(to: address) == nil else { return }
        add(.address(address), at: now)
    }

    /// Starts keeping a connection to a target, from a time on.
    func add(_ target: Dialer.Target, at time: UInt64) {
        let identifier = newIdentifier()
        dialers[identifier] = Dialer(
            identifier: identifier, target: target, phase: .waiting(untilNanoseconds: time),
            backoff: Backoff(limits))
    }

    private func dialer(to address: NetworkAddress) -> Dialer? {
        dialers.values.first { dialer in
            if case .address(address) = dialer.target { true } else { false }
        }
    }

    /// Closes the connection to an address and stops reconnecting.
    func remove(_ address: NetworkAddress) {
        guard let dialer = dialer(to: address) else { return }
        dialers[dialer.identifier] = nil
        reportSuccess(dialer)
        for channel in Array(channels.values) where channel.dialer == dialer.identifier {
            guard channel.talkingKey != nil else {
                end(channel, .closedByOwnPeer)
                continue
            }
            _ = channel.queue.close()
            flush(channel)
        }
    }

    /// Resolves the address of a dialer and connects.
    func dial(_ identifier: UInt64) {
        guard var dialer = dialers[identifier] else { return }
        switch dialer.target {
        case .discovered(let peer): dialer.knownKey = connectedKey(of: peer)
        case .learned(let key, _):
            guard !hasDeparted(key) || connected[key] != nil else { return forget(dialer) }
            dialer.knownKey = key
        case .address: break
        }
        if let key = dialer.knownKey, connected[key] != nil {
            dialer.phase = .content(key: key)
            dialers[identifier] = dialer
            discoveredPeerIsConnected(key)
            return reportSuccess(dialer)
        }
        dialer.phase = .resolving
        dialers[identifier] = dialer
        switch dialer.target {
        case .discovered(let peer): resolved(identifier, .success(peer.sockets))
        case .learned: resolved(identifier, .success(dialer.rotatedAddresses))
        case .address(let address):
            if let found = try? SocketAddress.all(of: address, numeric: true) {
                resolved(identifier, .success(found))
            } else {
                resolve(address, for: identifier)
            }
        }
    }

    private func resolve(_ address: NetworkAddress, for identifier: UInt64) {
        let mailbox = share.mailbox
        do throws(ThreadRefused) {
            // Resolving may block for long and cannot be canceled, so it has its own thread.
            _ = try Thread(name: "sheaf-resolve") {
                do throws(NetworkError) {
                    let found = try SocketAddress.all(of: address, numeric: false)
                    mailbox.post(.resolved(dialer: identifier, .success(found)))
                } catch {
                    mailbox.post(.resolved(dialer: identifier, .failure(error)))
                }
            }
        } catch {
            let message = systemMessage(error.code)
            failed(identifier, NetworkError(.system, "cannot create a thread: \(message)"))
        }
    }

    /// Handles the result of resolving the address of a dialer.
    func resolved(_ identifier: UInt64, _ result: Result<[SocketAddress], NetworkError>) {
        guard let dialer = dialers[identifier], case .resolving = dialer.phase else { return }
        switch result {
        case .failure(let error): failed(identifier, error)
        case .success(let found):
            let isOnlyLocal = setup.credentials.identity.isOnlyLocal
            let allowed = found.filter { !isOnlyLocal || $0.isLoopback }
            guard !allowed.isEmpty else {
                failed(
                    identifier,
                    NetworkError(
                        .loopback,
                        "\(dialer.target.text.shortened(to: ErrorText.limit)) is not on this machine; a transport in "
                            + "development mode connects to no other machine unless "
                            + "allowsOtherMachines is set"
                    ))
                return
            }
            tryNext(identifier, allowed[...])
        }
    }

    private func tryNext(
        _ identifier: UInt64, _ addresses: ArraySlice<SocketAddress>,
        after last: NetworkError? = nil
    ) {
        guard var dialer = dialers[identifier] else { return }
        var addresses = addresses
        if dialer.expectedKey != nil { addresses = addresses.drop { !mayTryLearned($0) } }
        guard let address = addresses.first else {
            if let last { return failed(identifier, last) }
            // Nothing was tried, so there is nothing to report.
            return learnedPeerFailed(dialer, waiting: waitAgain(identifier))
        }
        do throws(NetworkError) {
            guard channels.count < limits.connections else {
                throw NetworkError(
                    .connections,
                    "the limit of \(limits.connections) connections is reached")
            }
            let socket = try Socket.connecting(to: address)
            let channel = Channel(
                newIdentifier(), socket,
                address: dialer.isConfigured ? dialer.target.text : address.description,
                role: .dialer,
                dialer: identifier, stage: .connecting, now: now, limits: limits,
                in: changes)
            channel.wantsToWrite = true
            if dialer.expectedKey != nil { channel.learnedHost = address.ip?.bytes }
            add(channel)
            dialer.phase = .trying(
                channel: channel.identifier, others: Array(addresses.dropFirst()))
            dialers[identifier] = dialer
        } catch {
            guard addresses.count > 1 else {
                failed(identifier, error)
                return
            }
            tryNext(identifier, addresses.dropFirst(), after: error)
        }
    }

    /// Schedules the next attempt after a channel of a dialer has ended.
    func dialerLost(_ channel: Channel, _ error: NetworkError) {
        guard let identifier = channel.dialer, var dialer = dialers[identifier] else { return }
        switch dialer.phase {
        case .connected(channel.identifier):
            let steady = UInt64(limits.steadyMilliseconds) * 1_000_000
            if let since = channel.connectedNanoseconds, now >= since + steady {
                dialer.backoff.reset()
            }
            dialer.lastFailure = error.description
            dialers[identifier] = dialer
            waitAgain(identifier)
        case .trying(channel.identifier, let others):
            var isNextTried = dialer.expectedKey.map { connected[$0] == nil } ?? false
            if case .connecting = channel.stage { isNextTried = true }
            if isNextTried, !others.isEmpty {
                tryNext(identifier, others[...], after: error)
            } else {
                failed(identifier, error)
            }
        default: break
        }
    }

    /// Schedules an attempt for each address of a peer whose other connection has ended.
    func peerIsGone(_ key: PeerKey) {
        for dialer in dialers.values {
            if case .content(key) = dialer.phase { waitAgain(dialer.identifier) }
        }
    }

    private func failed(_ identifier: UInt64, _ error: NetworkError) {
        guard var dialer = dialers[identifier] else { return }
        dialer.lastFailure = error.description
        dialer.failures += 1
        if let key = dialer.knownKey, connected[key] != nil {
            dialer.phase = .content(key: key)
            dialers[identifier] = dialer
            return reportSuccess(dialer)
        }
        dialers[identifier] = dialer
        let wait = waitAgain(identifier)
        reportFailure(of: dialer, error, waiting: wait)
        discoveredPeerFailed(dialer, waiting: wait)
        learnedPeerFailed(dialer, waiting: wait)
    }

    /// Reports a failed attempt, for found peers within the limit of reports.
    private func reportFailure(of dialer: Dialer, _ error: NetworkError, waiting wait: Int) {
        var reason = error.description
        if !dialer.isConfigured {
            // Announcements are not a way to flood the log.
            guard let omitted = failureReports.pass(atNanoseconds: now) else { return }
            if omitted > 0 { reason += " (and \(omitted) more attempts failed)" }
        }
        let event = PeerTransportEvent.unreachable(
            address: dialer.target.text, reason: reason, nextTryMilliseconds: wait)
        post { $0.report(event) }
    }

    /// Reports that a previously unreachable address needs no further attempt.
    func reportSuccess(_ dialer: Dialer) {
        guard dialer.lastFailure != nil else { return }
        post { $0.report(.attemptsEnded(address: dialer.target.text)) }
    }

    @discardableResult
    private func waitAgain(_ identifier: UInt64) -> Int {
        guard var dialer = dialers[identifier] else { return 0 }
        let wait = dialer.backoff.milliseconds(drawing: setup.random())
        dialer.phase = .waiting(untilNanoseconds: now + UInt64(wait) * 1_000_000)
        dialers[identifier] = dialer
        return wait
    }
}
