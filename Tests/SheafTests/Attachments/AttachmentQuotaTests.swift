import Sheaf
import SheafSync
import Testing

/// How many bytes of attachments a peer with limited rights may bring.
struct AttachmentQuotaTests {
    private let files = (1...3).map { SampleFile(seed: $0, length: 200_000) }
    private let rights = PeerRights(
        read: ["cars": "owner = 'ann'"], write: ["cars": "owner = 'ann'"])

    /// A server that keeps 300,000 bytes, a peer that brings three files, and one that may read what it writes.
    private func scene() throws -> FileScene {
        var lengths = SyncHost.Lengths()
        lengths.broughtAttachments = 300_000
        let scene = try FileScene(3, lengths)
        try scene.subscribe(0, ["SELECT * FROM cars"])
        try scene.connect(0, 1, rightsOfRight: rights)
        try scene.connect(0, 2, rightsOfRight: rights)
        for (number, file) in files.enumerated() {
            _ = try scene.nodes[1].attachments.add(file.bytes)
            try scene.nodes[1].insert("\(number)", naming: file.id, length: file.bytes.count)
        }
        try scene.notePublished(1)
        try settle(scene)
        return scene
    }

    private func settle(_ scene: FileScene) throws {
        try scene.run()
        for _ in 0..<4 { try scene.advance(seconds: 2) }
    }

    private func reason(_ scene: FileScene) -> String? {
        scene.nodes[0].host.allStatuses[scene.nodes[1].key]?.attachmentQuotaReason
    }

    @Test func `a peer with limited rights brings no more bytes than its quota`() throws {
        let scene = try scene()
        try scene.fetch(files[0].id, by: 2)
        try settle(scene)
        #expect(scene.nodes[2].whole == [files[0].id])
        #expect(reason(scene) == nil)
        try scene.fetch(files[1].id, by: 2)
        try settle(scene)
        #expect(scene.nodes[2].whole == [files[0].id])
        #expect(try scene.nodes[0].attachments.ids == [files[0].id])
        #expect(reason(scene)?.contains("300000 bytes") == true)
        // When the first file is gone, there is room for another one.
        try scene.nodes[0].attachments.remove(files[0].id)
        try scene.fetch(files[2].id, by: 2)
        try settle(scene)
        #expect(scene.nodes[2].whole == [files[0].id, files[2].id])
        #expect(reason(scene) == nil)
    }

    @Test func `a file that this peer fetches for itself does not count`() throws {
        let scene = try scene()
        for file in files {
            try scene.fetch(file.id, by: 0)
            try settle(scene)
        }
        #expect(scene.nodes[0].whole == files.map(\.id))
        try scene.fetch(files[1].id, by: 2)
        try settle(scene)
        #expect(scene.nodes[2].whole == [files[1].id])
        #expect(reason(scene) == nil)
    }
}
