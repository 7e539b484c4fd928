import SheafBytes
import SheafReplication
import SheafSync
import SheafTestSupport

/// The simulated network between peers, and the effects of their replicators.
extension MeshSimulation {
    func connect(_ left: Int, _ right: Int) throws {
        let pair = pairs.firstIndex { $0 == (left, right) } ?? 0
        guard hasStrangers || !peers[right].isStranger else { return }
        if let end = partitions[pair], end > now {
            return agenda.add(.connect(left, right), at: end + 1)
        }
        partitions[pair] = nil
        guard !wires.values.contains(where: { $0.ends == [left, right] && $0.isOpen }) else {
            return
        }
        wireCount += 1
        report.connections += 1
        let wire = makeWire(left, right)
        wires[wireCount] = wire
        for end in wire.ends {
            let other = peers[left + right - end]
            // A malicious peer sometimes ignores its rights.
            let isLawless = peers[end].isStranger && random.chance(1, in: 4)
            peers[end].replicator.connect(
                wire.number, expecting: other.key, rights: other.rights,
                own: isLawless ? nil : peers[end].rights, at: now)
            try perform(peers[end])
        }
    }

    private func makeWire(_ left: Int, _ right: Int) -> MeshWire {
        let ends = [left, right]
        let wire = MeshWire(wireCount, ends, ends.map { peers[$0].opening })
        for (index, end) in ends.enumerated() {
            let (from, to) = (peers[left + right - end], peers[end])
            if !from.isStranger {
                let allowed: Set<String>? = to.rights == nil ? nil : ["me\(to.number)"]
                wire.scanners[index] = MarkScanner(
                    allowing: allowed, receivesOwnFrames: to.isStranger)
            }
            if from.isStranger { wire.mutator = FrameMutator(seed: random.next()) }
        }
        return wire
    }

    /// Performs the effects of a peer's replicator.
    func perform(_ peer: MeshPeer) throws {
        for effect in peer.replicator.drainEffects() {
            switch effect {
            case .send(let number, let bytes):
                guard let wire = wires[number], wire.isOpen else { continue }
                record(bytes)
                try send(bytes, on: wire, from: peer)
            case .close(let number, let closeMessage):
                guard let wire = wires[number], wire.isOpen else { continue }
                try check(closeMessage, of: peer, on: wire)
                hangUp(wire)
            case .write(let job):
                jobCount += 1
                jobs[jobCount] = job
                // Another writer may delay the transaction.
                let time = random.chance(1, in: 4) ? delay(30) : now
                agenda.add(
                    .write(peer: peer.number, life: peer.opening, job: jobCount), at: time)
            case .fetched(let id, .failed(let error)):
                throw Violation(
                    description: "peer \(peer.number) cannot fetch \(id): \(error)")
            case .fetched(let id, .complete): peer.wantedFiles.remove(id)
            case .hub, .fetched, .statusChanged, .presenceChanged, .ended, .keyContested,
                .clockWarning,
                .refusalsChanged:
                continue
            }
        }
        if let violation = peer.replicator.violation {
            throw Violation(description: "peer \(peer.number): \(violation)")
        }
        serveSoon(peer)
    }

    /// Checks that a peer closes a connection for an error only if one was injected.
    private func check(_ closeMessage: CloseMessage, of peer: MeshPeer, on wire: MeshWire) throws {
        report.closeMessages["\(closeMessage.code)", default: 0] += 1
        let isAmongHonest = wire.mutator == nil
        guard !peer.isStranger else { return }
        let isRight =
            switch closeMessage.code {
            case .done, .sameKey: true
            case .timedOut: wire.isHeld || wire.isSpoiled || !isAmongHonest
            case .protocolBroken: wire.isSpoiled || !isAmongHonest
            case .refused: !isAmongHonest
            case .limit, .version, .database: !isAmongHonest
            // A malicious peer may send the close reason of a failed store.
            case .lostWrite: !isAmongHonest || !restored.isEmpty
            case .failed: !isAmongHonest && !closeMessage.text.contains("store")
            }
        // A peer may close with the reason that it received from the other side.
        guard isRight || wire.closeMessage == closeMessage else {
            throw Violation(
                description: "peer \(peer.number) ends the connection with \(wire.ends): "
                    + "\(closeMessage.code), \(closeMessage.text)")
        }
        wire.closeMessage = closeMessage
    }

    /// Schedules a tick if the replicator has unfinished work.
    private func serveSoon(_ peer: MeshPeer) {
        guard !peer.isServing, let deadline = peer.replicator.deadline, deadline <= now else {
            return
        }
        peer.isServing = true
        agenda.add(.serve(peer: peer.number, life: peer.opening), at: now + 1_000_000)
    }

    private func record(_ bytes: [UInt8]) {
        report.bytes += bytes.count
        report.frameHash =
            report.frameHash &* 31 &+ bytes.span.withUnsafeBytes { XXH3.hash64($0) }
        // Frames that idle connections send do not count as data.
        let type = bytes.count > 8 ? FrameType(rawValue: bytes[8]) : nil
        let isIdle = type == .ping || type == .pong || type == .historyDropped
        if !isIdle { report.frames += 1 }
        if peers.last?.isStranger ?? false { recorded.record(bytes) }
    }

    private func send(_ bytes: [UInt8], on wire: MeshWire, from peer: MeshPeer) throws {
        let end = wire.ends[0] == peer.number ? 1 : 0
        try scan(bytes, on: wire, from: peer, to: end)
        guard peer.isStranger else {
            if wire.mutator?.temper == .deaf { return neglect(bytes, on: wire) }
            return send(bytes, on: wire, to: end)
        }
        let lies = wire.mutator?.lies ?? 0
        let mangled = try wire.mutator?.mangle(bytes, recorded) ?? bytes
        report.lies += (wire.mutator?.lies ?? 0) - lies
        send(mangled, on: wire, to: end)
    }

    /// Checks that sent bytes have no hidden document, and no commit that is not durable.
    private func scan(
        _ bytes: [UInt8], on wire: MeshWire, from peer: MeshPeer, to end: Int
    ) throws {
        guard wire.scanners[end] != nil else { return }
        if wire.scanners[end]?.allowed != nil { report.scanned += 1 }
        if let mark = try wire.scanners[end]?.read(bytes) {
            throw Violation(
                description: "peer \(peer.number) sends peer \(wire.ends[end]) a document "
                    + "that is hidden: \(mark)")
        }
        // Batches for peers with limited rights are numbered separately.
        guard peers[wire.ends[end]].rights == nil else { return }
        let sent = wire.scanners[end]?.lastCommit ?? 0
        guard sent <= peer.durableCommit else {
            throw Violation(
                description: "peer \(peer.number) sends its commit \(sent), and only "
                    + "\(peer.durableCommit) is durable")
        }
    }

    /// Counts bytes that the other side does not read, and cuts the connection above a limit.
    private func neglect(_ bytes: [UInt8], on wire: MeshWire) {
        wire.neglected += bytes.count
        if wire.neglected > 8 << 20 { cut(wire) }
    }

    /// Schedules the arrival of bytes in order, split into chunks of random length.
    private func send(_ bytes: [UInt8], on wire: MeshWire, to end: Int) {
        guard !wire.isLost[end] else { return }
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = network.chance(1, in: 3) ? 1 + network.below(rest.count) : rest.count
            var piece = Array(rest.prefix(count))
            rest = rest.dropFirst(count)
            let latency: UInt64 =
                network.chance(1, in: 50)
                ? UInt64(network.below(5_000)) * 1_000_000
                : UInt64(1 + network.below(40)) * 1_000_000
            wire.lastArrival[end] = max(wire.lastArrival[end] + 1, now + latency)
            if isUnruly, network.chance(1, in: 2_000) {
                piece[network.below(piece.count)] ^= UInt8(1 << network.below(8))
                wire.isSpoiled = true
            }
            agenda.add(
                .arrive(wire: wire.number, end: end, piece), at: wire.lastArrival[end])
            // With constant subscriptions, frequent cuts make the peers resume from their cursors.
            let cuts = plan.staysSubscribed ? 40 : 400
            if isUnruly, network.chance(1, in: cuts) { return cut(wire) }
        }
    }

    /// Drops a connection; bytes in transit are lost.
    func cut(_ wire: MeshWire) {
        guard wire.isOpen else { return }
        wire.isOpen = false
        for end in 0...1 { agenda.add(.broken(wire: wire.number, end: end), at: now + 1) }
    }

    /// Ends a connection after the bytes in transit have arrived.
    private func hangUp(_ wire: MeshWire) {
        let time = wire.lastArrival.max() ?? now
        for end in 0...1 {
            agenda.add(.broken(wire: wire.number, end: end), at: max(time, now) + 2)
        }
    }

    /// Delays one direction of a connection, or loses its bytes until a timeout.
    func partitionOneWay() {
        let open = wires.values.filter(\.isOpen).sorted { $0.number < $1.number }
        guard !open.isEmpty else { return }
        let (wire, end) = (open[random.below(open.count)], random.below(2))
        let until = now + UInt64(1 + random.below(120)) * Self.second
        wire.isHeld = true
        if random.chance(1, in: 2) {
            // Later bytes do not arrive before earlier ones.
            wire.lastArrival[end] = max(wire.lastArrival[end], until)
        } else {
            wire.isLost[end] = true
        }
    }

    /// Cuts connections with a delayed or lossy direction, so that new ones replace them.
    func healWires() {
        for wire in wires.values.sorted(by: { $0.number < $1.number }) where wire.isHeld {
            cut(wire)
        }
    }
}
