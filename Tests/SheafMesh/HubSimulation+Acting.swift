import SheafDocument
import SheafEngine
import SheafReplication
import SheafStorage
import SheafSync
import SheafTestSupport

/// Connections, faults and writes of a simulation of hubs, and its invariants.
extension HubSimulation {
    // MARK: Hubs

    /// Opens a hub, which continues in the log.
    func open(_ hub: Int) throws {
        running.insert(hub)
        reachableSince[hub] = now
        let peer = peers[hub]
        try peer.replicator.share(HubFeedConfiguration(log: Self.log, map: map), at: now)
        try perform(peer)
    }

    /// Kills a hub, or cuts it off from the log, for a time.
    func trouble(_ hub: Int) throws {
        guard isUnruly else { return }
        add(.trouble(hub: hub), at: delay(60_000))
        guard running.contains(hub) else { return }
        guard random.chance(2, in: 3) else {
            log.isolate(hub)
            reachableSince[hub] = nil
            return add(.rejoin(hub: hub), at: delay(20_000))
        }
        report.kills += 1
        running.remove(hub)
        reachableSince[hub] = nil
        log.disconnect(hub)
        for (client, wire) in wires.sorted(by: { $0.key < $1.key }) where wire.hub == hub {
            try cut(client)
        }
        let peer = peers[hub]
        let volume =
            random.chance(1, in: 2)
            ? peer.volume.powerCut(seed: random.next()) : peer.volume.processDeath()
        try peer.reopen(on: volume)
        wakes[hub] = nil
        add(.open(hub: hub), at: delay(20_000))
    }

    func rejoin(_ hub: Int) {
        log.rejoin(hub)
        if running.contains(hub), reachableSince[hub] == nil { reachableSince[hub] = now }
    }

    // MARK: Clients

    func act(_ client: Int) throws {
        guard isUnruly else { return }
        add(.act(client: client), at: delay(random.chance(1, in: 4) ? 200 : 4_000))
        let peer = peers[client]
        switch random.below(20) {
        case 0:
            report.moves += 1
            try cut(client)
        case 1:
            try cut(client)
            try peer.reopen(on: peer.volume.powerCut(seed: random.next()))
            wakes[client] = nil
            inserted.removeAll { $0.client == client && !$0.isAcknowledged }
            try perform(peer)
        case 2..<10:
            let id = "new \(client) \(inserted.count) \(peer.opening)"
            try commit(
                [DocumentChange("cars", .string(id), .insert(["n": 1], onConflict: .merge))],
                on: peer)
        default: try commit(changes(), on: peer)
        }
    }

    private func changes() -> [DocumentChange] {
        (0...random.below(3)).map { _ in
            let id = Value.string("c\(random.below(20))")
            let number = Value.integer(Int64(random.below(100)))
            return switch random.below(4) {
            case 0: DocumentChange("cars", id, .delete)
            case 1: DocumentChange("cars", id, .edit([.set(path: ["n"], to: number)]))
            default: DocumentChange("cars", id, .insert(["n": number], onConflict: .merge))
            }
        }
    }

    private func commit(_ changes: [DocumentChange], on peer: MeshPeer) throws {
        try peer.commit(changes)
        report.commits += 1
        if let id = changes.first?.id, case .string(let text) = id, text.hasPrefix("new") {
            inserted.append(
                Inserted(
                    id: text, client: peer.number, opening: peer.opening,
                    commit: peer.newestCommit))
        }
        flushSoon(peer)
        peer.replicator.processPublished()
        try perform(peer)
    }

    /// Connects a client to any hub that runs.
    func connect(_ client: Int) throws {
        guard wires[client] == nil else { return }
        let hubs = running.sorted()
        guard !hubs.isEmpty else { return add(.connect(client: client), at: delay(2_000)) }
        let hub = hubs[random.below(hubs.count)]
        wireCount += 1
        wires[client] = (wireCount, hub)
        lastArrival[wireCount] = [now, now]
        for (end, other) in [(client, hub), (hub, client)] {
            peers[end].replicator.connect(wireCount, expecting: peers[other].key, at: now)
            try perform(peers[end])
        }
    }

    /// Ends the connection of a client, which connects again later.
    private func cut(_ client: Int) throws {
        guard let (number, hub) = wires.removeValue(forKey: client) else { return }
        lastArrival[number] = nil
        for end in [client, hub] {
            peers[end].replicator.disconnect(number)
            try perform(peers[end])
        }
        add(.connect(client: client), at: delay(3_000))
    }

    // MARK: Effects

    func perform(_ peer: MeshPeer) throws {
        let isHub = peer.number < hubCount
        for effect in peer.replicator.drainEffects() {
            switch effect {
            case .send(let number, let bytes): send(bytes, number, from: peer)
            case .close(_, let message):
                guard message.code == .done || message.code == .timedOut else {
                    throw Violation(
                        description: "peer \(peer.number) ends a connection: \(message.text)")
                }
            case .ended(let number, _):
                guard let client = wires.first(where: { $0.value.number == number })?.key else {
                    continue
                }
                try cut(client)
            case .write(let job):
                let time = random.chance(1, in: 4) ? delay(30) : now
                add(.write(peer: peer.number, opening: peer.opening, job), at: time)
            case .hub(let effect):
                guard isHub, running.contains(peer.number) else { continue }
                log.perform(effect, of: peer.number, among: running.sorted())
            case .fetched, .statusChanged, .presenceChanged, .keyContested, .clockWarning,
                .refusalsChanged:
                continue
            }
        }
        wakeSoon(peer)
    }

    /// Schedules the next tick of a peer.
    private func wakeSoon(_ peer: MeshPeer) {
        guard let deadline = peer.replicator.deadline else { return }
        let time = max(deadline, now + 1_000_000)
        if let known = wakes[peer.number], known <= time { return }
        wakes[peer.number] = time
        add(.wake(peer: peer.number, opening: peer.opening), at: time)
    }

    func flushSoon(_ peer: MeshPeer) {
        guard !peer.isFlushing else { return }
        peer.isFlushing = true
        let time = delay(random.chance(1, in: 12) ? 1_000 : 20)
        add(.flush(peer: peer.number, opening: peer.opening), at: time)
    }

    private func send(_ bytes: [UInt8], _ number: UInt64, from peer: MeshPeer) {
        guard let times = lastArrival[number] else { return }
        let end = peer.number < hubCount ? 0 : 1
        let time = max(times[end] + 1, now + UInt64(1 + random.below(30)) * 1_000_000)
        lastArrival[number]?[end] = time
        add(.arrive(wire: number, end: end, bytes), at: time)
    }

    /// Delivers bytes to the client of a connection, end 0, or to its hub, end 1.
    func arrive(_ bytes: [UInt8], _ number: UInt64, _ end: Int) throws {
        guard let (client, wire) = wires.first(where: { $0.value.number == number }) else { return }
        let peer = peers[end == 0 ? client : wire.hub]
        bytes.withUnsafeBytes { peer.replicator.receive($0, on: number, at: now) }
        try perform(peer)
        if end == 0 { try checkAcknowledged(by: wire.hub, client) }
    }

    // MARK: Invariants

    /// Checks that a hub has the documents that it acknowledges, and another live hub as well.
    private func checkAcknowledged(by hub: Int, _ client: Int) throws {
        let synced =
            peers[client].replicator.allStatuses[peers[hub].key]?.syncedUpTo ?? 0
        for index in inserted.indices {
            let document = inserted[index]
            guard document.client == client, !document.isAcknowledged,
                document.commit <= synced
            else { continue }
            inserted[index].isAcknowledged = true
            report.acknowledged += 1
            guard try has(document.id, peers[hub]) else {
                throw Violation(description: "hub \(hub) acknowledges \(document.id) without it")
            }
            // Both must have had the time to find each other.
            guard let since = reachableSince[hub], now > since + 5 * Self.second else { continue }
            let others = reachableSince.filter {
                $0.key != hub && now > $0.value + 12 * Self.second
            }
            guard !others.isEmpty else { continue }
            report.confirmed += 1
            let isElsewhere = try (0..<hubCount).contains { other in
                try other != hub && has(document.id, peers[other])
            }
            guard isElsewhere else {
                throw Violation(
                    description: "hub \(hub) acknowledges \(document.id), which no other hub has")
            }
        }
    }

    private func has(_ id: String, _ peer: MeshPeer) throws -> Bool {
        let snapshot = peer.documents.snapshot()
        let address = DocumentAddress(
            collection: "cars", id: try DocumentID.key(of: .string(id)))
        guard let key = snapshot.key(of: address) else { return false }
        return try snapshot.document(key) != nil
    }

    /// Checks that all peers have the same documents, among them all acknowledged ones.
    func checkAgreement() throws {
        for hub in 0..<hubCount {
            guard let status = peers[hub].replicator.hubStatus, status.isReady else {
                throw Violation(description: "hub \(hub) is not ready")
            }
            for shard in status.shards {
                guard shard.incidents.isEmpty, shard.pendingCount == 0, shard.waitingCount == 0
                else {
                    throw Violation(description: "hub \(hub) ends with \(shard)")
                }
            }
        }
        let all = try peers.map { try $0.contents(matching: Self.everything) }
        for (number, contents) in all.enumerated() where contents != all[0] {
            let differing = Set(contents.keys).union(all[0].keys)
                .filter { contents[$0] != all[0][$0] }
            throw Violation(
                description: "peers 0 and \(number) differ in \(differing.count) documents: "
                    + differing.prefix(3).map { "\($0)" }.joined(separator: ", "))
        }
        for document in inserted where document.isAcknowledged {
            guard try has(document.id, peers[0]) else {
                throw Violation(description: "\(document.id) was acknowledged and is lost")
            }
        }
        for peer in peers {
            let reached = Set(peer.replicator.reachablePeers.map(\.key))
            guard reached == Set(peers.map(\.key)) else {
                throw Violation(
                    description: "peer \(peer.number) reaches \(reached.count) of \(peers.count)")
            }
        }
        for client in clients {
            guard let hub = wires[client]?.hub else {
                throw Violation(description: "client \(client) has no hub")
            }
            let synced = peers[client].replicator.allStatuses[peers[hub].key]?.syncedUpTo ?? 0
            guard synced == peers[client].durableCommit else {
                throw Violation(
                    description: "client \(client) ends with \(synced) of "
                        + "\(peers[client].durableCommit) commits acknowledged by hub \(hub)")
            }
        }
    }
}
