import Sheaf
import SheafAttachments
import SheafStatements
import SheafSync
import Testing

/// Attachments between peers, message by message.
@Suite struct AttachmentMessageTests {
    /// A file of more chunks than are requested at a time.
    private let sample = SampleFile(seed: 3, length: 9 * 262_144 + 77)

    @Test func `a file of any length is fetched, and a second fetch transfers nothing`() throws {
        for sample in SampleFile.all {
            let scene = try FileScene(2)
            _ = try scene.nodes[0].attachments.add(sample.bytes)
            try scene.connect(0, 1)
            try scene.fetch(sample.id, by: 1)
            try scene.run()
            #expect(scene.nodes[1].complete == [sample.id])
            let contents = try scene.nodes[1].contents(of: sample.id)
            #expect(contents == sample.bytes)
            let sent = scene.nodes[0].sentParts
            try scene.fetch(sample.id, by: 1)
            try scene.run()
            #expect(scene.nodes[1].complete == [sample.id, sample.id])
            #expect(scene.nodes[0].sentParts == sent)
        }
    }

    @Test func `a fetch waits until a reachable peer has the file`() throws {
        let scene = try FileScene(3)
        try scene.fetch(sample.id, by: 2)
        try scene.run()
        try scene.connect(1, 2)
        try scene.run()
        try scene.connect(0, 1)
        try scene.run()
        #expect(scene.nodes[2].complete.isEmpty)
        _ = try scene.nodes[0].attachments.add(sample.bytes)
        try scene.recordPublished(0)
        try scene.run()
        #expect(scene.nodes[2].complete == [sample.id])
        // The peer that relayed the file keeps it.
        #expect(try scene.nodes[1].contents(of: sample.id) == sample.bytes)
    }

    @Test func `requests are forwarded over at most eight hops, and not in a cycle`() throws {
        for (count, isReached) in [(9, true), (10, false)] {
            let scene = try FileScene(count)
            let small = SampleFile.all[2]
            _ = try scene.nodes[0].attachments.add(small.bytes)
            for number in 1..<count { try scene.connect(number - 1, number) }
            try scene.fetch(small.id, by: count - 1)
            try scene.run()
            #expect(scene.nodes[count - 1].complete == (isReached ? [small.id] : []))
        }
        let circle = try FileScene(4)
        for number in 0..<4 { try circle.connect(number, (number + 1) % 4) }
        try circle.connect(0, 2)
        try circle.fetch(sample.id, by: 0)
        try circle.run()
        try circle.cancel(sample.id, by: 0)
        try circle.run()
        // The fetch was canceled, so a peer that adds the file sends it to no peer.
        _ = try circle.nodes[2].attachments.add(sample.bytes)
        try circle.recordPublished(2)
        try circle.run()
        #expect(circle.nodes.allSatisfy { $0.sentParts == 0 })
    }

    @Test func `another peer takes over when the source disconnects, and no chunk is sent twice`()
        throws
    {
        let scene = try FileScene(3)
        for number in 0..<2 { _ = try scene.nodes[number].attachments.add(sample.bytes) }
        let first = try scene.connect(0, 2)
        try scene.fetch(sample.id, by: 2)
        try scene.run { scene.nodes[2].received >= 4 * 262_144 }
        #expect(scene.nodes[2].complete.isEmpty)
        try scene.disconnect(first)
        try scene.run()
        #expect(scene.nodes[2].complete.isEmpty)
        try scene.connect(1, 2)
        try scene.run()
        #expect(scene.nodes[2].complete == [sample.id])
        #expect(try scene.nodes[2].contents(of: sample.id) == sample.bytes)
        #expect(scene.nodes[1].sentParts == sample.list.count - 4)
    }

    @Test func `two peers that have a file both send parts, and no part is sent twice`() throws {
        let scene = try FileScene(3)
        for number in 0..<2 {
            _ = try scene.nodes[number].attachments.add(sample.bytes)
            try scene.connect(number, 2)
        }
        try scene.fetch(sample.id, by: 2)
        try scene.run()
        #expect(scene.nodes[2].complete == [sample.id])
        let sent = scene.nodes.map(\.sentParts)
        #expect(sent[0] > 2 && sent[1] > 2)
        #expect(sent[0] + sent[1] == sample.list.count + 1)
    }

    @Test(arguments: [FaultyPeer.Fault.hashes, .length, .chunks])
    func `no part is requested again from a peer that sent bad data`(_ fault: FaultyPeer.Fault)
        throws
    {
        let scene = try FileScene(2)
        let hostilePeer = FaultyPeer(sample, fault)
        try scene.connect(1, hostilePeer: hostilePeer)
        try scene.fetch(sample.id, by: 1)
        try scene.run()
        #expect(scene.nodes[1].complete.isEmpty && scene.nodes[1].failed.isEmpty)
        let requests = hostilePeer.requested.count
        // The requests are for the hashes, and for chunks before the first one arrives.
        #expect(requests > 0 && requests <= 1 + SyncLimits.fetchWindow)
        _ = try scene.nodes[0].attachments.add(sample.bytes)
        try scene.connect(0, 1)
        try scene.run()
        #expect(scene.nodes[1].complete == [sample.id])
        #expect(try scene.nodes[1].contents(of: sample.id) == sample.bytes)
        #expect(hostilePeer.requested.count == requests)
    }

    @Test func `a peer that does not answer a request is replaced after a timeout`() throws {
        let scene = try FileScene(2)
        try scene.connect(1, hostilePeer: FaultyPeer(sample, .silence))
        try scene.fetch(sample.id, by: 1)
        try scene.run()
        _ = try scene.nodes[0].attachments.add(sample.bytes)
        try scene.connect(0, 1)
        try scene.run()
        #expect(scene.nodes[1].complete.isEmpty)
        try scene.advance(seconds: 20)
        #expect(scene.nodes[1].complete == [sample.id])
    }

    @Test func `a fetch resumes after a restart with the durable chunks`() throws {
        let scene = try FileScene(2)
        let long = SampleFile(seed: 9, length: 24 * 262_144)
        _ = try scene.nodes[0].attachments.add(long.bytes)
        try scene.connect(0, 1)
        try scene.fetch(long.id, by: 1)
        try scene.run { scene.nodes[1].received >= 20 * 262_144 }
        try scene.restart(1)
        let sent = scene.nodes[0].sentParts
        try scene.connect(0, 1)
        try scene.fetch(long.id, by: 1)
        try scene.run()
        #expect(scene.nodes[1].complete == [long.id])
        #expect(try scene.nodes[1].contents(of: long.id) == long.bytes)
        // Chunks are made durable sixteen at a time.
        #expect(scene.nodes[0].sentParts - sent == 24 - 16)
    }

    @Test func `a canceled fetch resumes later, and no peer relays for it meanwhile`() throws {
        let scene = try FileScene(3)
        _ = try scene.nodes[0].attachments.add(sample.bytes)
        try scene.connect(0, 1)
        try scene.connect(1, 2)
        try scene.fetch(sample.id, by: 2)
        try scene.run { scene.nodes[0].sentParts == 4 }
        try scene.cancel(sample.id, by: 2)
        try scene.run()
        let sent = scene.nodes[0].sentParts
        #expect(sent < sample.list.count + 1)
        #expect(scene.nodes[2].complete.isEmpty)
        try scene.fetch(sample.id, by: 2)
        try scene.run()
        #expect(scene.nodes[2].complete == [sample.id])
        // The chunks received before the cancellation are not sent again.
        #expect(scene.nodes[0].sentParts <= sample.list.count + 1 + SyncLimits.fetchWindow)
    }

    @Test func `read rights decide whether a peer gets a file`() throws {
        let scene = try FileScene(2)
        let small = SampleFile.all[2]
        _ = try scene.nodes[0].attachments.add(small.bytes)
        try scene.nodes[0].insert("a", naming: small.id, length: 5_000, owner: "bob")
        try scene.connect(
            0, 1, rightsOfRight: PeerRights(read: ["cars": "owner = 'ann'"], write: [:]))
        try scene.fetch(small.id, by: 1)
        try scene.run()
        try scene.advance(seconds: 2)
        #expect(scene.nodes[1].complete.isEmpty)
        // A readable document references the file from here on.
        try scene.nodes[0].insert("b", naming: small.id, length: 5_000, owner: "ann")
        try scene.run()
        try scene.advance(seconds: 2)
        #expect(scene.nodes[1].complete == [small.id])
    }

    @Test func `a file that only unshared collections reference is not offered`() throws {
        let scene = try FileScene(2)
        let (hidden, free) = (SampleFile.all[2], SampleFile.all[3])
        for file in [hidden, free] { _ = try scene.nodes[0].attachments.add(file.bytes) }
        try scene.nodes[0].execute(
            "ALTER SYSTEM SET user_collection_sync_scopes = {'cars': 'LocalPeerOnly'}")
        try scene.nodes[0].insert("a", naming: hidden.id, length: 5_000)
        try scene.connect(0, 1)
        try scene.run()
        try scene.advance(seconds: 1)
        for file in [hidden, free] { try scene.fetch(file.id, by: 1) }
        try scene.run()
        try scene.advance(seconds: 2)
        #expect(scene.nodes[1].complete == [free.id])
        try scene.nodes[0].execute(
            "ALTER SYSTEM SET user_collection_sync_scopes = {'cars': 'AllPeers'}")
        try scene.advance(seconds: 2)
        #expect(scene.nodes[1].complete == [free.id, hidden.id])
    }

    @Test func `a relayed file is removed after a grace period, and can be fetched again`() throws {
        let scene = try FileScene(3)
        let small = SampleFile.all[2]
        _ = try scene.nodes[0].attachments.add(small.bytes)
        try scene.connect(0, 1)
        try scene.connect(1, 2)
        try scene.fetch(small.id, by: 2)
        try scene.run()
        let middle = scene.nodes[1].attachments
        for removed in [0, 1] {
            let found = try middle.collect(graceMilliseconds: 0) { _ in [] }
            #expect(found.removed == removed)
        }
        #expect(try !middle.has(small.id))
        try scene.nodes[2].attachments.remove(small.id)
        try scene.fetch(small.id, by: 2)
        try scene.run()
        #expect(scene.nodes[2].complete == [small.id, small.id])
    }
}
