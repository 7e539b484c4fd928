import SheafTransport
import Synchronization

/// Connecting to peers whose addresses presence has reported.
///
/// `format-spec/discovery.md` states the rules.
extension NetworkLoop {
    /// Replaces the peers and their addresses.
    func propose(_ peers: [PeerKey: [PeerAddress]]) {
        proposals = peers
        guard discovery != nil else { return }
        let others = peers.filter { $0.key != setup.credentials.publicKey && !$0.value.isEmpty }
        learnedPeers.replace(by: others, at: now, drawing: setup.random)
        for dialer in Array(dialers.values) {
            guard let key = dialer.expectedKey else { continue }
            let addresses = sockets(of: key)
            guard !addresses.isEmpty else {
                forget(dialer)
                continue
            }
            setTarget(.learned(key, addresses), of: dialer)
        }
        nextLearning = now
    }

    /// Publishes the addresses of this peer if they have changed.
    func publishAddresses() {
        let addresses = discovery?.accepting ?? []
        let isNew = share.addresses.withLock { published in
            defer { published = addresses }
            return published != addresses
        }
        if isNew { post { $0.addressesChanged() } }
    }

    /// Creates dialers for learned peers, up to the limit that they share with discovered ones.
    func connectToLearnedPeers() {
        guard discovery != nil, nextLearning <= now else { return }
        nextLearning = learnedPeers.nextReady(after: now) ?? .max
        var count = foundCount
        let dialed = Set(dialers.values.compactMap(\.expectedKey))
        for key in learnedPeers.ready(at: now) where count < limits.discoveredPeers {
            guard connected[key] == nil, !dialed.contains(key) else { continue }
            guard !isDiscovered(key), !hasDeparted(key) else {
                nextLearning = min(nextLearning, learnedPeers.recheck(key, at: now))
                continue
            }
            count += 1
            // Otherwise both would connect at once, and close one of the connections.
            let isSecond = key.bytes.lexicographicallyPrecedes(setup.credentials.publicKey.bytes)
            add(
                .learned(key, sockets(of: key)),
                at: isSecond ? now + Self.patienceNanoseconds : now)
        }
    }

    /// Returns the addresses of a learned peer, those that need no router first.
    private func sockets(of key: PeerKey) -> [SocketAddress] {
        let addresses = learnedPeers.addresses(of: key)
        func isNear(_ address: PeerAddress) -> Bool {
            discovery?.reaches(IPAddress(unchecked: address.bytes)) ?? false
        }
        return (addresses.filter(isNear) + addresses.filter { !isNear($0) }).map { address in
            SocketAddress(IPAddress(unchecked: address.bytes), port: address.port)
        }
    }

    /// Whether a discovered peer that may be tried has a key.
    private func isDiscovered(_ key: PeerKey) -> Bool {
        guard let discovery else { return false }
        return discoveredPeers.ready(at: now).contains { peer in
            discovery.key.mark(of: key, in: peer.name) == peer.mark
        }
    }

    /// Whether a peer has ended, which discovery knows before its record is removed.
    func hasDeparted(_ key: PeerKey) -> Bool {
        discovery?.hasDeparted(key, now: now) ?? false
    }

    /// Prepares for a dialer of a discovered peer; returns false while the peer, which was learned
    /// too, is being dialed.
    func replaceLearned(_ peer: DiscoveredPeer) -> Bool {
        guard let discovery else { return false }
        let same = dialers.values.first { dialer in
            guard let key = dialer.expectedKey else { return false }
            return discovery.key.mark(of: key, in: peer.name) == peer.mark
        }
        guard let same else { return true }
        switch same.phase {
        case .waiting:
            forget(same)
            return true
        case .connected, .content: return true
        case .resolving, .trying: return false
        }
    }

    /// Whether an address of a learned peer may be tried now; counts the attempt.
    func mayTryLearned(_ address: SocketAddress) -> Bool {
        guard let host = address.ip?.bytes else { return false }
        return learnedPeers.begin(host, at: now, drawing: setup.random())
    }

    /// Throws if a learned peer is not the one at its address.
    func checkLearned(_ key: PeerKey, at channel: Channel) throws(NetworkError) {
        guard let dialer = channel.dialer, let expected = dialers[dialer]?.expectedKey,
            key != expected
        else { return }
        throw NetworkError(
            .otherPeer, "\(channel.address) belongs to another peer than presence reports")
    }

    /// Lets a learned peer wait, and dials another one instead if there are more than the limit.
    func learnedPeerFailed(_ dialer: Dialer, waiting milliseconds: Int) {
        guard let key = dialer.expectedKey else { return }
        let dialed = Set(dialers.values.compactMap(\.expectedKey))
        learnedPeers.wait(key, until: now + UInt64(milliseconds) * 1_000_000)
        let isOtherReady = learnedPeers.ready(at: now).contains { other in
            connected[other] == nil && !dialed.contains(other)
        }
        guard isOtherReady else { return }
        learnedPeers.moveToEnd(key)
        forget(dialer)
    }
}
