import Foundation
import Sheaf
import SheafDocument
import SheafInspector
import SheafStatements
import SheafStorage
import SheafStore
import SheafSystem
import SheafTestSupport
import Testing

extension InspectorTests {
    /// The changes of a store as server-sent events.
    @Suite(.serialized) struct ChangeTests {
        @Test func `each commit is one event with its changes`() async throws {
            let fixture = try await InspectorFixture()
            let store = fixture.store
            try await store.execute("INSERT INTO cars DOCUMENTS ({'_id': 'a', 'color': 'red'})")
            try await store.execute("UPDATE cars SET color = 'blue', size = 2 WHERE _id = 'a'")
            try await store.execute("DELETE FROM cars WHERE _id = 'a'")
            let client = EventClient(fixture, "/changes?since=0")
            #expect(client.status == 200)
            #expect(client.contentType == "text/event-stream; charset=utf-8")
            #expect(client.next()?.id == 0)
            let expected: [Object] = [
                ["action": "insert", "fields": ["color"]],
                ["action": "update", "fields": ["color", "size"]],
                ["action": "delete", "fields": []],
            ]
            for (number, change) in expected.enumerated() {
                let event = try #require(client.next())
                #expect(event.id == UInt64(number + 1) && event.commit == Int64(number + 1))
                var complete = change
                complete["collection"] = "cars"
                complete["document"] = "a"
                #expect(event.data["changes"] == .array([.object(complete)]))
                #expect(event.data["isTruncated"] == false)
            }
            let brief = EventClient(fixture, "/changes?since=2&fields=0")
            #expect(brief.nextNamed()?.data["changes"] == nil)
            let other = EventClient(fixture, "/changes?since=2&fields=1")
            let last = try #require(other.nextNamed())
            #expect(last.data["changes"] != nil)
            await fixture.inspector.stop()
            #expect(client.next() == nil)
        }

        @Test func `a client that reconnects receives each commit exactly once`() async throws {
            let fixture = try await InspectorFixture()
            let store = fixture.store
            let count: Int64 = 400
            let writer = Task {
                for number in 1...count {
                    try await store.execute("INSERT INTO cars DOCUMENTS ({'_id': \(number)})")
                }
            }
            let seed = UInt64.random(in: 0..<1_000_000_000)
            print("reconnecting clients, seed \(seed)")
            var random = SeededRandom(seed: seed, "reconnecting")
            var (received, last): ([Int64], UInt64?) = ([], nil)
            while received.count < count {
                let header = last.map { ["Last-Event-ID: \($0)"] } ?? []
                // The header replaces the parameter.
                let client = EventClient(fixture, "/changes?since=0", header)
                for _ in 0..<Int.random(in: 1...60, using: &random) where received.count < count {
                    let event = try #require(client.next())
                    last = event.id
                    if let commit = event.commit { received.append(commit) }
                }
            }
            #expect(received == Array(1...count))
            try await writer.value
            await fixture.inspector.stop()
        }

        @Test
        func `without since, the changes begin after the newest commit, also when reconnecting`()
            async throws
        {
            let fixture = try await InspectorFixture()
            try await fixture.store.execute("INSERT INTO cars DOCUMENTS ({'_id': 1})")
            let first = try #require(EventClient(fixture).next())
            #expect(first.id == 1 && first.name.isEmpty)
            try await fixture.store.execute("INSERT INTO cars DOCUMENTS ({'_id': 2})")
            let client = EventClient(fixture, "/changes", ["Last-Event-ID: 1"])
            #expect(client.nextNamed()?.commit == 2)
            #expect(EventClient(fixture, "/changes?since=3").status == 400)
            #expect(EventClient(fixture, "/changes?since=-1").status == 400)
            #expect(EventClient(fixture, "/changes?since=x").status == 400)
            await fixture.inspector.stop()
        }

        @Test func `commits of another store on the same directory are events, too`() async throws {
            let directory = TemporaryDirectory()
            let writer = try await Store.open(at: directory.path("store"))
            try await writer.execute("INSERT INTO cars DOCUMENTS ({'_id': 1})")
            let reader = try await Store.open(
                at: directory.path("store"), options: StoreOptions(isReadOnly: true))
            let fixture = try await InspectorFixture(reader)
            let client = EventClient(fixture, "/changes?since=0")
            #expect(client.nextNamed()?.commit == 1)
            for number in 2...50 {
                try await writer.execute("INSERT INTO cars DOCUMENTS ({'_id': \(number)})")
                #expect(client.nextNamed()?.commit == Int64(number))
            }
            #expect(try fixture.query("SELECT COUNT(*) AS n FROM cars").1["rows"] == [["n": 50]])
            await fixture.inspector.stop()
            try await reader.close()
            try await writer.close()
        }

        @Test func `a store whose files were removed is an error, and not empty`() async throws {
            let directory = TemporaryDirectory()
            let path = directory.path("store")
            let writer = try await Store.open(at: path)
            try await writer.execute("INSERT INTO cars DOCUMENTS ({'_id': 1})")
            let reader = try await Store.open(at: path, options: StoreOptions(isReadOnly: true))
            let fixture = try await InspectorFixture(reader)
            let client = EventClient(fixture, "/changes?since=0")
            #expect(client.nextNamed()?.commit == 1)
            try await writer.close()
            let volume = try PosixVolume(path: path, creatingDirectory: false)
            for name in try volume.names() where name != "attachments" { try volume.remove(name) }
            let failure = try #require(client.nextNamed())
            #expect(failure.name == "failure" && failure.id == nil)
            #expect("\(failure.data)".contains("were removed from its directory"))
            let (status, answer) = try fixture.query("SELECT * FROM cars")
            #expect(status == 500 && answer["rows"] == nil)
            await fixture.inspector.stop()
            try await reader.close()
        }

        @Test func `a gap is an event if the log does not have the commits any more`() async throws
        {
            var options = StoreOptions()
            options.storage.history = HistoryHorizon(commits: 1, bytes: 0)
            options.storage.segmentLength = 4 << 10
            let store = try await Store.inMemory(options: options)
            for number in 1...200 {
                try await store.execute(
                    "INSERT INTO cars DOCUMENTS ({'_id': 1, 'n': \(number)}) ON ID CONFLICT DO UPDATE"
                )
            }
            let engine = try store.log.engine
            engine.compactEverything()
            while try engine.compactionStep() {}
            let oldest = store.queries.snapshot().log.compactedThrough
            try #require(oldest > 2)
            let fixture = try await InspectorFixture(store)
            let client = EventClient(fixture, "/changes?since=2")
            #expect(client.next()?.id == 2)
            let gap = try #require(client.next())
            #expect(gap.name == "gap" && gap.id == oldest)
            #expect(gap.data == ["since": 2, "oldest": .integer(Int64(oldest))])
            try await store.execute("INSERT INTO cars DOCUMENTS ({'_id': 2})")
            var next = Int64(oldest) + 1
            while next <= 201 {
                #expect(client.nextNamed()?.commit == next)
                next += 1
            }
            await fixture.inspector.stop()
        }

        @Test func `a commit that cannot be read is an event, and ends the changes`() async throws {
            let directory = TemporaryDirectory()
            let store = try await Store.open(at: directory.path("store"))
            try await store.execute("INSERT INTO cars DOCUMENTS ({'_id': 1, 'n': 'intact'})")
            try await store.execute("INSERT INTO cars DOCUMENTS ({'_id': 2, 'n': 'needle'})")
            let file = URL(fileURLWithPath: directory.path("store/0000000001.log"))
            let range = try #require(try Data(contentsOf: file).range(of: Data("needle".utf8)))
            let handle = try FileHandle(forUpdating: file)
            try handle.seek(toOffset: UInt64(range.lowerBound))
            try handle.write(contentsOf: Data("noodle".utf8))
            try handle.close()
            let fixture = try await InspectorFixture(store)
            let client = EventClient(fixture, "/changes?since=0")
            #expect(client.nextNamed()?.commit == 1)
            let failure = try #require(client.nextNamed())
            #expect(failure.name == "failure" && failure.id == nil)
            #expect("\(failure.data)".contains("0000000001.log"))
            #expect(client.next() == nil)
            await fixture.inspector.stop()
            try await store.close()
        }

        @Test func `changes end without an error when the store is closed`() async throws {
            let fixture = try await InspectorFixture()
            let client = EventClient(fixture, "/changes?since=0")
            try await fixture.store.execute("INSERT INTO cars DOCUMENTS ({'_id': 1})")
            #expect(client.nextNamed()?.commit == 1)
            try await fixture.store.close()
            let last = client.nextNamed()
            #expect(last?.name == nil)
            for target in ["/about", "/changes", "/metrics"] {
                #expect(fixture.response("GET", target)?.status == 500, "\(target)")
            }
            #expect(try fixture.query("SELECT * FROM cars").0 == 500)
            let body = #"{"before": "SEL", "after": ""}"#
            #expect(fixture.response("POST", "/complete", body: body)?.status == 500)
            await fixture.inspector.stop()
        }

        @Test func `a commit with more than 100 changes is truncated`() async throws {
            let fixture = try await InspectorFixture()
            let client = EventClient(fixture, "/changes?since=0")
            for count in [99, 100, 101] {
                let cars = (0..<count).map { "({'_id': \($0)})" }.joined(separator: ", ")
                try await fixture.store.execute(
                    DQL(verbatim: "INSERT INTO cars\(count) DOCUMENTS \(cars)"))
                let event = try #require(client.nextNamed())
                guard case .array(let changes)? = event.data["changes"] else {
                    Issue.record("The event has no changes.")
                    return
                }
                #expect(changes.count == min(count, 100))
                #expect(event.data["isTruncated"] == .bool(count > 100))
            }
            await fixture.inspector.stop()
        }

        @Test func `the site of a commit is that of its writes, also after 101 evictions`()
            async throws
        {
            let fixture = try await InspectorFixture()
            let store = fixture.store
            let clients = ["", "&fields=0"].map { EventClient(fixture, "/changes?since=0" + $0) }
            func sites() throws -> [Value?] {
                var found: [Value?] = []
                for client in clients {
                    let event = try #require(client.nextNamed())
                    found.append(event.data["site"])
                }
                return found
            }
            try await store.execute("INSERT INTO owners DOCUMENTS ({'_id': 0})")
            let own = try sites()
            #expect(own[0] != .null && own[0] != nil && own[0] == own[1])
            for count in [99, 100, 101] {
                let cars = (0..<count).map { "({'_id': \($0)})" }.joined(separator: ", ")
                try await store.execute(
                    DQL(verbatim: "INSERT INTO cars\(count) DOCUMENTS \(cars)"))
                let inserted = try sites()
                #expect(inserted == own)
                try await store.transaction { transaction in
                    try await transaction.execute(DQL(verbatim: "EVICT FROM cars\(count)"))
                    try await transaction.execute(
                        "INSERT INTO owners DOCUMENTS ({'_id': \(count)})")
                    return TransactionCompletion.commit
                }
                let changed = try sites()
                #expect(changed == own, "\(count)")
            }
            try await store.execute("EVICT FROM owners")
            let evicted = try sites()
            let none: [Value?] = [.null, .null]
            #expect(evicted == none)
            await fixture.inspector.stop()
        }
    }
}
