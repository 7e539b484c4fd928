import Foundation
import SheafStorage
import SheafSystem
import SheafTestSupport
import Testing

/// Peers in separate processes, and the commands that control them.
@Suite struct PeerCommandTests {
    private let cars = ["--subscribe", "SELECT * FROM cars"]

    @Test func `a peer can subscribe to all collections`() throws {
        let scene = PeerScene()
        let ann = try scene.serve("ann", "--listen", "127.0.0.1:0")
        let address = try ann.address()
        for name in ["cars", "boats"] {
            try ann.execute("INSERT INTO \(name) DOCUMENTS ({'_id': '\(name)'})")
        }
        _ = try scene.key("ben.key")
        let once = try ToolRun(
            [
                "peer", "connect", scene.path("ben"), "--database", "scene", "--key",
                scene.path("ben.key"), "--connect", address, "--subscribe-all", "--until-synced",
                "--timeout", "180",
            ])
        #expect(once.status == 0, "\(once.errors)")
        for name in ["cars", "boats"] {
            let rows = try ToolRun(
                ["query", scene.path("ben"), "SELECT _id FROM \(name)", "--mode=jsonl"])
            #expect(rows.text == "{\"_id\":\"\(name)\"}\n")
        }
        #expect(try ann.stop() == 0)
    }

    @Test func `a peer that cannot run reports why`() throws {
        let scene = PeerScene()
        let key = try scene.key("k")
        try Data("grant:zz\n".utf8).write(to: URL(fileURLWithPath: scene.path("bad.grant")))
        try Data(repeating: 1, count: 32).write(to: URL(fileURLWithPath: scene.path("shared")))
        let common = ["--database", "d", "--key", scene.path("k")]
        let listen = ["--listen", "127.0.0.1:0"]
        let cases: [(words: [String], status: Int32, complaint: String)] = [
            (["--key", "k"] + listen, 64, "missing --database ID"),
            (["--database", "d"] + listen, 64, "missing --key FILE"),
            (common, 64, "missing --listen; --listen 127.0.0.1:0 selects a free port"),
            (["--database", "d", "--key", scene.path("x")] + listen, 1, "/x: No such file"),
            (common + ["--listen", "nowhere"], 1, "nowhere"),
            (common + ["--listen", "0.0.0.0:0"], 1, "cannot listen on 0.0.0.0:0"),
            (common + listen + ["--grant", "g"], 64, "--grant requires --authority KEY"),
            (common + listen + ["--authority", "me"], 64, "--authority must be a public key"),
            (common + listen + ["--authority", key], 64, "--authority requires --grant FILE"),
            (
                common + listen + ["--authority", key, "--shared-key", "f"], 64,
                "mutually exclusive"
            ),
            (
                common + listen + ["--authority", key, "--grant", scene.path("bad.grant")], 1,
                "is not a grant as printed by 'sheaf grant'"
            ),
            (
                common + listen + ["--subscribe", "SELECT * FROM cars LIMIT 1 OFFSET 1"], 1,
                "OFFSET is not allowed"
            ),
            (common + listen + ["--subscribe", "SELEC"], 64, "did you mean SELECT?"),
        ]
        for (words, status, message) in cases {
            let run = try ToolRun(["peer", "serve", scene.path("store")] + words)
            #expect(run.status == status && run.output.isEmpty, "\(words): \(run.errors)")
            #expect(run.errors.contains(message), "\(words): \(run.errors)")
        }
        try FileManager.default.setAttributes(
            [.posixPermissions: 0o644], ofItemAtPath: scene.path("shared"))
        let open = try ToolRun(
            ["peer", "serve", scene.path("store"), "--shared-key", scene.path("shared")] + common
                + listen)
        #expect(open.status == 1 && open.errors.contains("chmod 600"))
        let connect = try ToolRun(["peer", "connect", scene.path("store")] + common)
        #expect(connect.status == 64 && connect.errors.contains("missing --connect ADDRESS"))
        let failed = try ToolRun(
            ["peer", "connect", scene.path("store"), "--connect", "127.0.0.1:1", "--until-synced"]
                + common + ["--timeout", "0"])
        #expect(failed.status == 1 && failed.errors.contains("not everything is synced after 0 s"))
    }

    @Test func `a running peer sends notes on an empty result`() throws {
        let scene = PeerScene()
        let ann = try scene.serve("ann", "--listen", "127.0.0.1:0")
        _ = try ann.address()
        try ann.execute("INSERT INTO cars DOCUMENTS ({'_id': 'a', 'color': 'red'})")
        let empty = try ToolRun(
            ["peer", "execute", ann.store, "SELECT * FROM cars WHERE colour = 'red'"])
        #expect(empty.status == 0 && empty.output.isEmpty)
        #expect(
            empty.errors == "note: no document in cars has a field colour; did you mean color?\n")
        #expect(try ann.stop() == 0)
    }

    @Test func `control commands fail without a running peer`() throws {
        let store = try QueryCommandStore()
        for words in [
            ["peer", "list", store.path], ["peer", "execute", store.path, "SELECT 1"],
            ["sync", "status", store.path],
            ["explain-sync", store.path, "cars", "a", "pk:" + String(repeating: "0", count: 64)],
        ] {
            let run = try ToolRun(words)
            #expect(run.status == 1 && run.output.isEmpty)
            #expect(
                run.errors
                    == "sheaf: no peer is running on the store at \(store.path); "
                    + "start one with 'sheaf peer serve \(store.path) ...', or 'sheaf hub serve' if "
                    + "it is one of a hub\n")
        }
    }

    @Test func `a peer serves, handles control commands, and closes its store`() throws {
        let scene = PeerScene()
        let ann = try scene.serve("ann", "--listen", "127.0.0.1:0", cars[0], cars[1], "--server")
        let address = try ann.address()
        let mode = try FileManager.default.attributesOfItem(atPath: scene.path("ann.peer"))
        #expect(mode[.posixPermissions] as? Int == 0o600)
        let written = try ann.execute(
            "INSERT INTO cars DOCUMENTS ({'_id': 'a', 'color': 'red'}), ({'_id': 'b'})")
        #expect(written.first?["changed"] as? Int == 2)
        let wrong = try ToolRun(["peer", "execute", ann.store, "SELEC * FROM cars"])
        #expect(wrong.status == 64 && wrong.errors.contains("did you mean SELECT?"))
        let beside = try ToolRun(["query", ann.store, "SELECT COUNT(*) FROM cars", "--json"])
        #expect(beside.lines.first?.hasSuffix(":2}") == true)
        #expect(try ToolRun(["query", ann.store, "DELETE FROM cars"]).status == 1)
        let later = try ToolRun(["sync", "status", ann.store, "--wait", "7"])
        #expect(later.status == 1 && later.errors.contains("commit 7 does not exist yet"))
        let alone = try ToolRun(["sync", "status", ann.store, "--wait", "1", "--timeout", "0"])
        #expect(alone.status == 1 && alone.errors.contains("not all peers have commit 1 after 0 s"))

        let red = "SELECT * FROM cars WHERE color = 'red'"
        _ = try scene.key("ben.key")
        let once = try ToolRun(
            [
                "peer", "connect", scene.path("ben"), "--database", "scene", "--key",
                scene.path("ben.key"), "--connect",
                address, "--subscribe", red, "--until-synced", "--timeout", "180",
            ])
        #expect(once.status == 0, "\(once.errors)")
        let rows = try ToolRun(["query", scene.path("ben"), "SELECT _id FROM cars", "--mode=jsonl"])
        #expect(rows.text == "{\"_id\":\"a\"}\n")

        let ben = try scene.connect("ben", "--connect", address, "--subscribe", red)
        _ = try ben.line("connected ")
        let key = try ben.status().key
        #expect(try until { try ann.status().isSettled && ben.status().isSettled })
        let status = try ann.status("--wait", "1", "--peer", key)
        #expect(status.commit == 1 && status.documents == 2)
        let list = try ToolRun(["peer", "list", ann.store, "--json"]).objects()
        #expect(
            list.contains { $0["peer"] as? String == key && $0["state"] as? String == "connected" })
        #expect(
            try ToolRun(["peer", "list", ben.store]).text.contains("\"ann\" (server) connected to"))

        func explain(_ id: String) throws -> [String] {
            try ToolRun(["explain-sync", ann.store, "cars", id, key]).lines
        }
        #expect(
            try explain("a") == [
                "document: present, last changed by commit 1", "connected: yes",
                "matched: \(red)", "permitted: yes", "sent: yes, up to commit 1",
                "acknowledged: yes, up to commit 1",
            ])
        #expect(try explain("b").contains("matched: by none of its 1 query"))
        #expect(try explain("c").first == "document: missing")
        let unknownPeer = "pk:" + String(repeating: "0", count: 64)
        let unknown = try ToolRun(["explain-sync", ann.store, "cars", "a", unknownPeer])
        #expect(unknown.status == 1 && unknown.errors.contains("no connection to "))

        try close(ann, ben, in: scene)
    }

    /// Stops both peers, and verifies their stores.
    private func close(_ ann: RunningPeer, _ ben: RunningPeer, in scene: PeerScene) throws {
        #expect(try ben.stop(SIGINT) == 0)
        #expect(try ann.stop() == 0)
        #expect(!FileManager.default.fileExists(atPath: scene.path("ann.peer")))
        for name in ["ann", "ben"] {
            #expect(try ToolRun(["verify", scene.path(name)]).status == 0)
        }
    }

    @Test func `a subscription can have an order and a limit`() throws {
        let scene = PeerScene()
        let ann = try scene.serve("ann", "--listen", "127.0.0.1:0", cars[0], cars[1])
        let address = try ann.address()
        try ann.execute(
            "INSERT INTO cars DOCUMENTS ({'_id': 'a', 'n': 1}), ({'_id': 'b', 'n': 3}), ({'_id': 'c', 'n': 2})"
        )
        let ben = try scene.connect(
            "ben", "--connect", address, "--subscribe",
            "SELECT * FROM cars ORDER BY n DESC LIMIT 2", "--until-synced", "--timeout", "180")
        #expect(try ben.end() == 0, "\(ben.errorText)")
        let rows = try ToolRun([
            "query", ben.store, "SELECT _id FROM cars ORDER BY _id", "--mode=jsonl",
        ])
        #expect(rows.text == "{\"_id\":\"b\"}\n{\"_id\":\"c\"}\n", "\(rows.text)")
        let help = try ToolRun(["help", "peer", "serve"])
        #expect(help.text.contains("ORDER BY and LIMIT"))
        #expect(try ann.stop() == 0)
    }

    /// Two peers with the same key connect to different peers of one mesh.
    @Test func `a peer reports the name and the connection of another peer with its key`() throws {
        let scene = PeerScene()
        let key = try scene.key("ben.key")
        try FileManager.default.copyItem(
            atPath: scene.path("ben.key"), toPath: scene.path("copy.key"))
        let ann = try scene.serve("ann", "--listen", "127.0.0.1:0")
        let bob = try scene.serve(
            "bob", "--listen", "127.0.0.1:0", "--connect", try ann.address())
        let ben = try scene.connect("ben", "--connect", try ann.address())
        let copy = try scene.connect("copy", "--connect", try bob.address(), "--json")
        let text = try ben.line("conflict: ")
        #expect(text.contains("another peer with this key, \(key), is connected from \"copy\""))
        #expect(text.contains("to \(try bob.status().key)") && text.contains("'sheaf keygen'"))
        let line = try copy.line("{\"event\":\"conflict\"")
        #expect(line.contains(key) && line.contains("connected from \\\"ben\\\""), "\(line)")
        for peer in [ben, copy, bob, ann] { #expect(try peer.stop() == 0) }
    }

    @Test func `grants restrict which documents are sent to which peer`() throws {
        let scene = PeerScene()
        let authority = try scene.key("authority.key")
        func words(_ name: String, _ rights: [String]) throws -> [String] {
            let key = try scene.key("\(name).key")
            let run = try ToolRun(
                ["grant", scene.path("authority.key"), key, "--database", "scene"] + rights)
            try run.output.write(to: URL(fileURLWithPath: scene.path("\(name).grant")))
            return ["--authority", authority, "--grant", scene.path("\(name).grant")]
        }
        let all = try words("ann", ["--all"])
        let some = try words("ben", ["--read", "cars=owner = 'ben'", "--write", "cars=false"])
        let ann = try scene.serve(
            "ann", "--listen", "127.0.0.1:0", cars[0], cars[1], all[0], all[1], all[2], all[3])
        let ben = try scene.connect(
            "ben", "--connect", try ann.address(), cars[0], cars[1], some[0], some[1], some[2],
            some[3])
        #expect(try until { try ann.status().isSettled && ben.status().isSettled })
        let written = try ann.execute(
            "INSERT INTO cars DOCUMENTS ({'_id': 'a', 'owner': 'ann'}), ({'_id': 'b', 'owner': 'ben'})"
        )
        let commit = try #require(written.first?["commit"] as? Int)
        _ = try ann.status("--wait", "\(commit)", "--peer", try ben.status().key)
        #expect(
            try ben.execute("SELECT _id FROM cars").compactMap { $0["_id"] as? String } == ["b"])
        let key = try ben.status().key
        let hidden = try ToolRun(["explain-sync", ann.store, "cars", "a", key]).lines
        #expect(hidden.contains("permitted: no, the peer's grant does not permit reading it"))
        #expect(hidden.contains("sent: no; only documents permitted to it, up to commit \(commit)"))
        // A document the peer may not write is withheld, and the connection stays open.
        let kept = try ben.execute("INSERT INTO cars DOCUMENTS ({'_id': 'c', 'owner': 'ben'})")
        let number = try #require(kept.first?["commit"] as? Int)
        #expect(try until { try ben.status().isSettled })
        let other = try ann.status().key
        let mine = try ToolRun(["explain-sync", ben.store, "cars", "c", other]).lines
        #expect(mine.contains("permitted: no, this peer's grant does not permit writing it"))
        let reason = "the grant of this peer does not permit the write"
        #expect(mine.contains("refused: \(reason)"))
        let status = try ToolRun(["sync", "status", ben.store]).lines
        #expect(status.contains("  refused: cars \"c\": \(reason)"))
        let wait = try ToolRun(
            ["sync", "status", ben.store, "--wait", "\(number)", "--peer", other])
        #expect(wait.status == 1 && wait.errors.contains("\"cars\" \"c\": \(reason)"))
        #expect(try ben.stop() == 0)
        #expect(try ann.stop() == 0)
    }

    @Test func `three processes converge after one was killed and connections were cut`() throws {
        let scene = PeerScene()
        let (batches, size) = (20, 250)
        func insert(_ batch: Int, at peer: RunningPeer) throws {
            let documents = (0..<size).map { "({'_id': 'c\(batch)-\($0)', 'n': \($0)})" }
            try peer.execute("INSERT INTO cars DOCUMENTS " + documents.joined(separator: ", "))
        }
        let secret = try scene.sharedKey()
        let options = ["--listen", "127.0.0.1:0", cars[0], cars[1], "--shared-key", secret]
        let left = try scene.serve("left", options)
        let right = try scene.serve("right", options)
        let (one, other) = (try left.address(), try right.address())
        func middle() throws -> RunningPeer {
            let peer = try scene.connect(
                "middle", "--connect", one, "--connect", other, cars[0], cars[1],
                "--shared-key", secret)
            _ = try peer.line("connected ")
            return peer
        }
        let first = try middle()
        for batch in 0..<batches / 2 { try insert(batch, at: left) }
        // The process is killed while documents pass through it.
        #expect(try until { try first.status().documents > 0 })
        try insert(batches / 2, at: left)
        #expect(try first.stop(SIGKILL) == -SIGKILL)
        #expect(try right.status().documents < batches * size)

        // The partitioned sides both write, partly to the same documents.
        for batch in batches / 2 + 1..<batches { try insert(batch, at: left) }
        try right.execute("INSERT INTO cars DOCUMENTS ({'_id': 'r', 'n': 0})")
        try left.execute("UPDATE cars SET left = true WHERE _id = 'c0-1'")
        try right.execute(
            "INSERT INTO cars DOCUMENTS ({'_id': 'c0-1', 'right': true}) ON ID CONFLICT DO MERGE")
        let second = try middle()
        let total = batches * size + 1
        #expect(try until { try agree([left, second, right], total) })
        let far = try right.status().key
        #expect(
            try until {
                let rows = try ToolRun(["peer", "list", left.store, "--json"]).objects()
                let row = rows.first { $0["peer"] as? String == far }
                return row?["state"] as? String == "reached" && row?["distance"] as? Int == 2
                    && (row?["connections"] as? [String])?.count == 1
            })
        #expect(
            try ToolRun(["peer", "list", left.store]).text.contains("reached over 2 connections"))

        // The middle peer is stopped normally this time.
        #expect(try second.stop() == 0)
        try left.execute("DELETE FROM cars WHERE _id = 'c1-1'")
        try right.execute("UPDATE cars SET n = 7 WHERE _id = 'c2-2'")
        let third = try middle()
        #expect(try until { try agree([left, third, right], total - 1) })
        for peer in [left, third, right] {
            let rows = try peer.execute("SELECT * FROM cars WHERE _id = 'c0-1'")
            #expect(rows.first?["left"] as? Bool == true && rows.first?["right"] as? Bool == true)
            #expect(try peer.stop() == 0)
            #expect(try ToolRun(["verify", peer.store]).status == 0)
        }
    }

    /// Whether all peers have the same `count` documents.
    private func agree(_ peers: [RunningPeer], _ count: Int) throws -> Bool {
        let statuses = try peers.map { try $0.status() }
        return Set(statuses.map(\.checksums)).count == 1 && statuses[0].documents == count
    }

    /// Whether a condition becomes true within three minutes.
    private func until(_ condition: () throws -> Bool) throws -> Bool {
        let deadline = RunningPeer.deadline
        while Clock.system.monotonicNanoseconds() < deadline {
            if try condition() { return true }
        }
        return false
    }
}
