import DittoNames
import Foundation
import Sheaf
import SheafTestSupport
import Testing

/// Older names of the reference system.
struct NameTests {
    @Test func `a database says what it is and how much it takes`() async throws {
        let directory = TemporaryDirectory()
        let ditto = try await Ditto.open(at: directory.path("names"))
        #expect(ditto.sdkVersion == Ditto.version && ditto.activated)
        #expect(ditto.persistenceDirectory?.lastPathComponent == "names")
        ditto.runGarbageCollection()
        let usage = ditto.diskUsage.exec
        #expect(usage.type == .directory && usage.sizeInBytes > 0)
        #expect(usage.sizeInBytes == usage.children.reduce(0) { $0 + $1.sizeInBytes })
        let (sizes, found) = AsyncStream.makeStream(of: Int.self)
        let handle = ditto.diskUsage.observe(deliverOn: DispatchQueue(label: "usage")) {
            found.yield($0.sizeInBytes)
        }
        let text = String(repeating: "x", count: 1 << 20)
        var first: Int?
        for await size in sizes {
            guard let before = first else {
                first = size
                _ = try await ditto.store.newAttachment(data: Data(text.utf8))
                continue
            }
            if size >= before + text.utf8.count { break }
        }
        handle.stop()
        try await ditto.close()
        let memory = try await Ditto.inMemory()
        #expect(memory.persistenceDirectory == nil && memory.diskUsage.exec.sizeInBytes == 0)
        try await memory.close()
    }

    @Test func `statements run without labels and with a completion handler`() async throws {
        let ditto = try await Ditto.inMemory()
        try await ditto.store.execute("INSERT INTO b DOCUMENTS ({ _id: 1, n: NULL, l: [NULL] })")
        try await ditto.store.execute("INSERT INTO a DOCUMENTS (:d)", arguments: ["d": ["_id": 2]])
        #expect(ditto.store.collectionNames() == ["a", "b"])
        #expect(ditto.store.collections().map(\.name) == ["a", "b"])
        let items = try await withCheckedThrowingContinuation { continuation in
            ditto.store.execute(
                query: "SELECT * FROM b", deliverOn: DispatchQueue(label: "completion")
            ) { continuation.resume(with: $0.map(\.items)) }
        }
        #expect(items.map { $0.jsonData() } == [Data(#"{"_id":1,"l":[null],"n":null}"#.utf8)])
        let value = items[0].value
        // The key is there, and its value is nil.
        #expect(value.keys.contains("n") && value["n"]! == nil)
        #expect((value["l"] as? [Any])?.first is NSNull)
        let failed: Result<DittoQueryResult, any Error> = await withCheckedContinuation { waiter in
            ditto.store.execute(query: "SELEC", deliverOn: DispatchQueue(label: "completion")) {
                waiter.resume(returning: $0)
            }
        }
        #expect(throws: DittoError.self) { try failed.get() }
        let (events, seen) = AsyncStream.makeStream(of: Bool.self)
        let live = ditto.store["a"].findAll().observeLocal(deliverOn: DispatchQueue(label: "a")) {
            seen.yield($1.isInitial)
        }
        for await isInitial in events {
            #expect(isInitial)
            break
        }
        live.stop()
        try await ditto.close()
    }

    @Test func `the page lists each name as the sources have it`() throws {
        let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../..")
        let folder = root.appending(path: "Sources/DittoNames").standardizedFileURL
        var sources = ""
        for case let url as URL in try #require(
            FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil))
        where url.pathExtension == "swift" {
            sources += try String(contentsOf: url, encoding: .utf8) + "\n"
        }
        let lines = sources.split(separator: "\n", omittingEmptySubsequences: false)
        let page = try String(
            contentsOf: root.appending(path: "Sources/Sheaf/Sheaf.docc/ReferenceNames.md"),
            encoding: .utf8)
        var listed = 0
        for row in page.split(separator: "\n") where row.hasPrefix("| `") {
            let cells = row.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
            let name = cells[0].replacing("`", with: "")
            let pattern = try Regex("(func|var|let|class|enum) \(name)\\b|\\b\(name): @escaping")
            let indexes = lines.indices.filter { lines[$0].contains(pattern) }
            let isUnavailable = indexes.contains {
                $0 > 0 && lines[$0 - 1].contains("@available(*, unavailable")
            }
            #expect(!indexes.isEmpty, "\(name)")
            #expect(isUnavailable == (cells[1] == "unavailable"), "\(name)")
            listed += isUnavailable ? 1 : 0
        }
        #expect(listed == lines.count { $0.contains("@available(*, unavailable") })
    }
}
