import Sheaf
import SheafAttachments
import SheafDocument
import SheafEngine
import SheafStatements
import SheafStorage
import SheafSync
import SheafTestSupport
import Testing

/// Proofs of possession, which make tokens of peers with limited rights valid.
extension AttachmentRightsTests {
    @Test(arguments: [0, 1, 5_000, 262_145, 530_000])
    func `a peer proves to have a file, and other peers receive the file`(_ length: Int) throws {
        for isStored in [false, true] {
            let file = SampleFile(seed: 7, length: length)
            let scene = try scene(3)
            if isStored { _ = try scene.nodes[0].attachments.add(file.bytes) }
            _ = try scene.nodes[1].attachments.add(file.bytes)
            try scene.connect(0, 1, rightsOfRight: Self.rightsOfAnn)
            try scene.connect(0, 2, rightsOfRight: Self.rightsOfAnn)
            try scene.nodes[1].insert("mine", naming: file.id, length: file.bytes.count)
            try scene.recordPublished(1)
            try scene.run()
            try scene.fetch(file.id, by: 2)
            try settle(scene)
            #expect(scene.nodes[2].complete == [file.id])
            #expect(try scene.nodes[2].contents(of: file.id) == file.bytes)
            // No part was sent twice.
            let parts = file.list.count + (length > 0 ? 1 : 0)
            #expect(scene.nodes[1].sentParts == parts)
        }
    }

    @Test func `a proof is durable and is valid for the next peer`() throws {
        let scene = try scene(3)
        _ = try scene.nodes[1].attachments.add(secret.bytes)
        let wire = try scene.connect(0, 1, rightsOfRight: Self.rightsOfAnn)
        try scene.nodes[1].insert("mine", naming: secret.id, length: secret.bytes.count)
        try scene.recordPublished(1)
        try scene.fetch(secret.id, by: 0)
        try settle(scene)
        try scene.disconnect(wire)
        try scene.restart(0, isPowerCut: true)
        try scene.connect(0, 2, rightsOfRight: Self.rightsOfAnn)
        try scene.fetch(secret.id, by: 2)
        try settle(scene)
        #expect(scene.nodes[2].complete == [secret.id])
    }

    @Test func `the proof of a token is requested from a peer that connects later`() throws {
        let scene = try scene()
        _ = try scene.nodes[1].attachments.add(secret.bytes)
        let wire = try scene.connect(0, 1, rightsOfRight: Self.rightsOfAnn)
        try scene.nodes[1].insert("mine", naming: secret.id, length: secret.bytes.count)
        try scene.recordPublished(1)
        try settle(scene)
        try scene.disconnect(wire)
        try scene.fetch(secret.id, by: 0)
        try settle(scene)
        func unproven() -> Int {
            scene.nodes[0].store.queries.documents.snapshot().unprovenTokenCount
        }
        #expect(unproven() == 1)
        try scene.connect(0, 1, rightsOfRight: Self.rightsOfAnn)
        try settle(scene)
        #expect(unproven() == 0)
    }

    @Test func `a proof begun on one connection is completed on the next`() throws {
        let scene = try scene(3)
        _ = try scene.nodes[1].attachments.add(secret.bytes)
        var wire = try scene.connect(0, 1, rightsOfRight: Self.rightsOfAnn)
        try scene.connect(0, 2, rightsOfRight: Self.rightsOfAnn)
        try scene.nodes[1].insert("mine", naming: secret.id, length: secret.bytes.count)
        try scene.recordPublished(1)
        try scene.run()
        try scene.fetch(secret.id, by: 2)
        try scene.run { scene.nodes[1].sentParts == 2 }
        try scene.disconnect(wire)
        try settle(scene)
        #expect(scene.nodes[2].complete.isEmpty)
        wire = try scene.connect(0, 1, rightsOfRight: Self.rightsOfAnn)
        try settle(scene)
        #expect(scene.nodes[2].complete == [secret.id])
    }

    /// Its chunks arrive as parts of the proof, too.
    @Test func `a chunk that cannot be written ends the fetch of a file whose token is unproven`()
        throws
    {
        let disk = SimulatedVolume(seed: 1)
        let scene = try FileScene(2, disks: [0: disk])
        try scene.subscribe(0, ["SELECT * FROM cars"])
        _ = try scene.nodes[1].attachments.add(secret.bytes)
        try scene.connect(0, 1, rightsOfRight: Self.rightsOfAnn)
        try scene.nodes[1].insert("mine", naming: secret.id, length: secret.bytes.count)
        try scene.recordPublished(1)
        try settle(scene)
        try scene.fetch(secret.id, by: 0)
        for _ in 0..<4 where scene.nodes[1].sentParts < 2 {
            try scene.advance(seconds: 2) { scene.nodes[1].sentParts >= 2 }
        }
        // The first chunk has not arrived.
        try #require(scene.nodes[1].sentParts >= 2)
        disk.inject(SimulatedFault(.error(.inputOutput), of: .write))
        try settle(scene)
        #expect(scene.nodes[0].failed[secret.id] != nil)
        #expect(scene.nodes[0].complete.isEmpty)
    }

    @Test(arguments: [1, 2, 3], [false, true])
    func `a proof is valid at the peers to which its receiver relays`(
        _ relays: Int, _ isStored: Bool
    ) throws {
        let file = SampleFile(seed: 7, length: 262_145)
        // The peers are the server, a chain of relays, the token's writer, and a fetching peer.
        let (sender, reader) = (relays + 1, relays + 2)
        let scene = try scene(relays + 3)
        if isStored { _ = try scene.nodes[0].attachments.add(file.bytes) }
        _ = try scene.nodes[sender].attachments.add(file.bytes)
        for number in 1...relays {
            try scene.subscribe(number, ["SELECT * FROM cars"])
            try scene.connect(number - 1, number)
        }
        try scene.connect(relays, sender, rightsOfRight: Self.rightsOfAnn)
        try scene.connect(0, reader, rightsOfRight: Self.rightsOfAnn)
        try scene.nodes[sender].insert("mine", naming: file.id, length: file.bytes.count)
        try scene.recordPublished(sender)
        try scene.fetch(file.id, by: reader)
        for _ in 0...relays { try settle(scene) }
        #expect(scene.nodes[reader].complete == [file.id])
        #expect(scene.nodes[0].store.queries.documents.snapshot().unprovenTokenCount == 0)
    }

    @Test func `a proof is valid at a peer with limited rights`() throws {
        let file = SampleFile(seed: 7, length: 5_000)
        let scene = try scene(4)
        _ = try scene.nodes[3].attachments.add(file.bytes)
        try scene.subscribe(1, ["SELECT * FROM cars"])
        try scene.connect(0, 1, rightsOfRight: Self.rightsOfAnn)
        try scene.connect(0, 3, rightsOfRight: Self.rightsOfAnn)
        try scene.connect(1, 2, rightsOfRight: Self.rightsOfAnn)
        try scene.nodes[3].insert("mine", naming: file.id, length: file.bytes.count)
        try scene.recordPublished(3)
        try settle(scene)
        #expect(scene.nodes[1].store.queries.documents.snapshot().unprovenTokenCount == 1)
        try scene.fetch(file.id, by: 2)
        for _ in 0..<2 { try settle(scene) }
        #expect(scene.nodes[2].complete == [file.id])
        #expect(scene.nodes[1].store.queries.documents.snapshot().unprovenTokenCount == 0)
    }

    @Test(arguments: [FaultyPeer.Fault.hashes, .length, .chunks])
    func `a proof with other bytes is invalid`(_ fault: FaultyPeer.Fault) throws {
        let scene = try scene(3)
        let wire = try scene.connect(0, 1, rightsOfRight: Self.rightsOfAnn)
        try scene.nodes[1].insert("mine", naming: secret.id, length: secret.bytes.count)
        try scene.recordPublished(1)
        try scene.run()
        try scene.disconnect(wire)
        // A lying peer connects with the same key.
        let hostilePeer = FaultyPeer(secret, fault, number: 0x0202)
        try scene.connect(0, hostilePeer: hostilePeer, rights: Self.rightsOfAnn)
        try scene.connect(0, 2, rightsOfRight: Self.rightsOfAnn)
        try scene.fetch(secret.id, by: 2)
        try settle(scene)
        #expect(!hostilePeer.requested.isEmpty)
        #expect(scene.nodes[2].complete.isEmpty)
    }

    @Test func `a token is proven if its writer may read the file`() throws {
        let scene = try scene(3)
        try scene.nodes[0].insert("open", naming: secret.id, length: secret.bytes.count)
        try scene.connect(
            0, 1,
            rightsOfRight: PeerRights(
                read: ["cars": "owner = 'ann'"], write: ["cars": "owner = 'eve'"]))
        try scene.connect(0, 2, rightsOfRight: Self.rights(of: "eve"))
        try scene.nodes[1].insert(
            "copy", naming: secret.id, length: secret.bytes.count, owner: "eve")
        try scene.recordPublished(1)
        try scene.fetch(secret.id, by: 2)
        try settle(scene)
        #expect(scene.nodes[2].complete == [secret.id])
        #expect(scene.nodes[1].sentParts == 0)
    }

    @Test func `a token that was stored before stays proven when a peer changes the document`()
        throws
    {
        let scene = try scene(3)
        try scene.nodes[0].insert("a", naming: secret.id, length: secret.bytes.count)
        try scene.subscribe(1, ["SELECT * FROM cars"])
        try scene.connect(0, 1, rightsOfRight: Self.rightsOfAnn)
        try scene.run()
        // The token moves within the document.
        try scene.execute(
            1,
            "UPDATE COLLECTION cars (photo ATTACHMENT, other ATTACHMENT) SET other = :token, n = 1 WHERE _id = 'a'",
            try token(secret))
        try scene.run()
        try scene.execute(
            1, "UPDATE COLLECTION cars (photo ATTACHMENT) UNSET photo WHERE _id = 'a'")
        try scene.run()
        try scene.connect(0, 2, rightsOfRight: Self.rightsOfAnn)
        try scene.fetch(secret.id, by: 2)
        try settle(scene)
        #expect(scene.nodes[2].complete == [secret.id])
    }

    @Test(arguments: [0, 2])
    func `a token is proven when a peer with all rights writes it again`(_ writer: Int) throws {
        let scene = try scene(3)
        try scene.subscribe(2, ["SELECT * FROM cars"])
        try scene.connect(0, 2)
        try scene.connect(0, 1, rightsOfRight: Self.rightsOfAnn)
        try scene.nodes[1].insert("mine", naming: secret.id, length: secret.bytes.count)
        try scene.recordPublished(1)
        try scene.run()
        try scene.fetch(secret.id, by: 1)
        try settle(scene)
        #expect(scene.nodes[1].complete.isEmpty)
        // A write to another field does not prove the token.
        try scene.execute(writer, "UPDATE cars SET n = 1 WHERE _id = 'mine'")
        try settle(scene)
        #expect(scene.nodes[1].complete.isEmpty)
        try scene.execute(
            writer,
            "UPDATE COLLECTION cars (photo ATTACHMENT) SET photo = :token WHERE _id = 'mine'",
            try token(secret))
        try settle(scene)
        #expect(scene.nodes[1].complete == [secret.id])
    }

    @Test(arguments: [1_023, 1_024, 1_025])
    func `up to 1,024 unproven tokens of a document are recorded one by one`(
        count: Int
    ) throws {
        let scene = try scene()
        try scene.connect(0, 1, rightsOfRight: Self.rightsOfAnn)
        try insert(tokens: count, into: scene)
        try settle(scene)
        let recorded = scene.nodes[0].store.queries.documents.snapshot().unprovenTokenCount
        #expect(recorded == (count <= 1_024 ? count : 1))
    }

    @Test func `the entry of an unproven token is removed with the token`() throws {
        for end in [
            "UPDATE COLLECTION cars (photo ATTACHMENT) UNSET photo WHERE _id = 'mine'",
            "DELETE FROM cars WHERE _id = 'mine'", "EVICT FROM cars WHERE _id = 'mine'",
        ] {
            let scene = try scene()
            try scene.connect(0, 1, rightsOfRight: Self.rightsOfAnn)
            try scene.nodes[1].insert("mine", naming: secret.id, length: secret.bytes.count)
            try scene.recordPublished(1)
            try scene.run()
            let queries = scene.nodes[0].store.queries
            #expect(queries.documents.snapshot().unprovenTokenCount == 1)
            #expect(
                try DocumentVerifier.verify(scene.nodes[0].store.engine.snapshot())?.findings == [])
            try scene.execute(0, DQL(verbatim: end))
            #expect(queries.documents.snapshot().unprovenTokenCount == 0)
        }
    }

    @Test(arguments: [(64, 64), (65, 64)])
    func `the proofs of 64 attachments are requested at a time`(_ count: Int, _ requested: Int)
        throws
    {
        let scene = try scene()
        let wire = try scene.connect(0, 1, rightsOfRight: Self.rightsOfAnn)
        try scene.run()
        let ids = try (0..<count).map { number in
            try #require(AttachmentID(bytes: [UInt8](repeating: UInt8(number), count: 32)))
        }
        for id in ids { try scene.nodes[1].insert("\(id)", naming: id, length: 9) }
        try scene.recordPublished(1)
        try settle(scene)
        for id in ids { try scene.fetch(id, by: 0) }
        try settle(scene)
        var reader = FrameReader(limit: SyncLimits.frameLength)
        var sought = 0
        for bytes in scene.sent[wire]?[0] ?? [] {
            bytes.withUnsafeBytes { reader.append($0) }
            while let frame = try reader.next() { sought += frame.type == .seek ? 1 : 0 }
        }
        #expect(sought == requested)
    }

    @Test(arguments: [(1_024, true), (1_025, false)])
    func `a change with 1,024 unproven tokens can be proven, and one with more cannot`(
        _ count: Int, _ isProven: Bool
    ) throws {
        let scene = try scene(3, hasSecret: false)
        _ = try scene.nodes[1].attachments.add(secret.bytes)
        try scene.connect(0, 1, rightsOfRight: Self.rightsOfAnn)
        try scene.connect(0, 2, rightsOfRight: Self.rightsOfAnn)
        var tokens: Object = ["t0": try secret.token.value]
        for number in 1..<count {
            let start = [UInt8(number % 256), UInt8(number / 256)]
            let id = try #require(AttachmentID(bytes: start + [UInt8](repeating: 7, count: 30)))
            tokens["t\(number)"] = ["id": .string(id.description), "len": .integer(1)]
        }
        let fields = tokens.map { "\($0.name) ATTACHMENT" }.joined(separator: ", ")
        try scene.execute(
            1,
            DQL(
                verbatim: "INSERT INTO COLLECTION cars (box MAP (\(fields))) "
                    + "DOCUMENTS ({'_id': 'mine', 'owner': 'ann', 'box': :tokens})"),
            QueryArguments(["tokens": .object(tokens)]))
        try settle(scene)
        try scene.fetch(secret.id, by: 2)
        try settle(scene)
        #expect(try scene.nodes[0].rows("SELECT _id FROM cars").count == 2)
        #expect(scene.nodes[2].complete == (isProven ? [secret.id] : []))
    }
}
