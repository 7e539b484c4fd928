import SheafDocument
import SheafEngine
import SheafReplication
import SheafStorage
import SheafSync
import SheafTestSupport
import SheafTransport

/// The random actions of peers, and their faults.
extension MeshSimulation {
    func act(_ peer: MeshPeer) throws {
        if peer.isStranger, random.chance(3, in: 4) { return try scrawl(peer) }
        let drawn = random.below(46)
        // In meshes with constant subscriptions, actions that cause reconciliations are rare.
        if plan.staysSubscribed, [26, 29, 32].contains(drawn), random.chance(9, in: 10) { return }
        switch drawn {
        case 0..<18: try write(peer)
        case 18..<26: try writeGroup(peer)
        case 40..<45: try writeMarked(peer)
        case 45: try setClock(of: peer)
        case 26: try evict(peer)
        case 27..<29: try resubscribe(peer)
        case 29: try crash(peer)
        case 30: try compact(peer)
        case 31: backups[peer.number] = peer.volume.processDeath()
        case 32: try restore(peer)
        case 33..<35: partition()
        case 35: plan.partsOneWay ? partitionOneWay() : partition()
        case 36: try describe(peer)
        default: break
        }
    }

    func commit(_ changes: [DocumentChange], on peer: MeshPeer) throws {
        try peer.commit(changes)
        report.commits += 1
        flushSoon(peer)
        peer.replicator.processPublished()
        try perform(peer)
    }

    private func write(_ peer: MeshPeer) throws {
        // A peer that may not write cars writes none, because no other peer would accept them.
        let rule = peer.isStranger ? "true" : peer.rights.map { $0.write["cars"] } ?? "true"
        guard let rule else { return }
        if plan.staysSubscribed, rule == "true", random.chance(1, in: 2) { return try passBy(peer) }
        var changes: [DocumentChange] = []
        for _ in 0...random.below(3) {
            let number = rule == "true" ? random.below(20) : 3
            let id = Value.string("c\(number)")
            let color: Value = ["red", "blue", "green"][random.below(3)]
            let action: DocumentChange.Action
            switch random.below(8) {
            case 0..<3:
                action = .insert(
                    ["color": color, "n": .integer(Int64(random.below(100)))], onConflict: .merge)
            case 3: action = .edit([.set(path: ["color"], to: color)])
            case 4: action = .edit([.set(path: ["n"], to: .integer(Int64(random.below(100))))])
            case 5:
                action = .edit([
                    .set(path: ["notes", "by\(peer.number)"], to: .integer(Int64(now / 1_000_000)))
                ])
            case 6: action = .edit([.unset(path: ["notes"])])
            default: action = .delete
            }
            changes.append(DocumentChange("cars", id, action))
        }
        try commit(changes, on: peer)
    }

    /// Inserts a document with a new id, or deletes one of the last four inserted.
    ///
    /// No peer writes it again, so a missed deletion remains visible.
    private func passBy(_ peer: MeshPeer) throws {
        let id: Int
        let action: DocumentChange.Action
        if passing > 0, random.chance(1, in: 2) {
            id = max(0, passing - 1 - random.below(4))
            action = .delete
        } else {
            id = passing
            passing += 1
            action = .insert(["color": "red", "n": .integer(Int64(id))], onConflict: .merge)
        }
        try commit([DocumentChange("cars", .string("p\(id)"), action)], on: peer)
    }

    /// Writes the same number to all documents of the peer's group, in one transaction.
    private func writeGroup(_ peer: MeshPeer) throws {
        transactions[peer.number, default: 0] += 1
        let number = Value.integer(transactions[peer.number] ?? 0)
        try commit(
            (0..<4).map { index in
                DocumentChange(
                    "groups", .string("g\(peer.number).\(index)"),
                    .insert(["n": number], onConflict: .merge))
            }, on: peer)
    }

    func evict(_ peer: MeshPeer) throws {
        let ids = (0..<1 + random.below(5)).map { _ in
            Value.string("c\(random.below(20))")
        }
        for id in ids {
            evicted.insert(
                DocumentAddress(collection: "cars", id: try DocumentID.key(of: id)))
        }
        try commit(ids.map { DocumentChange("cars", $0, .evict) }, on: peer)
    }

    private func resubscribe(_ peer: MeshPeer) throws {
        try peer.subscribe(drawSubscriptions(of: peer))
        try perform(peer)
    }

    /// Cuts the power of a peer, and reopens its store.
    private func crash(_ peer: MeshPeer) throws {
        report.crashes += 1
        cutAll(of: peer)
        try peer.reopen(on: peer.volume.powerCut(seed: random.next()))
        try checkAcknowledged(by: peer)
        try perform(peer)
    }

    /// Compacts a store, unless that could discard the commits of a clock repair.
    ///
    /// These commits list the restamped writes of other peers.
    private func compact(_ peer: MeshPeer) throws {
        guard peer.rights == nil || !repaired.contains(peer.number) else { return }
        try peer.compact()
    }

    /// Replaces the disk of a peer with an older state of it.
    private func restore(_ peer: MeshPeer) throws {
        guard let backup = backups[peer.number] else { return }
        cutAll(of: peer)
        restored.insert(peer.number)
        try peer.reopen(on: restored(backup))
        peer.recordRestored()
        try perform(peer)
    }

    /// Returns a backup that was copied, restored in its directory, or rolled back undetectably.
    private func restored(_ backup: SimulatedVolume) -> SimulatedVolume {
        switch random.below(3) {
        case 0: backup.copy(identity: random.next() | 1)
        case 1: backup.restored(seed: random.next())
        default: backup.rolledBack(seed: random.next())
        }
    }

    func cutAll(of peer: MeshPeer) {
        for wire in wires.values.sorted(by: { $0.number < $1.number })
        where wire.ends.contains(peer.number) {
            cut(wire)
        }
    }

    /// Makes a pair of peers unreachable for each other for some seconds.
    private func partition() {
        let pair = random.below(pairs.count)
        partitions[pair] = now + UInt64(1 + random.below(20)) * Self.second
        for wire in wires.values where wire.ends == [pairs[pair].0, pairs[pair].1] { cut(wire) }
    }

    /// Checks that a peer still has all commits that it acknowledged.
    ///
    /// Only groups are checked: all peers subscribe to all groups, and never evict them.
    private func checkAcknowledged(by peer: MeshPeer) throws {
        // A peer that was rolled back undetectably has lost acknowledged commits.
        guard !restored.contains(peer.number), !peer.isStranger else { return }
        for other in honest where other !== peer {
            guard let commit = other.replicator.allStatuses[peer.key]?.syncedUpTo else { continue }
            guard let address = try other.missing(at: peer, upTo: commit) else { continue }
            throw Violation(
                description: "peer \(peer.number) acknowledged commit \(commit) of peer "
                    + "\(other.number), and lacks its document \(address.id)")
        }
    }

    /// Checks that all documents of a group have the number that one transaction wrote.
    func checkGroups(of peer: MeshPeer) throws {
        guard plan.keepsGroups else { return }
        let contents = try peer.groupNumbers()
        for (group, numbers) in contents where Set(numbers).count > 1 || numbers.count != 4 {
            throw Violation(
                description: "peer \(peer.number) reads \(numbers) from group \(group)")
        }
    }

    func describe(_ bytes: [UInt8]?) -> String {
        guard let bytes else { return "nothing" }
        return bytes.withUnsafeBytes { bytes in
            let document = try? EncodedDocument(bytes)
            let value = try? document?.value(NameTable())
            let vector = (try? document?.vector().entries) ?? []
            return "\(value.map { Value.object($0).json } ?? "no document") seen \(vector)"
        }
    }
}

extension MeshPeer {
    /// Returns a document of groups of which `other` lacks writes up to `commit`, or nil.
    fileprivate func missing(at other: MeshPeer, upTo commit: CommitID) throws -> DocumentAddress? {
        let (own, theirs) = (documents.snapshot(), other.documents.snapshot())
        func seen(_ document: StoredDocument?) throws -> VersionVector {
            try document?.read { try EncodedDocument($0).vector() } ?? VersionVector()
        }
        for group in 0..<9 {
            for index in 0..<4 {
                let id = Value.string("g\(group).\(index)")
                guard let key = try own.key(collection: "groups", id: id),
                    let known = try own.document(key, asOf: commit), let known
                else { continue }
                let remote = try theirs.key(collection: "groups", id: id).flatMap {
                    try theirs.document($0)
                }
                if try !seen(remote).covers(try seen(known)) {
                    return DocumentAddress(
                        collection: "groups", id: Array(key[StoreKey.documentPrefixLength...]))
                }
            }
        }
        return nil
    }

    /// Returns a description of a durable document and its version vector.
    ///
    /// A car is named by its id, any other document by `collection/id`.
    func description(of observed: String) throws -> String {
        let snapshot = documents.snapshot()
        let parts = observed.split(separator: "/", maxSplits: 1).map(String.init)
        guard
            let key = try snapshot.key(
                collection: parts.count > 1 ? parts[0] : "cars", id: .string(parts[parts.count - 1])
            ),
            let document = try snapshot.document(key)
        else { return "nothing" }
        return document.read { bytes in
            let document = try? EncodedDocument(bytes)
            let value = try? document?.value(snapshot.names)
            let seen = ((try? document?.vector().entries) ?? []).map {
                "\($0.site.rawValue % 1_000):\($0.time.milliseconds)"
            }
            return "\(value.map { Value.object($0).json } ?? "deleted") seen \(seen)"
        }
    }

    /// Describes which peers refuse the local state of a document.
    func refusals(of observed: String) -> String {
        let id = observed.split(separator: "/", maxSplits: 1).last.map(String.init) ?? ""
        let keys = replicator.surveys().filter { survey in
            survey.refused.contains { $0.documentID == .string(id) }
        }
        .map { "\($0.key.description.suffix(4))" }
        return keys.isEmpty ? "" : ", refused by \(keys)"
    }

    /// Returns the numbers in the documents of each group.
    func groupNumbers() throws -> [String: [Int64]] {
        var numbers: [String: [Int64]] = [:]
        let snapshot = documents.snapshot()
        guard let number = snapshot.catalog.number(ofCollection: "groups") else { return [:] }
        for group in 0..<9 {
            for index in 0..<4 {
                let key = try StoreKey.bytes(
                    ofDocument: .string("g\(group).\(index)"), collection: number)
                guard let document = try snapshot.document(key) else { continue }
                let object = try document.read { bytes in
                    try EncodedDocument(bytes).value(snapshot.names)
                }
                guard case .integer(let number)? = object?["n"] else { continue }
                numbers["g\(group)", default: []].append(number)
            }
        }
        return numbers
    }
}
