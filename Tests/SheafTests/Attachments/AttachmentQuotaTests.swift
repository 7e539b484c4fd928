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

    private var smallQuota: ReplicatorLimits { limits(300_000) }

    private func limits(_ quota: Int) -> ReplicatorLimits {
        var limits = ReplicatorLimits()
        limits.receivedAttachments = quota
        return limits
    }

    /// Creates a server with a quota, a peer with three files, and a reader.
    private func scene(quota: Int = 300_000) throws -> FileScene {
        let scene = try FileScene(3, limits(quota))
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

    /// Each file counts its 200,000 bytes plus an overhead of 16,384.
    @Test(arguments: [(216_384, 1), (216_383, 0), (432_768, 2), (432_767, 1)])
    func `files that fill the quota exactly are stored, and longer ones are not`(
        _ quota: Int, _ count: Int
    ) throws {
        let scene = try scene(quota: quota)
        for file in files.prefix(2) {
            try scene.fetch(file.id, by: 2)
            try settle(scene)
        }
        #expect(scene.nodes[2].complete == files.prefix(count).map(\.id))
        #expect((reason(scene) == nil) == (count == 2))
        if count < 2 { #expect(reason(scene)?.contains("\(quota) bytes") == true) }
    }

    @Test func `an attachment counts its bytes and 16,384 more, once`() {
        #expect(ReplicatorLimits().receivedAttachments == 1_073_741_824)
        let ids = files.map(\.id)
        var received = ReceivedAttachments()
        #expect(received.length(adding: 10, of: ids[0]) == 16_394)
        received.add(10, of: ids[0])
        #expect(received.length == 16_394)
        received.add(5, of: ids[0])
        #expect(received.length == 16_399)
        // Its chunks do not count in addition to its complete length.
        received.begin(ids[1], length: 100)
        received.add(50, of: ids[1])
        #expect(received.length == 16_399 + 16_484)
        #expect(received.length(adding: 50, of: ids[1]) == received.length)
        received.retain([ids[1]])
        #expect(received.length == 16_484)
        received.remove(ids[1])
        #expect(received.length == 0)
    }
}
