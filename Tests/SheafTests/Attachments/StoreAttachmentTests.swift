import Sheaf
import SheafAttachments
import SheafDocument
import SheafEngine
import SheafStatements
import SheafStorage
import SheafTestSupport
import Synchronization
import Testing

/// Attachments through the public interface.
@Suite struct StoreAttachmentTests {
    private let directory = TemporaryDirectory()
    private let clock = FakeClock()

    private func open(
        isReadOnly: Bool = false, log: StoreLog? = nil
    ) async throws -> Store {
        var options = StoreOptions(isReadOnly: isReadOnly, log: log)
        options.storage.clock = clock.clock
        return try await Store.open(at: directory.path("store"), options: options)
    }

    private func write(_ bytes: [UInt8], to name: String) throws {
        let volume = try PosixVolume(path: directory.path, creatingDirectory: false)
        let file = try volume.open(name, .create)
        defer { file.close() }
        try bytes.span.withUnsafeBytes { try file.writeFully($0, at: 0) }
    }

    private func read(_ name: String) throws -> [UInt8] {
        try PosixVolume(path: directory.path, creatingDirectory: false).bytes(of: name)
    }

    private static let insertion: DQL =
        "INSERT INTO COLLECTION cars (photo ATTACHMENT) DOCUMENTS (:car)"

    @Test func `an attachment created from a file can be copied to a file`() async throws {
        let sample = SampleFile.all[5]
        try write(sample.bytes, to: "car.jpeg")
        var store = try await open()
        let photo = try await store.newAttachment(
            path: directory.path("car.jpeg"), metadata: ["type": "image/jpeg"])
        #expect(photo.id == sample.id && photo.length == 530_000)
        // The store is closed before the first commit.
        try await store.close()
        store = try await open()
        try await store.execute(
            Self.insertion, ["car": ["_id": 1, "photo": photo.token.value] as Value])
        try await store.close()
        for isReadOnly in [false, true] {
            store = try await open(isReadOnly: isReadOnly)
            let result = try await store.execute("SELECT photo FROM cars WHERE _id = 1")
            let token = try AttachmentToken(try #require(try result.items[0]["photo"]))
            #expect(token == photo.token)
            let found = try #require(try await store.attachment(token))
            let data = try await found.data()
            #expect(data == sample.bytes)
            let some = try await found.data(in: 262_140..<262_150)
            #expect(some == Array(sample.bytes[262_140..<262_150]))
            let pieces = Mutex<[UInt8]>([])
            try await found.forEachChunk { bytes in pieces.withLock { $0 += bytes } }
            #expect(pieces.withLock { $0 } == sample.bytes)
            try await found.copy(to: directory.path("copy \(isReadOnly)"))
            #expect(try read("copy \(isReadOnly)") == sample.bytes)
            try await store.close()
            await #expect(throws: StoreError.self) { try await found.data() }
        }
    }

    @Test func `a failed attachment call throws the reason of its failure`() async throws {
        let store = try await open()
        func reason(
            _ body: () async throws -> Void
        ) async -> StoreError.Reason? {
            do { try await body() } catch { return (error as? StoreError)?.reason }
            return nil
        }
        let missing = await reason { _ = try await store.newAttachment(path: "/no/such/file") }
        #expect(missing == .disk)
        for path in [directory.path, directory.path + "/", "", "/"] {
            let refused = await reason { _ = try await store.newAttachment(path: path) }
            #expect(refused == .disk, "\(path)")
        }
        let long = await reason {
            _ = try await store.newAttachment(
                data: [1], metadata: ["a": String(repeating: "x", count: 16_384)])
        }
        #expect(long == .limit)
        let longest = try await store.newAttachment(
            data: [1], metadata: ["a": String(repeating: "x", count: 16_383)])
        #expect(longest.metadata["a"]?.utf8.count == 16_383)
        let file = try await store.newAttachment(data: [1, 2, 3])
        for range in [-1..<2, 0..<4, 3..<5] {
            let outside = await reason { _ = try await file.data(in: range) }
            #expect(outside == .argument, "\(range)")
        }
        try write([], to: "there")
        let occupied = await reason { try await file.copy(to: directory.path("there")) }
        #expect(occupied == .conflict)
        #expect(try read("there") == [])
        let other = try AttachmentToken(
            ["id": .string(SampleFile.all[1].id.description), "len": 1])
        let unknown = try await store.attachment(other)
        #expect(unknown == nil)
        try await store.close()
        let closed = await reason { _ = try await store.newAttachment(data: [1]) }
        #expect(closed == .closed)
        let reader = try await open(isReadOnly: true)
        let readOnly = await reason { _ = try await reader.newAttachment(data: [1]) }
        #expect(readOnly == .readOnly)
        let collecting = await reason { try await reader.collectAttachments() }
        #expect(collecting == .readOnly)
        try await reader.close()
    }

    @Test func `one call reads up to 256 MiB of an attachment`() async throws {
        #expect(StoredAttachment.maximumDataLength == 268_435_456)
        let store = try await Store.inMemory()
        let id = try await store.newAttachment(data: [1, 2, 3]).id
        // No file is as long as this token, so a range that is accepted is not found.
        let other = try #require(AttachmentID(String(id.description.reversed())))
        let token = AttachmentToken(id: other, length: 1 << 30, metadata: [:])
        let file = StoredAttachment(token, in: store.attachments)
        for (start, length) in [(0, 1 << 28), (7, 1 << 28), (0, 1 << 28 + 1)] {
            let error = await #expect(throws: StoreError.self) {
                try await file.data(in: start..<start + length)
            }
            #expect((error?.reason == .limit) == (length > 1 << 28), "\(start), \(length)")
        }
        try await store.close()
    }

    @Test func `an in-memory store refuses attachments beyond its limit`() async throws {
        var options = StoreOptions()
        options.attachmentMemory = 10
        let store = try await Store.inMemory(options: options)
        let file = try await store.newAttachment(data: [1, 2, 3], metadata: ["a": "b"])
        #expect(try await file.data() == [1, 2, 3])
        do {
            _ = try await store.newAttachment(data: [UInt8](repeating: 0, count: 8))
            Issue.record("The attachment was accepted.")
        } catch let error as StoreError {
            #expect(error.reason == .limit)
            #expect(error.message == "attachmentMemory is 10 bytes, but 11 bytes are needed")
        }
        try await store.close()
    }

    @Test func `a store that contains only attachments can be read and written`() async throws {
        let store = try await open()
        _ = try await store.newAttachment(data: [1])
        try await store.close()
        let reader = try await open(isReadOnly: true)
        #expect(try await reader.execute("SELECT * FROM cars").items.count == 0)
        try await reader.close()
        let again = try await open()
        try await again.execute("INSERT INTO cars DOCUMENTS ({'_id': 1})")
        try await again.close()
    }

    @Test func `a file is removed a grace period after its last reference`() async throws {
        let store = try await open()
        let photo = try await store.newAttachment(data: [1, 2, 3])
        func isStored(afterMinutes minutes: UInt64) async throws -> Bool {
            clock.advance(milliseconds: minutes * 60_000)
            try await store.collectAttachments()
            return try store.attachments.has(photo.id)
        }
        #expect(try await isStored(afterMinutes: 0))
        #expect(try await isStored(afterMinutes: 9))
        try await store.execute(
            Self.insertion, ["car": ["_id": 1, "photo": photo.token.value] as Value])
        try await store.execute(
            Self.insertion, ["car": ["_id": 2, "photo": photo.token.value] as Value])
        #expect(try await isStored(afterMinutes: 100))
        // A register hides the token but does not remove it.
        try await store.execute("UPDATE cars SET photo = 'none' WHERE _id = 1")
        try await store.execute("DELETE FROM cars WHERE _id = 2")
        for _ in 0..<3 { #expect(try await isStored(afterMinutes: 100)) }
        try await store.execute("UPDATE cars UNSET photo WHERE _id = 1")
        #expect(try await isStored(afterMinutes: 100))
        #expect(try await isStored(afterMinutes: 9))
        #expect(try await !isStored(afterMinutes: 1))
        try await store.close()
    }

    @Test func `a token written during a collection keeps its file`() async throws {
        let store = try await open()
        let photo = try await store.newAttachment(data: [1, 2, 3])
        try await store.collectAttachments()
        clock.advance(milliseconds: 3_600_000)
        // The collection reads a snapshot in which no document references the file.
        let before = store.queries.snapshot()
        try await store.execute(
            Self.insertion, ["car": ["_id": 1, "photo": photo.token.value] as Value])
        let found = try store.attachments.collect(graceMilliseconds: 600_000) {
            try before.referencedAttachments(among: $0)
        }
        #expect(found.removed == 0 && found.unreferenced == 1)
        try await store.collectAttachments()
        #expect(try store.attachments.has(photo.id))
        try await store.close()
    }

    @Test func `unreferenced files are removed concurrently with writes`() async throws {
        let (messages, continuation) = AsyncStream<String>.makeStream()
        let store = try await open(
            log: StoreLog(from: .info) { _, message, _ in continuation.yield(message) })
        try await store.execute("ALTER SYSTEM SET attachment_grace_seconds = 20")
        let photo = try await store.newAttachment(data: [1, 2, 3])
        let writer = Task {
            for number in 0..<100_000 {
                clock.advance(milliseconds: 7_000)
                try await store.execute("INSERT INTO cars DOCUMENTS ({'_id': \(number)})")
                if try !store.attachments.has(photo.id) { return }
            }
        }
        for await message in messages
        where message == "removed unreferenced attachments" {
            break
        }
        try await writer.value
        #expect(try !store.attachments.has(photo.id))
        try await store.close()
    }
}
