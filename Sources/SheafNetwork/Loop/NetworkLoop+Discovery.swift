import SheafTransport

/// Finding peers on the local network.
extension NetworkLoop {
    /// Time for which the peer with the greater name leaves it to the other one to connect.
    package static let patienceNanoseconds: UInt64 = 300_000_000

    /// Turns discovery on or off.
    func setDiscovery(_ discovery: PeerDiscovery) {
        switch discovery {
        case .off:
            discoveredPeers = DiscoveredPeers()
            learnedPeers = LearnedPeers(limits)
            for dialer in Array(dialers.values) where !dialer.isConfigured { forget(dialer) }
            self.discovery?.stop()
            self.discovery = nil
            publishAddresses()
        case .localNetwork:
            guard self.discovery == nil, !setup.credentials.identity.isOnlyLocal else { return }
            self.discovery = LocalDiscovery(
                DiscoveryKey(setup.credentials), setup.credentials.publicKey,
                listeners.compactMap(\.ownAddress), now: now, random: setup.random)
            propose(proposals)
        }
    }

    /// Handles what is due in the discovery, and what was found.
    func advanceDiscovery() {
        guard let discovery else { return }
        for effect in discovery.advance(now: now) {
            switch effect {
            case .found(let peer): found(peer)
            case .lost(let name): lost(name)
            case .send: break
            }
        }
        endConnections(from: discovery.removed)
        reportDiscoveryFailure(discovery.failure)
        publishAddresses()
        connectToDiscoveredPeers()
        connectToLearnedPeers()
    }

    /// Ends connections whose own address is gone, instead of waiting until they are silent.
    private func endConnections(from removed: Set<IPAddress>) {
        guard !removed.isEmpty else { return }
        for channel in Array(channels.values) {
            guard let address = channel.socket.ownAddress?.ip, removed.contains(address) else {
                continue
            }
            end(channel, NetworkError(.cut, "the network interface of the connection is gone"))
        }
    }

    /// Reports the failure of discovery when it changes.
    private func reportDiscoveryFailure(_ failure: NetworkError?) {
        guard failure?.description != discoveryFailure else { return }
        discoveryFailure = failure?.description
        guard let failure else { return }
        post { $0.report(.discoveryFailed(reason: failure.description)) }
    }

    /// Returns the key of the connected peer that announces itself under a name; nil for others.
    func connectedKey(of peer: DiscoveredPeer) -> PeerKey? {
        guard let key = discovery?.key else { return nil }
        return connected.keys.first { key.mark(of: $0, in: peer.name) == peer.mark }
    }

    private func found(_ peer: DiscoveredPeer) {
        discoveredPeers.insert(peer, at: setup.random())
        guard let dialer = dialers.values.first(where: { $0.name == peer.name }) else { return }
        setTarget(.discovered(peer), of: dialer)
    }

    /// Changes the addresses of a found peer.
    func setTarget(_ target: Dialer.Target, of dialer: Dialer) {
        var dialer = dialer
        // Reports name the first address.
        if dialer.target.text != target.text {
            reportSuccess(dialer)
            dialer.lastFailure = nil
        }
        dialer.target = target
        dialers[dialer.identifier] = dialer
    }

    private func lost(_ name: AnnouncedName) {
        discoveredPeers.remove(name)
        if let dialer = dialers.values.first(where: { $0.name == name }) { forget(dialer) }
    }

    /// Ends the attempts to reach a found peer; an open connection stays.
    func forget(_ dialer: Dialer) {
        dialers[dialer.identifier] = nil
        nextLearning = now
        reportSuccess(dialer)
        for channel in Array(channels.values)
        where channel.dialer == dialer.identifier && channel.talkingKey == nil {
            end(channel, .closedByOwnPeer)
        }
    }

    /// Number of dialers for discovered and learned peers.
    var foundCount: Int {
        // A peer that was started again is announced under several names for a while.
        var keys: Set<PeerKey> = []
        return dialers.values.filter { dialer in
            guard !dialer.isConfigured else { return false }
            if case .content(let key) = dialer.phase { return keys.insert(key).inserted }
            return true
        }.count
    }

    /// Creates dialers for discovered peers, up to the limit.
    private func connectToDiscoveredPeers() {
        let names = Set(dialers.values.compactMap(\.name))
        var count = foundCount
        for peer in discoveredPeers.ready(at: now, besides: names)
        where count < limits.discoveredPeers {
            guard replaceLearned(peer) else { continue }
            count += 1
            // Otherwise both would connect at once, and close one of the connections.
            let isSecond = (discovery?.name).map { own in
                peer.name.bytes.lexicographicallyPrecedes(own.bytes)
            }
            add(.discovered(peer), at: isSecond == true ? now + Self.patienceNanoseconds : now)
        }
    }

    /// Asks whether a peer that cannot be reached still exists; if there are more peers than the
    /// limit, dials another one instead.
    func discoveredPeerFailed(_ dialer: Dialer, waiting milliseconds: Int) {
        guard let name = dialer.name else { return }
        discovery?.doubt(name, now: now)
        discoveredPeers.failed(name, until: now + UInt64(milliseconds) * 1_000_000)
        let names = Set(dialers.values.compactMap(\.name))
        guard !discoveredPeers.ready(at: now, besides: names).isEmpty else { return }
        discoveredPeers.moveToEnd(name)
        forget(dialer)
    }

    /// Asks whether all names of a peer still exist, if several lead to it.
    func discoveredPeerIsConnected(_ key: PeerKey) {
        let names = dialers.values.filter { $0.knownKey == key }.compactMap(\.name)
        guard names.count > 1 else { return }
        for name in names { discovery?.doubt(name, now: now) }
    }
}
