import Foundation
import Sheaf
import SheafStatements
import SheafSystem
import SheafTestSupport
import Testing

/// The command `sheaf inspect`.
@Suite struct InspectCommandTests {
    private let scene = PeerScene()

    private func start(_ name: String, _ words: String...) throws -> (RunningPeer, PageClient) {
        let run = try RunningPeer(["inspect"], store: scene.path(name), ["--no-open"] + words)
        return (run, try PageClient("http://" + run.line("http://")))
    }

    private func makeStore(_ name: String) throws {
        let insert = "INSERT INTO cars DOCUMENTS ({'_id': 1, 'color': 'red'})"
        #expect(try ToolRun([scene.path(name), "-c", insert]).status == 0)
    }

    @Test(arguments: [SIGINT, SIGTERM])
    func `inspect prints a URL that answers until a signal`(signal: Int32) throws {
        try makeStore("store")
        let (run, page) = try start("store")
        let about = try #require(page.get("/about"))
        #expect(about.status == 200 && about.answer["isWritable"] as? Bool == false)
        #expect(about.answer["hasPeer"] as? Bool == false)
        #expect(page.rows("SELECT color FROM cars").first?["color"] as? String == "red")
        #expect(page.query("DELETE FROM cars")?.status == 403)
        // Another process writes meanwhile.
        #expect(try ToolRun(["query", run.store, "UPDATE cars SET color = 'blue'"]).status == 0)
        #expect(page.rows("SELECT color FROM cars").first?["color"] as? String == "blue")
        #expect(try run.stop(signal) == 0)
        #expect(run.errorText.isEmpty)
        #expect(page.get("/about") == nil)
    }

    @Test func `inspect with --write changes the store, and refuses one that is in use`()
        async throws
    {
        try makeStore("store")
        let (run, page) = try start("store", "--write")
        #expect(page.query("UPDATE cars SET color = 'blue'")?.status == 200)
        let second = try ToolRun(["inspect", run.store, "--no-open", "--write"])
        #expect(second.status == 1 && second.output.isEmpty)
        #expect(second.errors.contains("is in use by process"))
        #expect(try run.stop() == 0)
        let writer = try await Store.open(at: run.store)
        let third = try ToolRun(["inspect", run.store, "--no-open", "--write"])
        #expect(third.status == 1 && third.errors.contains("is in use by process"))
        let (reading, readingPage) = try start("store")
        try await writer.execute("UPDATE cars SET color = 'green'")
        #expect(readingPage.rows("SELECT color FROM cars").first?["color"] as? String == "green")
        #expect(try reading.stop() == 0)
        try await writer.close()
    }

    @Test func `an address that cannot be listened on is an error`() throws {
        try makeStore("store")
        let path = scene.path("store")
        func errors(_ address: String, _ status: Int32) throws -> String {
            let run = try ToolRun(["inspect", path, "--no-open", "--listen", address])
            #expect(run.status == status && run.output.isEmpty, "\(address)")
            return run.errors
        }
        for address in ["127.0.0.1", "8080", "127.0.0.1:x", "127.0.0.1:65536", "127.0.0.1:-1", ""] {
            #expect(try errors(address, 64).contains("--listen requires"), "\(address)")
        }
        #expect(try errors("example.org:0", 1).contains("is not a numeric address"))
        #expect(try errors("192.0.2.1:0", 1).contains("cannot listen on 192.0.2.1:0: "))
        let (run, page) = try start("store", "--listen", "127.0.0.1:0")
        #expect(
            try errors("127.0.0.1:\(page.port)", 1).contains(
                "127.0.0.1:\(page.port): Address already in use"))
        #expect(page.get("/about")?.status == 200)
        #expect(try run.stop() == 0)
    }

    @Test func `a store that does not exist, and a file, are errors`() throws {
        for words in [[], ["--write"]] {
            let missing = try ToolRun(["inspect", scene.path("missing"), "--no-open"] + words)
            #expect(missing.status == 1 && missing.output.isEmpty)
            #expect(missing.errors.contains(scene.path("missing")))
            #expect(!FileManager.default.fileExists(atPath: scene.path("missing")))
            try Data("text".utf8).write(to: URL(fileURLWithPath: scene.path("file")))
            let file = try ToolRun(["inspect", scene.path("file"), "--no-open"] + words)
            #expect(file.status == 1 && file.errors.contains("is a file"))
        }
    }

    @Test func `inspect shows a running peer, in whose process it runs`() throws {
        let query = "SELECT * FROM cars"
        let ann = try scene.serve("ann", "--listen", "127.0.0.1:0", "--subscribe", query)
        let address = try ann.address()
        try ann.execute("INSERT INTO cars DOCUMENTS ({'_id': 'a'})")
        let ben = try scene.connect(
            "ben", "--connect", address, "--subscribe", "SELECT * FROM cars WHERE n = 1")
        _ = try ann.line("connected ")
        let key = try ben.status().key
        let (run, page) = try start("ann", "--write")
        #expect(page.get("/about")?.answer["hasPeer"] as? Bool == true)
        let peers = page.rows("SELECT peer, kind FROM system:presence")
        #expect(
            peers.contains { $0["peer"] as? String == key && $0["kind"] as? String == "remote" })
        #expect(
            page.rows("SELECT * FROM system:subscriptions").first?["statement"] as? String == query)
        let explained = "/explain?collection=cars&id=%22a%22&peer=\(key)"
        func state() -> String? {
            let steps = page.get(explained)?.answer["steps"] as? [[String: Any]]
            return steps?.first?["state"] as? String
        }
        let end = RunningPeer.deadline
        while state() != "noSubscription", Clock.system.monotonicNanoseconds() < end {}
        #expect(state() == "noSubscription")
        #expect(page.query("UPDATE cars SET n = 1 WHERE _id = 'a'")?.status == 200)
        while state() != "ok", Clock.system.monotonicNanoseconds() < end {}
        #expect(state() == "ok")
        // Another inspector only reads.
        let (second, secondPage) = try start("ann")
        #expect(secondPage.query("DELETE FROM cars")?.status == 403)
        #expect(try second.stop() == 0)
        #expect(secondPage.get("/about") == nil)
        #expect(page.get("/about")?.status == 200)
        #expect(try run.stop(SIGINT) == 0)
        #expect(run.errorText.isEmpty && page.get("/about") == nil)
        #expect(try ann.execute(query).count == 1)
        #expect(try ben.stop() == 0)
        #expect(try ann.stop() == 0)
    }

    @Test func `the inspector of a peer ends with its command`() throws {
        let ann = try scene.serve("ann", "--listen", "127.0.0.1:0")
        _ = try ann.address()
        let (run, page) = try start("ann")
        #expect(page.get("/about")?.status == 200)
        #expect(try run.stop(SIGKILL) == -SIGKILL)
        let end = RunningPeer.deadline
        while page.get("/about") != nil, Clock.system.monotonicNanoseconds() < end {}
        #expect(page.get("/about") == nil)
        // The port is free again, and another process can hold it.
        let (second, secondPage) = try start("ann", "--listen", "127.0.0.1:\(page.port)")
        #expect(secondPage.port == page.port)
        let occupied = try ToolRun(
            ["inspect", ann.store, "--no-open", "--listen", "127.0.0.1:\(page.port)"])
        #expect(occupied.status == 1 && occupied.errors.contains("Address already in use"))
        let numeric = try ToolRun(["inspect", ann.store, "--no-open", "--listen", "example.org:0"])
        #expect(numeric.status == 1 && numeric.errors.contains("is not a numeric address"))
        let more = try (0..<3).map { _ in try start("ann").0 }
        let tooMany = try ToolRun(["inspect", ann.store, "--no-open"])
        #expect(tooMany.status == 1)
        #expect(tooMany.errors.contains("4 inspectors of the peer are running"))
        for run in more + [second] { #expect(try run.stop() == 0) }
        #expect(try ann.stop() == 0)
    }

    @Test(arguments: [SIGTERM, SIGKILL])
    func `inspect ends with an error when its peer ends`(signal: Int32) throws {
        let ann = try scene.serve("ann", "--listen", "127.0.0.1:0")
        _ = try ann.address()
        let (run, page) = try start("ann")
        #expect(try ann.stop(signal) == (signal == SIGKILL ? -SIGKILL : 0))
        #expect(try run.end() == 1)
        #expect(run.errorText.hasPrefix("sheaf: the peer on "))
        #expect(run.errorText.hasSuffix(", and with it the inspector\n"))
        #expect(page.get("/about") == nil)
        // Without the peer, the files are shown.
        let (second, secondPage) = try start("ann")
        #expect(secondPage.get("/about")?.answer["hasPeer"] as? Bool == false)
        #expect(try second.stop() == 0)
    }
}
