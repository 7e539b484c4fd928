import Sheaf
import SheafAttachments
import SheafReplication
import SheafSync
import Testing

/// The quota of attachments stored on behalf of a peer with limited rights.
struct AttachmentQuotaTests {
    private let files = (1...3).map { SampleFile(seed: $0, length: 200_000) }
    private let rights = PeerRights(
        read: ["cars": "owner = 'ann'"], write: ["cars": "owner = 'ann'"])

    private var smallQuota: ReplicatorLimits {
        var limits = ReplicatorLimits()
        limits.receivedAttachments = 300_000
        return limits
    }

    /// Creates a server with a quota of 300,000 bytes, a peer with three files, and a reader.
    private func scene() throws -> FileScene {
        let scene = try FileScene(3, smallQuota)
        try scene.subscribe(0, ["SELECT * FROM cars"])
        try scene.connect(0, 1, rightsOfRight: rights)
        try scene.connect(0, 2, rightsOfRight: rights)
        for (number, file) in files.enumerated() {
            _ = try scene.nodes[1].attachments.add(file.bytes)
            try scene.nodes[1].insert("\(number)", naming: file.id, length: file.bytes.count)
        }
        try scene.recordPublished(1)
        try settle(scene)
        return scene
    }

    private func settle(_ scene: FileScene) throws {
        try scene.run()
        for _ in 0..<4 { try scene.advance(seconds: 2) }
    }

    private func reason(_ scene: FileScene, of key: [UInt8]? = nil) -> String? {
        scene.nodes[0].replicator.allStatuses[key ?? scene.nodes[1].key]?.attachmentQuotaReason
    }

    @Test func `files from a peer with limited rights are stored up to its quota`() throws {
        let scene = try scene()
        try scene.fetch(files[0].id, by: 2)
        try settle(scene)
        #expect(scene.nodes[2].complete == [files[0].id])
        #expect(reason(scene) == nil)
        try scene.fetch(files[1].id, by: 2)
        try settle(scene)
        #expect(scene.nodes[2].complete == [files[0].id])
        #expect(try scene.nodes[0].attachments.ids == [files[0].id])
        #expect(reason(scene)?.contains("300000 bytes") == true)
        // The removal of the first file leaves room for another one.
        try scene.nodes[0].attachments.remove(files[0].id)
        try scene.fetch(files[2].id, by: 2)
        try settle(scene)
        #expect(scene.nodes[2].complete == [files[0].id, files[2].id])
        #expect(reason(scene) == nil)
    }

    @Test func `files that the server fetches for itself do not count toward a quota`() throws {
        let scene = try scene()
        for file in files {
            try scene.fetch(file.id, by: 0)
            try settle(scene)
        }
        #expect(scene.nodes[0].complete == files.map(\.id))
        try scene.fetch(files[1].id, by: 2)
        try settle(scene)
        #expect(scene.nodes[2].complete == [files[1].id])
        #expect(reason(scene) == nil)
    }

    /// Returns the number of complete and partial files on the disk of the server.
    private func kept(_ scene: FileScene) throws -> Int {
        let ids = try AttachmentStore(in: scene.nodes[0].files).ids
        #expect(try Set(scene.nodes[0].attachments.ids) == Set(ids))
        return ids.count
    }

    @Test func `files of which no chunk was received count toward the quota`() throws {
        let scene = try FileScene(2, smallQuota)
        let files = (0..<96).map { SampleFile(seed: $0, length: 20_000) }
        for (number, file) in files.enumerated() {
            try scene.nodes[0].insert("\(number)", naming: file.id, length: file.bytes.count)
        }
        try scene.connect(0, 1)
        let hostilePeer = FaultyPeer(files, .noChunks)
        try scene.connect(0, hostilePeer: hostilePeer, rights: rights)
        for batch in [files[..<48], files[48...]] {
            for file in batch { try scene.fetch(file.id, by: 1) }
            try settle(scene)
            // Each file counts 20,000 bytes plus an overhead of 16,384.
            #expect(try kept(scene) == 8)
            #expect(reason(scene, of: hostilePeer.key)?.contains("300000 bytes") == true)
            for file in batch { try scene.cancel(file.id, by: 1) }
            try settle(scene)
            #expect(try kept(scene) == 0)
        }
        #expect(hostilePeer.requested.contains { $0.kind == .chunk })
    }

    @Test func `chunks of a fetch that began at another peer count toward the quota`() throws {
        let scene = try FileScene(3, smallQuota)
        for (number, file) in files.enumerated() {
            _ = try scene.nodes[1].attachments.add(file.bytes)
            try scene.nodes[0].insert("\(number)", naming: file.id, length: file.bytes.count)
        }
        try scene.connect(0, hostilePeer: FaultyPeer(files, .noChunks))
        try scene.connect(0, 1, rightsOfRight: rights)
        try scene.connect(0, 2)
        try scene.fetch(files[0].id, by: 2)
        try settle(scene)
        try scene.fetch(files[1].id, by: 2)
        try settle(scene)
        #expect(scene.nodes[2].complete == [files[0].id])
        #expect(reason(scene)?.contains("300000 bytes") == true)
    }

    @Test(arguments: [false, true])
    func `a proof without chunks leaves no file`(_ isCut: Bool) throws {
        let scene = try FileScene(3, smallQuota)
        try scene.subscribe(0, ["SELECT * FROM cars"])
        let wire = try scene.connect(0, 1, rightsOfRight: rights)
        for (number, file) in files.enumerated() {
            try scene.nodes[1].insert("\(number)", naming: file.id, length: file.bytes.count)
        }
        try scene.recordPublished(1)
        try settle(scene)
        try scene.disconnect(wire)
        // A lying peer connects with the same key.
        let hostilePeer = FaultyPeer(files, isCut ? .noChunkAnswers : .noChunks, number: 0x0202)
        let second = try scene.connect(0, hostilePeer: hostilePeer, rights: rights)
        try scene.connect(0, 2, rightsOfRight: rights)
        for file in files { try scene.fetch(file.id, by: 2) }
        try settle(scene)
        #expect(hostilePeer.requested.contains { $0.kind == .chunk })
        if isCut {
            #expect(try kept(scene) == 1)
            try scene.disconnect(second)
        }
        #expect(try kept(scene) == 0)
    }
}
