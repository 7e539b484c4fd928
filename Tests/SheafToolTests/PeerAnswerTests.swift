import Testing

/// Tests of what the tool sends to a running peer, and prints for its answers.
@Suite struct PeerAnswerTests {
    private let status = """
        {"commit":9,"subscriptions":[{"query":"SELECT * FROM a","checksum":"c1"},{"query":"b"}],\
        "peers":[{"peer":"A","isConnected":true,"syncedUpTo":7,"isReceived":false,\
        "receiving":{"documents":3,"remaining":4},"sending":{"documents":5},"isSent":false},\
        {"peer":"B","isConnected":true,"isReceived":true,"isSent":true,"lastCloseReason":"old",\
        "clock":["late"]},{"peer":"C","isConnected":false,"syncedUpTo":0,"isSent":true,\
        "receiving":{"documents":1},"lastCloseReason":"cut"},\
        {"peer":"D","lastCloseReason":null},{"name":"no key"}],\
        "unreachable":[{"address":"h:1","reason":"no route","attempts":3,\
        "lastAttemptMilliseconds":1500,"nextAttemptMilliseconds":61000},{"address":"h:2"}]}
        """

    @Test func `the status has a line for each subscription, peer and address`() throws {
        let double = try PeerDouble(answering: ["=" + status, "."], ["sync", "status"])
        #expect(double.run.status == 0, "\(double.run.errors)")
        #expect(double.request == #"{"do":"status"}"#)
        #expect(
            double.run.lines == [
                "commit 9", "checksum c1 of SELECT * FROM a",
                "A connected, has commit 7, receiving documents (3 of 7), not all received, "
                    + "sending documents (5), not all sent",
                "B connected, has no commit, all received, all sent", "  clock: late",
                "C disconnected, has commit 0; cut", "D disconnected, has no commit",
                "h:1 unreachable: no route; attempt 3 at 1970-01-01T00:00:01.500Z, next at "
                    + "1970-01-01T00:01:01.000Z",
            ])
    }

    @Test func `a wait names its commit, its peer and its time limit`() throws {
        let double = try PeerDouble(
            answering: ["=" + status, "."], ["sync", "status"],
            ["--wait", "7", "--peer", "A", "--timeout", "3", "--json"])
        #expect(double.run.text == status + "\n", "\(double.run.errors)")
        #expect(
            double.request == #"{"commit":7,"do":"status","peer":"A","timeoutSeconds":3}"#)
        for option in ["--peer", "--timeout"] {
            let run = try ToolRun(["sync", "status", "none", option, "3"])
            #expect(run.status == 64 && run.output.isEmpty)
            #expect(run.errors.contains("\(option) requires --wait COMMIT"), "\(run.errors)")
        }
    }

    @Test(arguments: [1, 16, 17, 20])
    func `the status has at most 16 refused documents of a peer`(count: Int) throws {
        var writes = (1...count).map { #"{"collection":"a","id":\#($0),"reason":"r"}"# }
        writes[0] = "{}"
        let answer =
            #"={"peers":[{"peer":"A","refused":["#
            + writes.joined(separator: ",") + "]}]}"
        let run = try PeerDouble(answering: [answer, "."], ["sync", "status"]).run
        var expected = ["commit 0", "A disconnected, has no commit", "  refused"]
        for number in 2..<(min(count, 16) + 1) { expected.append("  refused: a \(number): r") }
        if count > 16 {
            expected.append("  refused: \(count - 16) more; see system:refused_writes")
        }
        #expect(run.lines == expected, "\(run.errors)")
    }

    @Test func `a list has a line for each peer and each address`() throws {
        let answer = [
            #"={"peer":"A","name":"ann","isServer":true,"state":"connected","address":"h:1","#
                + #""isOutgoing":true}"#,
            #"={"peer":"B","name":"","state":"reached","distance":3}"#,
            #"={"address":"h:2","state":"unreachable","reason":"no route"}"#, "=[1]",
            #"={"peer":"C","state":"connecting","distance":2,"reason":""}"#, ".", "={}",
        ]
        let double = try PeerDouble(answering: answer, ["peer", "list"])
        #expect(double.request == #"{"do":"list"}"#)
        #expect(
            double.run.lines == [
                #"A "ann" (server) connected to h:1"#, "B reached over 3 connections",
                "unknown unreachable from h:2: no route", "C connecting",
            ], "\(double.run.errors)")
    }

    @Test func `an answer may be an error, incomplete or invalid`() throws {
        let cases: [(answer: [String], status: Int32, message: String)] = [
            ([#"!{"code":64,"message":"the first"}"#], 64, "the first"),
            ([#"!{"code":3,"message":"the second"}"#], 3, "the second"),
            ([#"!{"code":1,"message":"the third"}"#], 1, "the third"),
            ([#"!{"code":99,"message":"the fourth"}"#], 1, "the fourth"),
            ([#"!{"code":"1","message":"the fifth"}"#], 1, "the peer sent an invalid response"),
            (["!"], 1, "the peer sent an invalid response"),
            (["#note", "={}"], 1, "stopped before it had responded"),
            (["."], 1, "sent no response"), (["=1", "."], 1, "sent no response"),
        ]
        for (answer, status, message) in cases {
            let run = try PeerDouble(answering: answer, ["sync", "status"]).run
            #expect(run.status == status && run.output.isEmpty, "\(answer)")
            #expect(run.errors.contains(message), "\(answer): \(run.errors)")
        }
    }

    @Test func `a statement has its text and its arguments, and prints rows and notes`() throws {
        let double = try PeerDouble(
            answering: [#"={"a":1}"#, "#a note", #"={"a":2}"#, "."], ["peer", "execute"],
            ["SELECT :n", "--arg", "n=7"])
        #expect(double.run.status == 0)
        #expect(double.run.lines == [#"{"a":1}"#, #"{"a":2}"#])
        #expect(double.run.errors.contains("a note"))
        #expect(
            double.request == #"{"arguments":{"n":7},"do":"execute","statement":"SELECT :n"}"#)
    }

    // MARK: Explanations

    private func explanation(_ answer: String) throws -> [String] {
        let run = try PeerDouble(
            answering: ["=" + answer, "."], ["explain-sync"], ["cars", "7", "A"]
        ).run
        #expect(run.status == 0, "\(run.errors)")
        return run.lines
    }

    @Test func `an explanation compares what was sent with the document`() throws {
        let double = try PeerDouble(
            answering: [
                """
                ={"document":"present","commit":5,"isConnected":true,"queries":2,\
                "matching":["q1","q2"],"isShared":true,"mayRead":true,"maySend":true,\
                "sentUpTo":5,"acknowledgedUpTo":4}
                """, ".",
            ], ["explain-sync"], ["cars", "7", "A"])
        #expect(
            double.request == #"{"collection":"cars","do":"explain","id":"7","peer":"A"}"#)
        #expect(
            double.run.lines == [
                "document: present, last changed by commit 5", "connected: yes",
                "matched: q1; q2", "permitted: yes", "sent: yes, up to commit 5",
                "acknowledged: up to commit 4 only",
            ])
    }

    @Test func `an explanation says what the subscriptions and the rights prevent`() throws {
        #expect(
            try explanation(
                """
                {"document":"missing","isConnected":false,"lastCloseReason":"cut","sentUpTo":3,\
                "isShared":false,"scope":"local","mayRead":true,"maySend":true}
                """) == [
                    "document: missing", "connected: no; cut",
                    "matched: unknown: the peer has not sent its subscriptions",
                    "permitted: no, the collection has the sync scope local",
                    "sent: its subscribed documents, up to commit 3",
                    "acknowledged: unknown until the peer sends its subscriptions",
                ])
        #expect(
            try explanation(
                """
                {"document":"present","commit":2,"queries":1,"isShared":true,"mayRead":false,\
                "maySend":true,"sentUpTo":9}
                """) == [
                    "document: present, last changed by commit 2", "connected: no",
                    "matched: by none of its 1 query",
                    "permitted: no, the peer's grant does not permit reading it",
                    "sent: no; only documents permitted to it, up to commit 9",
                    "acknowledged: no",
                ])
        #expect(
            try explanation(
                """
                {"document":"present","commit":2,"queries":2,"isShared":true,"mayRead":true,\
                "maySend":false,"matching":["q"],"sentUpTo":9}
                """
            ).suffix(3) == [
                "permitted: no, this peer's grant does not permit writing it",
                "sent: no; only documents permitted to it, up to commit 9", "acknowledged: no",
            ])
    }

    @Test func `an explanation names deletions, evictions, refusals and clocks`() throws {
        let rights = #""isShared":true,"mayRead":true,"maySend":true,"queries":2"#
        let matched = [
            ("missing", "no such document"), ("evicted", "an evicted document is not sent"),
            ("deleted", "a deletion is sent to peers that received the document"),
            ("present", "by none of its 2 queries"),
        ]
        for (presence, text) in matched {
            let lines = try explanation(
                #"{"document":"\#(presence)","commit":5,"sentUpTo":5,\#(rights)}"#)
            try #require(lines.count == 6)
            let sent = presence == "present" ? "no; only documents permitted to it" : "yes"
            #expect(lines[2] == "matched: " + text)
            #expect(lines[4] == "sent: \(sent), up to commit 5")
        }
        let lines = try explanation(
            """
            {"document":"present",\(rights),"refused":"a rule","clock":["slow","late"],\
            "quarantinedUntilMilliseconds":1}
            """)
        #expect(lines.dropFirst(6).prefix(3) == ["refused: a rule", "clock: slow", "clock: late"])
        #expect(lines.count == 10 && lines[9].hasPrefix("quarantined: the peer's version is"))
    }
}
