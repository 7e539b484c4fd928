import Sheaf
import SheafAttachments
import SheafDocument
import SheafEngine
import SheafStatements
import SheafStorage
import SheafSystem
import SheafTestSupport
import Synchronization
import Testing

/// Backups of open stores, and stores that continue from them.
struct DocumentBackupTests {
    private let directory = TemporaryDirectory()
    private let all: DQL = "SELECT * FROM cars ORDER BY _id"

    private func rows(_ store: Store) async throws -> [String] {
        try await store.execute(all).items.map { try $0.jsonString }
    }

    private func rows(at name: String) async throws -> [String] {
        let store = try await Store.open(
            at: directory.path(name), options: StoreOptions(isReadOnly: true))
        let rows = try await rows(store)
        try await store.close()
        return rows
    }

    private func insert(_ ids: ClosedRange<Int>, _ store: Store) async throws {
        for id in ids {
            let car: Value = ["_id": .integer(Int64(id)), "text": .string("car \(id)")]
            try await store.execute("INSERT INTO cars DOCUMENTS (:car)", ["car": car])
        }
    }

    @Test func `a backup has the documents and attachments of the store, and reports its progress`()
        async throws
    {
        let store = try await Store.open(at: directory.path("store"))
        try await insert(1...20, store)
        let photo = try await store.newAttachment(data: [UInt8](repeating: 7, count: 600_000))
        try await store.execute(
            "UPDATE COLLECTION cars (photo ATTACHMENT) SET photo = :photo WHERE _id = 1",
            ["photo": photo.token.value])
        let seen = Mutex<[BackupProgress]>([])
        let summary = try await store.backup(to: directory.path("backup")) { progress in
            seen.withLock { $0.append(progress) }
        }
        let steps = seen.withLock { $0 }
        #expect(steps.last?.phase == .verifying)
        #expect(steps.last?.doneBytes == steps.last?.totalBytes)
        #expect(steps.last?.doneBytes == summary.copiedBytes)
        #expect(summary.copiedBytes > 600_000)
        let expected = try await rows(store)
        try await insert(21...30, store)
        #expect(try await rows(at: "backup") == expected)
        let files = AttachmentStore(
            in: try PosixVolume(path: directory.path("backup"), creatingDirectory: false))
        let file = try #require(try files.file(photo.token.id))
        #expect(try file.read(0..<file.length) == [UInt8](repeating: 7, count: 600_000))
        // A file that no other file replaces is shared with the next backup.
        let next = try await store.backup(
            to: directory.path("next"), since: directory.path("backup"))
        #expect(next.sharedBytes > 600_000)
        try await store.close()
        await #expect(throws: StoreError.self) {
            try await store.backup(to: directory.path("late"))
        }
    }

    @Test func `a store in memory and a read-only one can be backed up`() async throws {
        let memory = try await Store.inMemory()
        try await insert(1...5, memory)
        let site = memory.queries.documents.site
        try await memory.backup(to: directory.path("one"))
        let expected = try await rows(memory)
        let reader = try await Store.open(
            at: directory.path("one"), options: StoreOptions(isReadOnly: true))
        try await reader.backup(to: directory.path("two"))
        try await reader.close()
        #expect(try await rows(at: "two") == expected)
        let copy = try await Store.open(at: directory.path("one"))
        try await insert(6...6, copy)
        #expect(copy.queries.documents.site != site)
        try await copy.close()
    }

    @Test func `writes that were reported before a backup are in it with relaxed durability`()
        async throws
    {
        let store = try await Store.open(
            at: directory.path("store"),
            options: StoreOptions(durability: .relaxed(milliseconds: 60_000)))
        try await insert(1...5, store)
        try await store.backup(to: directory.path("backup"))
        #expect(try await rows(at: "backup").count == 5)
        try await store.close()
    }

    @Test func `a backup that is opened for writing and a restored store become other sites once`()
        async throws
    {
        let store = try await Store.open(at: directory.path("store"))
        try await insert(1...3, store)
        let site = store.queries.documents.site
        try await store.backup(to: directory.path("backup"))
        try await Store.restore(from: directory.path("backup"), to: directory.path("restored"))
        var sites: Set<Site> = [site]
        for name in ["backup", "restored"] {
            let copy = try await Store.open(at: directory.path(name))
            try await insert(4...5, copy)
            let own = copy.queries.documents.site
            #expect(sites.insert(own).inserted)
            try await copy.close()
            let again = try await Store.open(at: directory.path(name))
            try await insert(6...6, again)
            #expect(again.queries.documents.site == own)
            try await again.close()
        }
        try await insert(4...4, store)
        #expect(store.queries.documents.site == site)
        try await store.close()
    }

    /// A peer on a store of the directory.
    private func peer(_ name: String, _ network: MemoryNetwork) async throws -> Peer {
        let key = PeerKey.random()
        return try await Peer.open(
            at: directory.path(name),
            configuration: PeerConfiguration(
                databaseID: "backups", key: key, transports: [network.transport(for: key)]))
    }

    private func count(_ amount: Int, _ store: Store) async throws {
        try await store.execute(
            DQL(verbatim: "UPDATE cars APPLY miles INCREMENT BY \(amount) WHERE _id = 1"))
    }

    @Test func `a store, its restored copy and its backup go on, sync, and lose no write`()
        async throws
    {
        let network = MemoryNetwork()
        let original = try await peer("store", network)
        try await insert(1...10, original.store)
        try await count(5, original.store)
        try await original.store.backup(to: directory.path("backup"))
        try await Store.restore(from: directory.path("backup"), to: directory.path("restored"))
        // All three write before they know of each other, also to the same documents.
        try await insert(11...20, original.store)
        try await count(3, original.store)
        let restored = try await peer("restored", network)
        try await insert(21...30, restored.store)
        try await count(7, restored.store)
        let backup = try await peer("backup", network)
        try await insert(31...40, backup.store)
        try await count(11, backup.store)
        let peers = [original, restored, backup]
        for (number, peer) in peers.enumerated() {
            try await peer.store.execute(
                DQL(verbatim: "UPDATE cars SET by\(number) = true WHERE _id = 2"))
            try peer.sync.registerSubscription("SELECT * FROM cars")
            try peer.sync.start()
        }
        let end = Clock.testDeadline()
        var found: [[String]] = []
        while Clock.system.monotonicNanoseconds() < end {
            found = []
            for peer in peers { found.append(try await rows(peer.store)) }
            if found[0].count == 40, found[0] == found[1], found[1] == found[2] { break }
            await Task.yield()
        }
        #expect(found[0].count == 40)
        #expect(found[0] == found[1] && found[1] == found[2])
        #expect(found[0].first == #"{"_id":1,"miles":26,"text":"car 1"}"#)
        #expect(
            found[0].dropFirst().first
                == #"{"_id":2,"by0":true,"by1":true,"by2":true,"text":"car 2"}"#)
        #expect(Set(peers.map { $0.store.queries.documents.site }).count == 3)
        for peer in peers { try await peer.close() }
    }
}
