package import SheafTransport

/// The discovery of peers on the local network, without sockets and clocks.
///
/// It gets packets, links and the time, and queues effects: packets to send, and peers found and
/// lost. `format-spec/discovery.md` specifies what is sent.
package struct DiscoveryMachine {
    package enum Effect: Hashable, Sendable {
        /// Sends a packet, to all hosts of a link unless a receiver is named.
        case send([UInt8], on: DiscoveryLink, to: PacketSource?)
        /// A peer of the database was found, or its addresses have changed.
        case found(DiscoveredPeer)
        /// A peer was found before, and is not announced any more.
        case lost(AnnouncedName)
    }

    /// The limits of what packets can occupy.
    package struct Limits: Sendable {
        /// Maximum number of peers, without those of other databases, which are not kept.
        package var peers = 256
        /// Maximum number of addresses of a peer on a link.
        package var addresses = 8
        /// Maximum number of names whose addresses are asked for at a time.
        package var unresolved = 16

        package init() {}
    }

    let key: DiscoveryKey
    let peer: PeerKey
    /// The port that is announced; nil if this peer accepts no connections.
    private let port: UInt16?
    let limits: Limits
    private let random: @Sendable () -> UInt64
    var own: OwnAnnouncement?
    private var nextName: UInt64 = .max
    private var conflicts: [UInt64] = []
    var links: [DiscoveryLink: LinkState] = [:]
    var peers: [AnnouncedName: KnownPeer] = [:]
    var departures: [Departure] = []
    private var effects: [Effect] = []

    /// Creates the discovery for a peer that accepts connections at a port.
    package init(
        _ key: DiscoveryKey, _ peer: PeerKey, port: UInt16?, limits: Limits = Limits(), now: UInt64,
        random: @escaping @Sendable () -> UInt64
    ) {
        (self.key, self.peer, self.port, self.limits) = (key, peer, port, limits)
        self.random = random
        takeName(now)
    }

    /// The name under which this peer announces itself; nil if it does not.
    package var name: AnnouncedName? { own?.name }

    /// The time of the next event that needs no packet.
    package var deadline: UInt64 {
        let peers = peers.values.map(\.deadline).min() ?? .max
        return links.values.map(\.deadline).reduce(min(nextName, peers), min)
    }

    /// Returns the effects since the last call, in order.
    package mutating func takeEffects() -> [Effect] {
        defer { effects = [] }
        return effects
    }

    // MARK: Events

    /// Replaces the links.
    package mutating func setLinks(_ new: [DiscoveryLink: LinkAddresses], now: UInt64) {
        for link in links.keys where new[link] == nil {
            links[link] = nil
            for name in Array(peers.keys) { removeEntry(name, link) }
        }
        for (link, addresses) in new {
            guard var state = links[link] else {
                links[link] = LinkState(
                    addresses, startup: firstStep(addresses, now),
                    nextQuestion: now + draw(DiscoveryTimes.firstQuestion))
                continue
            }
            guard state.addresses != addresses else { continue }
            state.addresses = addresses
            state.sent = [:]
            // It may be another network, with other peers.
            state.nextQuestion = now + draw(DiscoveryTimes.firstQuestion)
            state.questionPeriod = DiscoveryTimes.question
            switch state.startup {
            case _ where addresses.announced.isEmpty: state.startup = nil
            case nil: state.startup = firstStep(addresses, now)
            case .probing: break
            // The name needs no new probes: only the addresses have changed.
            case .announcing, .done: state.startup = .announcing(0, next: now)
            }
            links[link] = state
            for name in Array(peers.keys) { keepReachable(name, link, addresses) }
        }
    }

    /// Removes the addresses of a peer that a link does not reach any more.
    private mutating func keepReachable(
        _ name: AnnouncedName, _ link: DiscoveryLink, _ own: LinkAddresses
    ) {
        guard let entry = peers[name]?.entries[link] else { return }
        peers[name]?.entries[link]?.addresses = entry.addresses.filter(own.reaches)
        guard peers[name]?.entries[link]?.addresses.isEmpty == false else {
            return removeEntry(name, link)
        }
        report(name)
    }

    /// Handles a packet of any host on a link.
    package mutating func receive(
        _ bytes: UnsafeRawBufferPointer, on link: DiscoveryLink, from source: PacketSource,
        now: UInt64
    ) {
        // Routed packets are not multicast DNS, and answers could go anywhere (section 11).
        guard let state = links[link], state.addresses.reaches(source.address) else { return }
        if state.addresses.own.contains(where: { $0.address == source.address }),
            links[link]?.echoes.remove(Array(bytes)) == true
        {
            return
        }
        guard let message = try? DNSMessage(bytes) else { return }
        guard message.isResponse else {
            learn(message.proposals, on: link, from: source, now)
            recordQuestion(message, on: link, from: source, now)
            return answer(message, on: link, from: source, now)
        }
        // Responses from other ports are none of multicast DNS (section 6).
        guard source.port == MulticastDNS.port else { return }
        learn(message.answers + message.additions, on: link, from: source, now)
    }

    /// Handles what is due.
    package mutating func advance(now: UInt64) {
        if nextName <= now { changeName(now) }
        for link in links.keys.sorted(by: DiscoveryLink.isBefore) {
            stepStartup(on: link, now)
            sendPendingAnswers(on: link, now)
        }
        for name in Array(peers.keys) { age(name, now) }
        for link in links.keys.sorted(by: DiscoveryLink.isBefore) {
            ask(on: link, now)
            resolve(on: link, now)
        }
    }

    /// Asks whether a peer that cannot be reached still exists.
    package mutating func doubt(_ name: AnnouncedName, now: UInt64) {
        guard let peer = peers[name] else { return }
        for (link, entry) in peer.entries where entry.expires > now + DiscoveryTimes.doubt {
            peers[name]?.entries[link]?.renew(from: now, for: DiscoveryTimes.doubt)
            if let state = links[link], state.unresolved.count < limits.unresolved {
                links[link]?.unresolved.insert(name)
                links[link]?.resolving =
                    max(now, state.lastResolving + DiscoveryTimes.sameRecord)
            }
        }
    }

    /// Sends goodbyes on all links, and removes all links and peers.
    package mutating func stop() {
        withdraw()
        links = [:]
        peers = [:]
    }

    // MARK: Names

    /// Chooses a new name for this peer.
    private mutating func takeName(_ now: UInt64) {
        guard let port else { return }
        let name = AnnouncedName(random: random())
        own = OwnAnnouncement(
            name, port: port, proof: key.proof(of: name), mark: key.mark(of: peer, in: name))
        nextName = now + draw(DiscoveryTimes.name)
    }

    /// Replaces the name, which identifies this peer for an hour at most.
    private mutating func changeName(_ now: UInt64) {
        withdraw()
        takeName(now)
        restart(at: now)
    }

    /// Gives up the name, because another host has it.
    mutating func handleConflict(_ now: UInt64) {
        conflicts.removeAll { $0 + DiscoveryTimes.conflictPeriod < now }
        conflicts.append(now)
        // Peers have learned the name from the first probe.
        withdraw()
        let isRepeated = conflicts.count > DiscoveryTimes.conflicts
        if isRepeated { conflicts.removeFirst() }
        takeName(now)
        restart(at: isRepeated ? now + DiscoveryTimes.conflictPause : now)
    }

    private mutating func restart(at time: UInt64) {
        for (link, var state) in links {
            state.pending = nil
            state.sent = [:]
            state.startup = firstStep(state.addresses, time)
            links[link] = state
        }
    }

    private func firstStep(_ addresses: LinkAddresses, _ now: UInt64) -> LinkState.Startup? {
        guard own != nil, !addresses.announced.isEmpty else { return nil }
        return .probing(0, next: now + draw(0...DiscoveryTimes.firstProbe))
    }

    // MARK: Effects and random numbers

    mutating func send(_ message: DNSMessage, on link: DiscoveryLink, to: PacketSource? = nil) {
        let bytes = message.bytes
        if to == nil { links[link]?.echoes.insert(bytes) }
        effects.append(.send(bytes, on: link, to: to))
    }

    /// Reports the addresses of a peer if they have changed.
    mutating func report(_ name: AnnouncedName) {
        guard var peer = peers[name] else { return }
        guard !peer.entries.isEmpty else {
            peers[name] = nil
            if !peer.reported.isEmpty { effects.append(.lost(name)) }
            return
        }
        let addresses = peer.addresses
        guard addresses != peer.reported else { return }
        peer.reported = addresses
        peers[name] = peer
        effects.append(
            .found(DiscoveredPeer(name: name, mark: peer.texts.mark, addresses: addresses)))
    }

    mutating func removeEntry(_ name: AnnouncedName, _ link: DiscoveryLink) {
        guard peers[name]?.entries.removeValue(forKey: link) != nil else { return }
        report(name)
    }

    /// Returns a random number of a range.
    func draw(_ range: ClosedRange<UInt64>) -> UInt64 {
        range.lowerBound + random() % (range.upperBound - range.lowerBound + 1)
    }
}

/// The numbers of multicast DNS.
package enum MulticastDNS {
    package static let port: UInt16 = 5_353
}
