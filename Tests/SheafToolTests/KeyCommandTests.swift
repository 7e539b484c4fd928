import Foundation
import SheafTestSupport
import Testing

/// The `keygen`, `grant` and `demo` commands.
@Suite struct KeyCommandTests {
    @Test func `a key file is readable by its owner only, and is never replaced`() throws {
        let scene = PeerScene()
        let key = try scene.key("a.key")
        #expect(key.hasPrefix("pk:") && key.count == 67)
        let attributes = try FileManager.default.attributesOfItem(atPath: scene.path("a.key"))
        #expect((attributes[.posixPermissions] as? NSNumber)?.intValue == 0o600)
        let before = FileManager.default.contents(atPath: scene.path("a.key"))
        let again = try ToolRun(["keygen", scene.path("a.key")])
        #expect(again.status == 1 && again.output.isEmpty)
        #expect(again.errors.contains("File exists; the file must not exist"))
        #expect(FileManager.default.contents(atPath: scene.path("a.key")) == before)
        let json = try ToolRun(["keygen", scene.path("b.key"), "--json"])
        #expect(try json.objects().first?["key"] as? String != key)
    }

    @Test
    func `the grant command prints a grant with its peer and period, and refuses invalid input`()
        throws
    {
        let scene = PeerScene()
        let authority = try scene.key("authority.key")
        let peer = try scene.key("peer.key")
        func grant(_ words: String...) throws -> ToolRun {
            try ToolRun(["grant", scene.path("authority.key")] + words)
        }
        let good = try grant(
            peer, "--database", "d", "--read", "cars=owner = 'ann'", "--write", "cars=true",
            "--days", "2", "--json")
        let object = try #require(try good.objects().first, "\(good.errors)")
        #expect(object["authority"] as? String == authority && object["peer"] as? String == peer)
        #expect((object["grant"] as? String)?.hasPrefix("grant:") == true)
        let from = try #require(object["fromMilliseconds"] as? Int)
        #expect(object["untilMilliseconds"] as? Int == from + 2 * 86_400_000)
        let cases: [(words: [String], status: Int32, complaint: String)] = [
            (["pk:12", "--database", "d", "--all"], 64, "PEER must be a public key (pk: and 64"),
            ([peer, "--all"], 64, "missing --database ID"),
            ([peer, "--database", "d"], 64, "no rights given; use --read, --write or --all"),
            (
                [peer, "--database", "d", "--all", "--read", "a=true"], 64,
                "--all includes --read and --write"
            ),
            ([peer, "--database", "d", "--read", "cars"], 64, "--read requires COLLECTION="),
            ([peer, "--database", "d", "--read", "a=1", "--read", "a=2"], 64, "sets 'a' twice"),
            (
                [peer, "--database", "d", "--write", "cars=owner ="], 64,
                "invalid condition for cars: expected an expression"
            ),
            (
                [peer, "--database", "d", "--write", "cars=true LIMIT 1"], 64,
                "LIMIT is not allowed"
            ),
            ([peer, "--database", "d", "--all", "--days", "0"], 64, "--days must be 1 to 36500"),
        ]
        for (words, status, message) in cases {
            let run = try ToolRun(["grant", scene.path("authority.key")] + words)
            #expect(run.status == status && run.output.isEmpty, "\(words)")
            #expect(run.errors.contains(message), "\(words): \(run.errors)")
        }
        let missing = try ToolRun(["grant", scene.path("no.key"), peer, "--database=d", "--all"])
        #expect(missing.status == 1 && missing.errors.contains("no.key: No such file"))
    }

    @Test(arguments: [
        (15, 0o600, "a shared key of 15 bytes; it must have 16 to 1024 random bytes"),
        (16, 0o600, ""), (1_024, 0o400, ""),
        (1_025, 0o600, "is too long; the limit is 1024 bytes"),
        (32, 0o640, "other users can access "), (32, 0o601, "other users can access "),
    ])
    func `a shared key has 16 to 1,024 bytes, which only its owner can read`(
        _ length: Int, _ mode: Int, _ refusal: String
    ) throws {
        let scene = PeerScene()
        _ = try scene.key("a.key")
        try Data(repeating: 7, count: length).write(
            to: URL(fileURLWithPath: scene.path("shared")))
        try FileManager.default.setAttributes(
            [.posixPermissions: mode], ofItemAtPath: scene.path("shared"))
        let run = try ToolRun([
            "peer", "serve", scene.path("ann"), "--database", "d", "--key", scene.path("a.key"),
            "--shared-key", scene.path("shared"), "--listen", "nowhere",
        ])
        #expect(run.status == 1 && run.output.isEmpty)
        // A key that is accepted leads to the next error.
        #expect(run.errors.contains(refusal.isEmpty ? "nowhere" : refusal), "\(run.errors)")
        #expect(run.errors.contains("nowhere") == refusal.isEmpty, "\(run.errors)")
    }

    @Test func `a key or grant that is no regular file is refused`() throws {
        let scene = PeerScene()
        _ = try scene.key("a.key")
        let directory = scene.directory.path
        for words in [
            ["--shared-key", directory],
            ["--authority", "pk:" + String(repeating: "0", count: 64), "--grant", directory],
        ] {
            let run = try ToolRun(
                [
                    "peer", "serve", scene.path("ann"), "--database", "d", "--key",
                    scene.path("a.key"), "--listen", "127.0.0.1:0",
                ] + words)
            #expect(run.status == 1)
            #expect(run.errors.hasSuffix("\(directory) is not a regular file\n"), "\(run.errors)")
        }
    }
}
