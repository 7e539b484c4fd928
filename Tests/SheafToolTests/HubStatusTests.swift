import Testing

/// The output of `sheaf hub status` for the answer of a hub.
@Suite struct HubStatusTests {
    private func status(of answer: String, _ words: String...) throws -> ToolRun {
        try PeerDouble(answering: ["=" + answer, "."], ["hub", "status"], words).run
    }

    private let ready =
        #"{"isReady":true,"commit":5,"hubDurableCommit":5,"clients":2,"unacknowledged":1}"#

    /// A hub with all kinds of problems.
    private let troubled = """
        {"isReady":false,"reasons":["the disk is full"],"commit":9,"hubDurableCommit":7,\
        "lagMilliseconds":40,"clients":0,"unacknowledged":3,"heldMilliseconds":20,\
        "pendingBytes":100,"unstoredFiles":2,"fileFailure":"no space",\
        "shards":[{"shard":1,"read":4,"stored":3,"unstoredMessages":2,"unstoredBytes":60}],\
        "hubs":[{"hub":"a","isLive":true,"isReady":true,"clients":1},\
        {"hub":"b","isLive":true,"isDraining":true,"isReady":true,"clients":0},\
        {"hub":"c","isLive":true,"clients":0},\
        {"isLive":false,"silentMilliseconds":5500,"clients":0}]}
        """

    @Test func `a ready hub has three lines`() throws {
        let run = try status(of: ready)
        #expect(run.status == 0, "\(run.errors)")
        #expect(
            run.lines == [
                "ready", "commit 5, hub-durable up to 5",
                "2 connections, 1 batches not acknowledged",
            ])
    }

    @Test func `a hub that is not ready names the reasons, its shards and the other hubs`() throws {
        let run = try status(of: troubled)
        #expect(run.status == 1)
        #expect(
            run.lines == [
                "not ready", "  the disk is full", "commit 9, hub-durable up to 7 (lag 40 ms)",
                "0 connections, 3 batches not acknowledged",
                "clients are held for 20 ms: 100 bytes of their documents are not hub-durable",
                "2 attachments are not known to be in the engine", "attachments: no space",
                "shard 1: read to entry 4, stored to 3; 2 messages (60 bytes) not stored by the "
                    + "engine",
                "hub a ready with 1 connections", "hub b draining with 0 connections",
                "hub c not ready with 0 connections",
                "hub unknown silent for 5 s with 0 connections",
            ])
    }

    @Test func `with --json, the answer of the hub is printed unchanged`() throws {
        for (answer, code) in [(ready, 0 as Int32), (troubled, 1)] {
            let run = try status(of: answer, "--json")
            #expect(run.status == code, "\(run.errors)")
            #expect(run.text == answer + "\n")
        }
    }
}
