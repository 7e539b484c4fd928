import Sheaf
import SheafSync
import Testing

/// The quota of attachments that are kept for others from a peer with limited rights.
struct AttachmentQuotaTests {
    private let files = (1...3).map { SampleFile(seed: $0, length: 200_000) }
    private let rights = PeerRights(
        read: ["cars": "owner = 'ann'"], write: ["cars": "owner = 'ann'"])

    /// A server with a quota of 300,000 bytes, a peer that has three files, and a peer that may read its documents.
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

    @Test func `files of a peer with limited rights are kept for others up to its quota`() throws {
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
        // Deleting the first file makes room for another one.
        try scene.nodes[0].attachments.remove(files[0].id)
        try scene.fetch(files[2].id, by: 2)
        try settle(scene)
        #expect(scene.nodes[2].whole == [files[0].id, files[2].id])
        #expect(reason(scene) == nil)
    }

    @Test func `a file that a peer fetches for itself does not count towards the quota`() throws {
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
