import SheafTransport

/// Asking for other peers, and learning from their records.
extension DiscoveryMachine {
    /// Learns from the records of a packet.
    mutating func learn(
        _ records: [DNSRecord], on link: DiscoveryLink, from source: PacketSource, _ now: UInt64
    ) {
        let ownAddresses = Set(links.values.flatMap { $0.addresses.own.map(\.address) })
        if let own,
            records.contains(where: { $0.seconds > 0 && own.conflicts(with: $0, ownAddresses) })
        {
            return handleConflict(now)
        }
        for name in AnnouncedRecords.names(in: records).prefix(Self.namesPerPacket)
        where name != own?.name {
            let found = AnnouncedRecords(of: name, in: records)
            if found.isGoodbye {
                recordDeparture(name, now)
                limit(name, on: link, to: now + DiscoveryTimes.goodbye)
            } else if let texts = found.texts, let service = found.service {
                learn(name, texts, service, found, on: link, from: source, now)
            } else if found.hasPointer, peers[name]?.entries[link] == nil {
                resolveSoon(name, on: link, now)
            }
        }
    }

    private mutating func learn(
        _ name: AnnouncedName, _ texts: AnnouncementTexts, _ service: AnnouncedRecords.Service,
        _ found: AnnouncedRecords, on link: DiscoveryLink, from source: PacketSource, _ now: UInt64
    ) {
        guard let state = links[link] else { return }
        if let known = peers[name] {
            guard known.texts == texts else { return }
        } else {
            // A delayed packet may announce this peer under an earlier name, which its mark shows.
            guard peers.count < limits.peers, texts.proof == key.proof(of: name),
                texts.mark != key.mark(of: self.peer, in: name)
            else { return }
        }
        // Only addresses of this link: other hosts cannot make this peer connect elsewhere.
        let reachable = (found.addresses + [source.address]).filter(state.addresses.reaches)
        var addresses: [IPAddress] = []
        for address in reachable.prefix(limits.addresses) where !addresses.contains(address) {
            addresses.append(address)
        }
        guard !addresses.isEmpty else { return }
        let lifetime =
            UInt64(min(max(found.seconds, 1), OwnAnnouncement.seconds))
            * DiscoveryTimes.second
        let entry = KnownPeer.Entry(
            addresses: addresses, port: service.port, received: now, expires: now + lifetime,
            jitter: draw(0...lifetime / 50))
        links[link]?.unresolved.remove(name)
        departures.removeAll { $0.name == name }
        var peer = peers[name] ?? KnownPeer(texts: texts)
        peer.entries[link] = entry
        peers[name] = peer
        report(name)
    }

    private mutating func limit(
        _ name: AnnouncedName, on link: DiscoveryLink, to time: UInt64
    ) {
        guard let entry = peers[name]?.entries[link], entry.expires > time else { return }
        peers[name]?.entries[link]?.expires = time
        peers[name]?.entries[link]?.refreshes = DiscoveryTimes.refreshes.count
    }

    /// Removes the expired entries of a peer, and asks for those that expire soon.
    mutating func age(_ name: AnnouncedName, _ now: UInt64) {
        for (link, entry) in peers[name]?.entries ?? [:] {
            if entry.expires <= now {
                removeEntry(name, link)
            } else if entry.refresh ?? .max <= now {
                // Several are due at once after a time in which the process did not run.
                while peers[name]?.entries[link]?.refresh ?? .max <= now {
                    peers[name]?.entries[link]?.refreshes += 1
                }
                if let state = links[link] {
                    links[link]?.nextQuestion =
                        max(now, state.lastQuestion + DiscoveryTimes.sameRecord)
                }
            }
        }
    }

    // MARK: Questions

    /// Asks for all peers, if it is time.
    mutating func ask(on link: DiscoveryLink, _ now: UInt64) {
        guard let state = links[link], state.nextQuestion <= now else { return }
        links[link]?.lastQuestion = now
        scheduleQuestion(on: link, now)
        // Known answers that do not fit into one packet follow in further ones (section 7.2).
        var known = knownAnswers(on: link, now)[...]
        var query = DNSMessage()
        query.questions = [DNSQuestion(OwnAnnouncement.service, DNSType.pointer)]
        repeat {
            query.answers = Array(known.prefix(Self.knownAnswersPerPacket))
            known = known.dropFirst(Self.knownAnswersPerPacket)
            query.isTruncated = !known.isEmpty
            send(query, on: link)
            query.questions = []
        } while !known.isEmpty
    }

    private static let knownAnswersPerPacket = 40
    /// Maximum number of peers that are learned from one packet, each of which takes time.
    package static let namesPerPacket = 64

    private func knownAnswers(on link: DiscoveryLink, _ now: UInt64) -> [DNSRecord] {
        peers.sorted { $0.key.bytes.lexicographicallyPrecedes($1.key.bytes) }.compactMap {
            name, peer in
            guard let entry = peer.entries[link], entry.expires > now else { return nil }
            let rest = UInt32(clamping: (entry.expires - now) / DiscoveryTimes.second)
            return rest >= OwnAnnouncement.seconds / 2
                ? OwnAnnouncement.pointer(to: name, seconds: rest) : nil
        }
    }

    /// Postpones the question after another host has asked it: all hosts receive the answers (7.3).
    mutating func recordQuestion(
        _ query: DNSMessage, on link: DiscoveryLink, from source: PacketSource, _ now: UInt64
    ) {
        let question = DNSQuestion(OwnAnnouncement.service, DNSType.pointer)
        guard let state = links[link], source.port == MulticastDNS.port,
            // The first four are always asked, so that a host that asks often prevents nothing.
            state.questionPeriod > DiscoveryTimes.suppressedQuestion,
            query.questions.contains(question)
        else { return }
        let own = self.own.map { OwnAnnouncement.pointer(to: $0.name) }
        let known = Set((knownAnswers(on: link, now) + (own.map { [$0] } ?? [])).map(\.contents))
        guard query.answers.allSatisfy({ known.contains($0.contents) }) else { return }
        scheduleQuestion(on: link, now)
    }

    private mutating func scheduleQuestion(on link: DiscoveryLink, _ now: UInt64) {
        guard var state = links[link] else { return }
        // Hosts that have started together do not ask together forever.
        let period = state.questionPeriod
        state.nextQuestion =
            now + period + (period < DiscoveryTimes.suppressedQuestion ? 0 : draw(0...period / 4))
        state.questionPeriod = min(period * 3, DiscoveryTimes.longestQuestion)
        links[link] = state
    }

    /// Asks for the records of a peer of which only the name is known.
    private mutating func resolveSoon(
        _ name: AnnouncedName, on link: DiscoveryLink, _ now: UInt64
    ) {
        guard var state = links[link], state.unresolved.count < limits.unresolved else { return }
        state.unresolved.insert(name)
        if state.resolving == nil {
            let earliest = state.lastResolving + DiscoveryTimes.second
            state.resolving = max(now + draw(DiscoveryTimes.answer), earliest)
        }
        links[link] = state
    }

    mutating func resolve(on link: DiscoveryLink, _ now: UInt64) {
        guard let state = links[link], let resolving = state.resolving, resolving <= now else {
            return
        }
        links[link]?.resolving = nil
        links[link]?.lastResolving = now
        links[link]?.unresolved = []
        guard !state.unresolved.isEmpty else { return }
        var query = DNSMessage()
        query.questions = state.unresolved.map(\.bytes).sorted(by: {
            $0.lexicographicallyPrecedes($1)
        }).map { bytes in
            DNSQuestion(
                OwnAnnouncement.service.prefixed(by: bytes.hexadecimal), DNSType.any)
        }
        send(query, on: link)
    }
}

/// The records of one peer in a packet.
struct AnnouncedRecords {
    struct Service {
        let port: UInt16
        let host: DNSName
    }

    private(set) var hasPointer = false
    /// Whether one of the records is taken back.
    private(set) var isGoodbye = false
    private(set) var service: Service?
    private(set) var texts: AnnouncementTexts?
    private(set) var addresses: [IPAddress] = []
    /// The smaller time to live of the PTR and TXT records.
    private(set) var seconds = OwnAnnouncement.seconds

    /// Returns the names of all peers that the records mention.
    static func names(in records: [DNSRecord]) -> [AnnouncedName] {
        var names: [AnnouncedName] = []
        for record in records {
            let instance =
                if case .pointer(let target) = record.contents,
                    record.name == OwnAnnouncement.service
                {
                    target
                } else {
                    record.name
                }
            guard
                let name = instance.label(below: OwnAnnouncement.service)
                    .flatMap(AnnouncedName.init(label:)), !names.contains(name)
            else { continue }
            names.append(name)
        }
        return names
    }

    init(of name: AnnouncedName, in records: [DNSRecord]) {
        let instance = OwnAnnouncement.service.prefixed(by: "\(name)")
        for record in records {
            switch record.contents {
            case .pointer(instance) where record.name == OwnAnnouncement.service:
                hasPointer = true
                note(record.seconds)
            case .texts(let texts) where record.name == instance:
                self.texts = AnnouncementTexts(texts)
                note(record.seconds)
            case .service(_, _, let port, let host) where record.name == instance:
                // The time of this record is short, because hosts may change their addresses.
                if record.seconds == 0 { isGoodbye = true }
                if port > 0 { service = Service(port: port, host: host) }
            default: break
            }
        }
        guard let service else { return }
        for record in records where record.name == service.host && record.seconds > 0 {
            if case .address(let address) = record.contents { addresses.append(address) }
        }
    }

    private mutating func note(_ seconds: UInt32) {
        if seconds == 0 { isGoodbye = true }
        self.seconds = min(self.seconds, seconds)
    }
}
