import Sheaf
import SheafDocument
import SheafStatements
import SheafTestSupport
import Synchronization
import Testing

/// Attachments between peers, over the public API.
@Suite struct PeerAttachmentTests {
    private static let insertion: DQL =
        "INSERT INTO COLLECTION cars (photo ATTACHMENT) DOCUMENTS (:car)"

    private func bytes(_ fetch: AttachmentFetch) async throws -> [UInt8]? {
        var last = 0
        for await event in fetch {
            switch event {
            case .progress(let downloaded, let total):
                #expect(downloaded >= last && downloaded <= total)
                last = downloaded
            case .completed(let attachment): return try await attachment.data()
            case .failed(let error): throw error
            }
        }
        return nil
    }

    @Test func `a fetch buffers 64 events`() {
        #expect(AttachmentFetch.maximumWaiting == 64)
    }

    @Test func `a file is fetched through a relay by its token`() async throws {
        let scene = try await PeerScene(3)
        let sample = SampleFile(seed: 5, length: 1_000_000)
        let (source, reader) = (scene.peers[0], scene.peers[2])
        for peer in scene.peers { try peer.sync.registerSubscription("SELECT * FROM cars") }
        let photo = try await source.store.newAttachment(
            data: sample.bytes, metadata: ["type": "image/jpeg"])
        try await source.store.execute(
            Self.insertion, ["car": ["_id": 1, "photo": photo.token.value] as Value])
        // The fetch begins before any peer is connected.
        let fetch = try reader.fetchAttachment(photo.token)
        #expect(reader.attachmentFetches.count == 1)
        scene.connect(0, 1)
        scene.connect(1, 2)
        let fetched = try await bytes(fetch)
        #expect(fetched == sample.bytes)
        #expect(reader.attachmentFetches.isEmpty)
        // The second fetch finds the file in the local store.
        let again = try await bytes(try reader.fetchAttachment(photo.token))
        #expect(again == sample.bytes)
        try await scene.close()
    }

    @Test func `a handler receives the file, and a waiting fetch fails when the peer closes`()
        async throws
    {
        let scene = try await PeerScene(2)
        let sample = SampleFile.all[5]
        let events = Mutex<[String]>([])
        let (stream, continuation) = AsyncStream.makeStream(of: Void.self)
        try scene.peers[1].fetchAttachment(try sample.token) { event in
            switch event {
            case .progress: break
            case .completed(let attachment): events.withLock { $0.append("\(attachment.id)") }
            case .failed(let error): events.withLock { $0.append("\(error.reason)") }
            }
            if case .progress = event { return }
            continuation.yield()
        }
        let missing = SampleFile.all[3]
        let waiting = try scene.peers[1].fetchAttachment(try missing.token)
        let cancelled = try scene.peers[1].fetchAttachment(try missing.token)
        _ = try await scene.peers[0].store.newAttachment(data: sample.bytes)
        scene.connect(0, 1)
        for await _ in stream { break }
        #expect(events.withLock { $0 } == [sample.id.description])
        cancelled.cancel()
        let none = try await bytes(cancelled)
        #expect(none == nil)
        #expect(scene.peers[1].attachmentFetches.count == 1)
        try await scene.close()
        await #expect(throws: StoreError.self) { try await bytes(waiting) }
        #expect(throws: StoreError.self) {
            try scene.peers[1].fetchAttachment(try sample.token)
        }
    }

    @Test func `a canceled fetch leaves another one of the same file`() async throws {
        let scene = try await PeerScene(2)
        let sample = SampleFile.all[2]
        _ = try await scene.peers[0].store.newAttachment(data: sample.bytes)
        let reader = scene.peers[1]
        let kept = try reader.fetchAttachment(try sample.token)
        let cancelled = try reader.fetchAttachment(try sample.token)
        cancelled.cancel()
        cancelled.cancel()
        #expect(reader.attachmentFetches.count == 1)
        scene.connect(0, 1)
        let fetched = try await bytes(kept)
        #expect(fetched == sample.bytes)
        #expect(reader.attachmentFetches.isEmpty)
        try await scene.close()
    }

    @Test func `a fetch whose token has a wrong length fails`() async throws {
        let scene = try await PeerScene(2)
        let sample = SampleFile.all[2]
        _ = try await scene.peers[0].store.newAttachment(data: sample.bytes)
        scene.connect(0, 1)
        let token = try AttachmentToken(["id": .string(sample.id.description), "len": 4_999])
        let fetch = try scene.peers[1].fetchAttachment(token)
        let error = await #expect(throws: StoreError.self) { try await bytes(fetch) }
        let text =
            "wrong length in the token of attachment \(sample.id): 4999 bytes instead of "
            + "\(sample.bytes.count)"
        #expect(error?.reason == .argument && error?.description.contains(text) == true)
        #expect(scene.peers[1].attachmentFetches.isEmpty)
        try await scene.close()
    }
}
