import DittoNames
import Foundation
import Sheaf
import SheafTestSupport
import Testing

/// The older names of the reference system.
struct NameTests {
    @Test func `a database reports its version, directory and disk usage`() async throws {
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
        #expect(ditto.store.collections().exec().map(\.name) == ["a", "b"])
        let items = try await withCheckedThrowingContinuation { continuation in
            ditto.store.execute(
                query: "SELECT * FROM b", deliverOn: DispatchQueue(label: "completion")
            ) { continuation.resume(with: $0.map(\.items)) }
        }
        #expect(items.map { $0.jsonData() } == [Data(#"{"_id":1,"l":[null],"n":null}"#.utf8)])
        let value = items[0].value
        // A lookup returns a double optional: NULL is the inner nil.
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

    @Test func `calls without labels accept completion handlers, signals and transactions`()
        async throws
    {
        let ditto = try await Ditto.inMemory()
        try await ditto.store.transaction { transaction in
            try await transaction.execute("INSERT INTO a DOCUMENTS ({ _id: 1 })")
            try await transaction.execute(
                "INSERT INTO a DOCUMENTS (:d)", arguments: ["d": ["_id": 2]])
            return .commit
        }
        let counts = await withCheckedContinuation { waiter in
            ditto.store.execute("SELECT * FROM a") { result in
                waiter.resume(returning: (try? result.get())?.items.count)
            }
        }
        #expect(counts == 2)
        let (results, found) = AsyncStream.makeStream(of: Int.self)
        let observer = ditto.store.registerObserver("SELECT * FROM a") { result, signalNext in
            found.yield(result.items.count)
            signalNext()
        }
        var iterator = results.makeAsyncIterator()
        #expect(await iterator.next() == 2)
        try await ditto.store.execute("DELETE FROM a WHERE _id = 1")
        #expect(await iterator.next() == 1)
        observer.cancel()
        try await ditto.close()
    }

    @Test func `a live query on collections reports their names`() async throws {
        let ditto = try await Ditto.inMemory()
        try await ditto.store.execute(
            "ALTER SYSTEM SET live_query_system_collection_refresh_interval = 1")
        try await ditto.store.execute("INSERT INTO b DOCUMENTS ({ _id: 1 })")
        let (events, found) = AsyncStream.makeStream(of: DittoCollectionsEvent.self)
        let live = ditto.store.collections().observeLocal(
            deliverOn: DispatchQueue(label: "collections")
        ) { found.yield($0) }
        var iterator = events.makeAsyncIterator()
        let first = try #require(await iterator.next())
        #expect(first.isInitial && first.collections.map(\.name) == ["b"])
        #expect(first.oldCollections.isEmpty && first.insertions.isEmpty && first.deletions.isEmpty)
        // Another document changes no name, so the next event is about the new collection.
        try await ditto.store.execute("INSERT INTO b DOCUMENTS ({ _id: 2 })")
        await ditto.rows(of: "SELECT * FROM system:collections WHERE documents = 2", 3)
        try await ditto.store.execute("INSERT INTO a DOCUMENTS ({ _id: 1 })")
        let second = try #require(await iterator.next())
        #expect(!second.isInitial && second.collections.map(\.name) == ["a", "b"])
        #expect(second.oldCollections.map(\.name) == ["b"])
        #expect(second.insertions == [0] && second.deletions.isEmpty)
        live.stop()
        #expect(live.isStopped)
        try await ditto.close()
    }

    @Test func `the page of reference names lists each name as the sources declare it`() throws {
        let sources = try NameSources()
        var listed: [String] = []
        for cells in try NameSources.rows() {
            let name = try #require(cells[0].split(separator: ".").last.map(String.init))
            let message = sources.unavailable[name]
            #expect((message != nil) == (cells[1] == "unavailable"), "\(name)")
            guard let message else {
                #expect(sources.declares(name), "\(name)")
                continue
            }
            listed.append(name)
            let named = NameSources.code(in: cells[2])
            #expect(!named.isEmpty, "\(name) has no replacement on the page")
            for code in named {
                #expect(message.contains("`\(code)`"), "\(name): the compiler says \(message)")
            }
        }
        #expect(listed.sorted() == sources.unavailable.keys.sorted())
    }

    @Test func `each public type is on the page about migrating and in a topic`() throws {
        let types = try NameSources.publicTypes()
        #expect(types.count > 50)
        let unavailable = try NameSources().unavailable
        let (migrating, landing) = (
            try NameSources.page("Migrating"), try NameSources.page("DittoNames")
        )
        for type in types {
            #expect(migrating.contains("`\(type)`") || migrating.contains("`\(type)/"), "\(type)")
            // An unavailable type has no page.
            #expect(landing.contains("- ``\(type)``") == (unavailable[type] == nil), "\(type)")
        }
    }

    @Test func `the replacement of each unavailable name exists`() async throws {
        let sources = try NameSources()
        let ditto = try await Ditto.inMemory()
        #expect(sources.unavailable.count == sources.markCount && sources.markCount > 10)
        for (name, message) in sources.unavailable {
            let replacements = NameSources.code(in: message)
            #expect(!replacements.isEmpty, "\(name): \(message)")
            for code in replacements {
                if code.contains(" FROM ") || code.hasPrefix("UPDATE ") {
                    // A statement must be plannable.
                    _ = try await ditto.store.execute(
                        "EXPLAIN \(code)", arguments: code.contains(":value") ? ["value": 1] : [:])
                    continue
                }
                for part in code.matches(of: /[A-Za-z]\w*/) {
                    #expect(sources.declares(String(part.output)), "\(name): \(code)")
                }
            }
        }
        try await ditto.close()
    }
}

/// The declarations in the sources and the rows of the page of names.
private struct NameSources {
    /// The messages of unavailable names.
    private(set) var unavailable: [String: String] = [:]
    /// The number of `unavailable` attributes.
    let markCount: Int
    /// The sources without unavailable declarations.
    private let available: String

    private static let root = URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "../..")

    init() throws {
        let sources = try Self.text()
        let mark = try Regex(
            #"@available\(\s*\*, unavailable,\s*message:\s*"([^"]+)"\s*\)\s*"#
                + #"(?:public )?(?:final )?(?:class|enum|func|var|case) (\w+)"#,
            as: (Substring, Substring, Substring).self)
        for found in sources.matches(of: mark) {
            unavailable[String(found.output.2)] = String(found.output.1)
        }
        markCount = sources.matches(of: /\*,\s*unavailable/).count
        available = sources.replacing(mark, with: "")
    }

    /// Returns the text of all sources.
    private static func text() throws -> String {
        let folder = root.appending(path: "Sources/DittoNames").standardizedFileURL
        var sources = ""
        for case let url as URL in try #require(
            FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil))
        where url.pathExtension == "swift" {
            sources += try String(contentsOf: url, encoding: .utf8) + "\n"
        }
        return sources
    }

    /// Returns the names of the public types at top level.
    static func publicTypes() throws -> [String] {
        let declaration =
            /\npublic (?:final )?(?:class|struct|enum|protocol|typealias) (\w+)/
        return try text().matches(of: declaration).map { String($0.output.1) }
    }

    /// Returns the text of a page of the documentation.
    static func page(_ name: String) throws -> String {
        try String(
            contentsOf: root.appending(path: "Sources/DittoNames/DittoNames.docc/\(name).md"),
            encoding: .utf8)
    }

    /// Whether an available declaration or label has this name.
    func declares(_ name: String) -> Bool {
        let declaration = "\\b(func|var|let|class|struct|enum|case|typealias) \(name)\\b"
        guard let pattern = try? Regex("\(declaration)|\\b\(name)( \\w+)?: ") else { return false }
        return available.contains(pattern)
    }

    /// Returns the cells of each row about a name; the name is without backticks.
    static func rows() throws -> [[String]] {
        try page("OlderNames").split(separator: "\n").filter { $0.hasPrefix("| `") }.map { row in
            var cells = row.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
            cells[0] = cells[0].replacing("`", with: "")
            return cells
        }
    }

    /// Returns each text between backticks.
    static func code(in text: String) -> [String] {
        text.matches(of: /`([^`]+)`/).map { String($0.output.1) }
    }
}

extension Ditto {
    /// Waits until a query has returned rows in `count` results.
    fileprivate func rows(of query: String, _ count: Int) async {
        let (results, found) = AsyncStream.makeStream(of: Int.self)
        let observer = store.registerObserver(query: query, deliverOn: DispatchQueue(label: "rows"))
        { found.yield($0.items.count) }
        defer { observer.cancel() }
        var left = count
        for await rows in results where rows > 0 {
            left -= 1
            if left == 0 { return }
        }
    }
}
