import DittoNames
import Foundation
import SheafTestSupport
import Synchronization
import Testing

/// Attachments under the names of the reference system.
struct AttachmentTests {
    @Test func `an attachment is fetched by another peer`() async throws {
        let mesh = DittoMesh()
        let ditto = try await mesh.ditto()
        let other = try await mesh.ditto()
        for one in [ditto, other] { try one.sync.start() }
        try other.sync.registerSubscription(query: "SELECT * FROM cars")

        let directory = TemporaryDirectory()
        let url = URL(fileURLWithPath: directory.path).appendingPathComponent("photo.png")
        let bytes = Data((0..<300_000).map { UInt8(truncatingIfNeeded: $0) })
        try bytes.write(to: url)
        let attachment = try await ditto.store.newAttachment(
            path: url.path, metadata: ["name": "photo.png"])
        #expect(attachment.len == 300_000 && attachment.metadata == ["name": "photo.png"])
        try await ditto.store.execute(
            query: "INSERT INTO COLLECTION cars (photo ATTACHMENT) DOCUMENTS (:car)",
            arguments: ["car": ["_id": "a", "photo": attachment]])
        await other.documents(of: "SELECT * FROM cars", are: ["a"])

        let result = try await other.store.execute(query: "SELECT * FROM cars WHERE _id = 'a'")
        let token = try #require(result.items.first?.value["photo"] as? [String: Any])
        let (events, eventContinuation) = AsyncStream.makeStream(of: DittoAttachmentFetchEvent.self)
        let fetcher = try other.store.fetchAttachment(
            token: token, deliverOn: DispatchQueue(label: "fetch")
        ) { event in
            eventContinuation.yield(event)
            switch event {
            case .progress: break
            case .completed, .deleted: eventContinuation.finish()
            }
        }
        var last: UInt64 = 0
        var fetched: DittoAttachment?
        for await event in events {
            switch event {
            case .progress(let downloaded, let total):
                #expect(downloaded >= last && total == 300_000)
                last = downloaded
            case .completed(let attachment): fetched = attachment
            case .deleted: Issue.record("the attachment is missing")
            }
        }
        let found = try #require(fetched)
        #expect(try found.data() == bytes)
        #expect(found.id == attachment.id && found.metadata == attachment.metadata)
        let copy = URL(fileURLWithPath: directory.path).appendingPathComponent("copy.png").path
        try found.copy(toPath: copy)
        #expect(FileManager.default.contents(atPath: copy) == bytes)
        fetcher.stop()
        #expect(other.store.attachmentFetchers.isEmpty)
        // The token is an argument, and the attachment is created from data.
        let small = try await ditto.store.newAttachment(data: Data([1, 2, 3]))
        try await ditto.store.execute(
            query: "UPDATE COLLECTION cars (photo ATTACHMENT) SET photo = :photo WHERE _id = 'a'",
            arguments: ["photo": small.token])
        let changed = try await ditto.store.execute(query: "SELECT photo FROM cars")
        let newest = try #require(changed.items.first?.value["photo"] as? [String: Any])
        #expect(try DittoAttachmentToken(newest) == small.token)
        try await mesh.close()
    }

    @Test func `a stopped fetch reports nothing more, and a closed database has no fetchers`()
        async throws
    {
        let mesh = DittoMesh()
        let ditto = try await mesh.ditto()
        let absent: [String: Any] = ["id": String(repeating: "0", count: 64), "len": 5]
        let first = try ditto.store.fetchAttachment(token: absent) { _ in
            Issue.record("an absent attachment caused an event")
        }
        let second = try ditto.store.fetchAttachment(token: absent) { _ in
            Issue.record("an absent attachment caused an event")
        }
        #expect(ditto.store.attachmentFetchers == [first, second])
        first.stop()
        #expect(ditto.store.attachmentFetchers == [second])
        try await mesh.close()
        #expect(ditto.store.attachmentFetchers.isEmpty)
    }

    @Test func `an attachment written by the older calls is an ATTACHMENT`() async throws {
        let mesh = DittoMesh()
        let ditto = try await mesh.ditto()
        let file = try await ditto.store.newAttachment(data: Data([1, 2, 3]))
        let cars = ditto.store.collection("cars")
        try cars.upsert(["_id": "a", "file": file])
        try cars.upsert(
            ["_id": "b", "box": ["file": file.token]], writeStrategy: .insertDefaultIfAbsent)
        try cars.upsert(["_id": "c", "n": 1])
        cars.findByID("c").update { $0?["file"].set(file) }
        try await ditto.store.execute(
            query: "INSERT INTO cars DOCUMENTS (:car)",
            arguments: ["car": ["_id": "d", "file": file]])
        let result = try await ditto.store.execute(
            query:
                "SELECT * FROM COLLECTION cars (file ATTACHMENT, box MAP (file ATTACHMENT)) ORDER BY _id"
        )
        let tokens = result.items.map { item in
            (item.value["file"] ?? (item.value["box"] as? [String: Any?])?["file"] ?? nil)
                as? [String: Any]
        }
        #expect(tokens.count == 4)
        for token in tokens {
            #expect(try DittoAttachmentToken(try #require(token)) == file.token)
        }
        try await mesh.close()
    }

    @Test func `a document has the tokens of its attachments`() async throws {
        let ditto = try await Ditto.inMemory()
        let cars = ditto.store.collection("cars")
        let file = try await ditto.store.newAttachment(
            data: Data([1, 2, 3]), metadata: ["name": "a"])
        try cars.upsert(["_id": "a", "file": file, "box": ["file": file], "n": 1, "o": ["id": 1]])
        let document = try #require(cars.findByID("a").exec())
        let token = try #require(document["file"].attachmentToken)
        #expect(token == file.token && token.len == 3 && token.metadata == ["name": "a"])
        #expect(document["box"]["file"].attachmentToken == file.token)
        for other in [document["n"], document["o"], document["none"]] {
            #expect(other.attachmentToken == nil)
        }
        cars.findByID("a").update { document in
            #expect(document?["file"].attachmentToken == file.token)
        }
        try await ditto.close()
    }

    @Test func `an invalid token is refused, and so is a fetch without peers`() async throws {
        let mesh = DittoMesh()
        let ditto = try await mesh.ditto()
        for wrong: [String: Any?] in [[:], ["id": 7, "len": 1], ["id": Date(), "len": 1]] {
            let error = #expect(throws: DittoError.self) {
                try ditto.store.fetchAttachment(token: wrong) { _ in }
            }
            guard case .storeError(reason: .attachmentTokenInvalid) = error else {
                Issue.record("\(wrong): \(String(describing: error))")
                continue
            }
        }
        let alone = try await Ditto.inMemory()
        let attachment = try await alone.store.newAttachment(data: Data([1]))
        let error = #expect(throws: DittoError.self) {
            try alone.store.fetchAttachment(token: attachment.token) { _ in }
        }
        #expect(error?.description.contains("Ditto.open(config:)") == true)
        try await alone.close()
        try await mesh.close()
    }
}
