import Sheaf
import SheafDocument
import SheafHub
import SheafStatements
import SheafSystem
import Testing

/// Attachments of the clients of hubs, over threads.
@Suite struct HubAttachmentTests {
    @Test func `an empty hub serves a file whose client and hub are gone`() async throws {
        let scene = HubScene()
        let data = (0..<600_000).map { UInt8(truncatingIfNeeded: $0 >> 3) }
        let first = try await scene.hub()
        try await first.waitUntilReady()
        let writer = try await scene.client(of: first)
        let photo = try await writer.store.newAttachment(data: data)
        let car: Value = ["_id": "a", "photo": photo.token.value]
        try await writer.store.execute(
            "INSERT INTO COLLECTION cars (photo ATTACHMENT) DOCUMENTS (:car)", ["car": car])
        try await writer.insert("b", acknowledgedBy: first)
        try await until("the engine has the file") { first.status.counts["stored_files"] == 1 }
        try await until("the status shows it") { first.status.unstoredFileCount == 0 }
        try await writer.close()
        try await first.close()

        let second = try await scene.hub()
        try await second.waitUntilReady()
        let reader = try await scene.client(of: second)
        try await reader.waitForCars(["a", "b"])
        let received = try await bytes(try reader.fetchAttachment(photo.token))
        #expect(received == data)
        try await until("the status counts it") { second.status.counts["loaded_files"] == 1 }
        #expect(second.status.fileFailure == nil)
        try await reader.close()
        try await second.close()
    }

    @Test func `a draining hub puts the files that it has into the object store`() async throws {
        let scene = HubScene()
        let gate = LogGate()
        gate.set { $0.putNanoseconds = 50_000_000 }
        var options = HubOptions()
        options.drainSeconds = 120
        let first = try await scene.hub(options: options, through: gate)
        try await first.waitUntilReady()
        let store = first.peer.store
        var photos: [AttachmentToken] = []
        for number in 0..<20 {
            let data = [UInt8](repeating: UInt8(number), count: 10_000)
            let photo = try await store.newAttachment(data: data)
            try await store.execute(
                "INSERT INTO COLLECTION cars (photo ATTACHMENT) DOCUMENTS (:car)",
                ["car": ["_id": .integer(Int64(number)), "photo": photo.token.value]])
            photos.append(photo.token)
        }
        let start = Clock.system.monotonicNanoseconds()
        await first.drain()
        // The hub waits for its files, and no longer.
        let end = start + UInt64(options.drainSeconds) * 1_000_000_000
        #expect(Clock.system.monotonicNanoseconds() < end)
        try await first.close()
        let second = try await scene.hub()
        try await second.waitUntilReady()
        let reader = try await scene.client(of: second)
        for (number, photo) in photos.enumerated() {
            let received = try await bytes(try reader.fetchAttachment(photo))
            #expect(received == [UInt8](repeating: UInt8(number), count: 10_000))
        }
        try await reader.close()
        try await second.close()
    }

    private func bytes(_ fetch: AttachmentFetch) async throws -> [UInt8]? {
        for await event in fetch {
            switch event {
            case .progress: continue
            case .completed(let attachment): return try await attachment.data()
            case .failed(let error): throw error
            }
        }
        return nil
    }
}
