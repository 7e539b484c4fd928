import SheafBytes
import SheafDocument
import SheafEngine
import SheafQuery
import SheafReplication
import SheafSync
import SheafTestSupport
import SheafTransport

/// Documents with restricted readers, and the invariants of all documents.
extension MeshSimulation {
    /// Writes a draft, a secret, a title or a paper.
    func writeMarked(_ peer: MeshPeer) throws {
        switch random.below(4) {
        case 0: try writeDraft(peer)
        case 1: try writeSecret(peer)
        case 2: try writeTitle(peer)
        default: try writePaper(peer)
        }
    }

    /// Writes a draft, which no other peer accepts; only peers with limited rights write drafts.
    private func writeDraft(_ peer: MeshPeer) throws {
        guard peer.rights != nil else { return }
        let text = Value.string("\(MarkScanner.mark("draft")) by \(peer.number)")
        try commit(
            [
                DocumentChange(
                    "drafts", .string("d\(peer.number).\(random.below(4))"),
                    .insert(["text": text], onConflict: .merge))
            ], on: peer)
    }

    /// Writes a secret, whose owner never changes.
    private func writeSecret(_ peer: MeshPeer) throws {
        guard !peer.isStranger else { return }
        var owner = ["all", "nobody"][random.below(2)]
        if peer.rights != nil { owner = "me\(peer.number)" }
        let mark = owner == "all" ? "all" : MarkScanner.mark(owner)
        let id = Value.string("\(mark).\(random.below(4))")
        let action: DocumentChange.Action
        switch random.below(5) {
        case 0: action = .delete
        case 1: action = .edit([.set(path: ["n"], to: .integer(Int64(random.below(100))))])
        default:
            action = .insert(
                ["owner": .string(owner), "text": .string("\(mark) \(random.below(100))")],
                onConflict: .merge)
        }
        try commit([DocumentChange("secrets", id, action)], on: peer)
    }

    /// Writes a title, whose owner changes, also concurrently with writes of the former owner.
    ///
    /// A write may therefore be refused, which must not end the connection.
    private func writeTitle(_ peer: MeshPeer) throws {
        guard !peer.isStranger else { return }
        let id = Value.string("t\(random.below(4))")
        let owner = Value.string("me\(random.below(peers.count))")
        let number = Value.integer(Int64(random.below(100)))
        let action: DocumentChange.Action
        switch random.below(8) {
        case 0: action = .delete
        case 1..<4: action = .edit([.set(path: ["n"], to: number)])
        case 4: action = .edit([.set(path: ["owner"], to: owner)])
        default: action = .insert(["owner": owner, "n": number], onConflict: .merge)
        }
        try commit([DocumentChange("titles", id, action)], on: peer)
    }

    /// Writes a paper, which is readable while its level is low.
    ///
    /// It has one writer, so it has no values of concurrent writes, which are sent with a document.
    /// The repair of a clock writes it too: in meshes with wrong clocks, each paper is always
    /// readable, or never.
    private func writePaper(_ peer: MeshPeer) throws {
        guard peer.rights == nil, !restored.contains(peer.number) else { return }
        let number = random.below(3)
        let id = Value.string("p\(peer.number).\(number)")
        var level = random.below(8)
        if plan.hasWrongClocks { level = number == 2 ? 5 + level % 3 : level % 5 }
        let text = level < 5 ? "open" : MarkScanner.mark("nobody")
        let (levelValue, textValue) = (Value.integer(Int64(level)), Value.string(text))
        let action: DocumentChange.Action
        switch random.below(8) {
        case 0: action = .delete
        case 1..<4:
            action = .edit([
                .set(path: ["level"], to: levelValue), .set(path: ["text"], to: textValue),
            ])
        default:
            action = .insert(
                ["level": levelValue, "text": textValue, "n": .integer(Int64(random.below(100)))],
                onConflict: .merge)
        }
        try commit([DocumentChange("papers", id, action)], on: peer)
    }

    /// Writes as a malicious peer, mostly within its rights.
    func scrawl(_ peer: MeshPeer) throws {
        let id = Value.string("x\(random.below(12))")
        var changes = [
            DocumentChange(
                "graffiti", id,
                .insert(
                    ["n": .integer(Int64(random.below(100))), "text": .string("here")],
                    onConflict: .merge))
        ]
        switch random.below(12) {
        case 0: changes.append(DocumentChange("graffiti", id, .delete))
        case 1:
            changes.append(
                DocumentChange(
                    "graffiti", id,
                    .edit([.set(path: ["deep", "\(random.below(5))"], to: .string("x"))])))
        case 2:
            let car = Value.string("c\(random.below(20))")
            changes.append(
                DocumentChange(
                    "cars", car, .insert(["color": "painted over"], onConflict: .merge)))
        default: break
        }
        try commit(changes, on: peer)
    }

    /// Checks the invariants of one peer that hold at any time.
    func check(_ peer: MeshPeer) throws {
        guard !peer.isStranger else { return }
        try checkGroups(of: peer)
        try checkMarks(of: peer)
        if plan.hasWrongClocks { try checkTimes(of: peer) }
    }

    /// Checks that a peer has no hidden document, and none written without rights.
    private func checkMarks(of peer: MeshPeer) throws {
        var allowed: Set<String> = ["nobody"]
        for other in peers { allowed.insert("me\(other.number)") }
        if peer.rights != nil { allowed = ["me\(peer.number)", "draft"] }
        let scanner = MarkScanner(allowing: allowed)
        let texts = ["papers", "secrets", "drafts", "cars", "groups"].map { "SELECT * FROM \($0)" }
        for (address, bytes) in try peer.contents(matching: texts) {
            guard let mark = scanner.mark(in: address.id + bytes) else { continue }
            throw Violation(
                description: "peer \(peer.number) has a document of \(address.collection) that is "
                    + "hidden: \(mark)")
        }
        guard peers.contains(where: \.isStranger) else { return }
        let painted = try peer.contents(matching: [
            "SELECT * FROM cars WHERE color = 'painted over'"
        ])
        guard painted.isEmpty else {
            throw Violation(description: "peer \(peer.number) has cars written without rights")
        }
    }

    /// Checks that all peers have the same bytes of the documents that they may read.
    func checkAgreement() throws {
        for peer in honest { try check(peer) }
        for peer in honest.dropFirst() {
            for collection in ["cars", "groups", "papers", "secrets"] {
                try checkAgreement(of: peer, on: collection)
            }
        }
        for wire in wires.values where wire.isOpen {
            try checkRefusals(of: peers[wire.ends[0]], by: peers[wire.ends[1]])
            try checkRefusals(of: peers[wire.ends[1]], by: peers[wire.ends[0]])
        }
    }

    /// Checks that a peer knows which of its writes a neighbor refuses.
    private func checkRefusals(of peer: MeshPeer, by other: MeshPeer) throws {
        guard let rights = peer.rights, other.rights == nil, !peer.isStranger else { return }
        let survey = peer.replicator.surveys().first { $0.key.bytes == other.key }
        let refused = Set(
            (survey?.refused ?? []).map { "\($0.collection) \($0.documentID.json)" })
        // No peer subscribes to drafts; a peer that may read everything receives all titles.
        var texts = ["SELECT * FROM drafts"]
        if rights.read["titles"] == "true" { texts.append("SELECT * FROM titles") }
        let (local, remote) = (
            try peer.contents(matching: texts), try other.contents(matching: texts)
        )
        for (address, bytes) in local where remote[address] != bytes {
            // A deleted title is hidden from the peer, so its refusal is not reported.
            guard address.collection == "drafts" || remote[address] != nil else { continue }
            // Refusals of writes received from other peers are not reported.
            let vector = try bytes.span.withUnsafeBytes { bytes throws(Malformed) in
                try EncodedDocument(bytes).vector()
            }
            let sites = peer.documents.ownSites
            guard sites.contains(where: { vector.time(of: $0) > .initial }) else { continue }
            let name = "\(address.collection) \(try DocumentID.id(of: address.id).json)"
            guard !refused.contains(name) else { continue }
            throw Violation(
                description: "peer \(peer.number) does not know that its state of \(name) is "
                    + "refused by peer \(other.number)")
        }
    }

    private func checkAgreement(of peer: MeshPeer, on collection: String) throws {
        var rule = "true"
        if let rights = peer.rights {
            guard let condition = rights.read[collection] else {
                let found = try peer.contents(matching: ["SELECT * FROM \(collection)"])
                guard found.isEmpty else {
                    throw Violation(
                        description: "peer \(peer.number) has documents of \(collection), which "
                            + "it may not read")
                }
                return
            }
            rule = condition
        }
        // Peer 0 may read everything, because other peers depend on it.
        let text = "SELECT * FROM \(collection) WHERE \(rule)"
        let first = try peers[0].contents(matching: [text])
        let other = try peer.contents(matching: [text])
        // A rolled-back peer may write to a document that it had deleted: the owner is lost then,
        // and with it the right to write the document.
        if rule.contains("owner"), restored.contains(peer.number), peer.rights != nil { return }
        // A peer cannot restore or delete, at other peers, documents that it may not write.
        var (keys, writable) = (Set<DocumentAddress>(), rule)
        if let rights = peer.rights { writable = rights.write[collection] ?? "false" }
        let written = "SELECT * FROM \(collection) WHERE \(writable)"
        if writable != "false" {
            keys = Set(try peers[0].contents(matching: [written]).keys)
            keys.formUnion(try peer.contents(matching: [written]).keys)
        }
        // A peer that evicted a tombstone has lost the deletion.
        if restored.isEmpty { keys.formUnion(Set(first.keys).subtracting(evicted)) }
        for address in keys where first[address] != other[address] {
            throw Violation(
                description: "peers 0 and \(peer.number) disagree on \(collection) "
                    + "\(address.id), where \(rule): \(describe(first[address])) and "
                    + "\(describe(other[address]))")
        }
    }
}
