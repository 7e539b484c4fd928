import SheafDocument
import Testing

/// Standard output that cannot be written.
@Suite struct OutputTests {
    private let all = "SELECT * FROM cars"

    private func cars() throws -> QueryCommandStore {
        try QueryCommandStore("cars", [("a", ["n": 1]), ("b", ["n": 2])])
    }

    @Test func `a full disk ends each command with an error`() throws {
        let store = try cars()
        for command in [
            "query \"$STORE\" '\(all)'", "watch \"$STORE\" '\(all)'",
            "log \"$STORE\" --follow --since 0", "help",
        ] {
            let run = try store.script("\"$0\" \(command) > /dev/full")
            #expect(run.status == 1, "\(command)")
            #expect(
                run.errors
                    == "sheaf: cannot write to standard output: No space left on device\n",
                "\(command)")
        }
    }

    @Test func `without standard output, no data is written to a file of the store`() throws {
        let store = try cars()
        for command in [
            "query \"$STORE\" '\(all)'", "watch \"$STORE\" '\(all)'",
            "log \"$STORE\" --follow --since 0",
            "query \"$STORE\" \"INSERT INTO cars DOCUMENTS ({'n': 3}) RETURNING *\"",
            "\"$STORE\" -c \"UPDATE cars SET n = 4\" -c '\(all)'",
        ] {
            let run = try store.script("\"$0\" \(command) >&-")
            #expect(run.status == 1, "\(command)")
            #expect(
                run.errors == "sheaf: cannot write to standard output: Bad file descriptor\n",
                "\(command)")
        }
        #expect(try ToolRun(["verify", store.path]).status == 0)
        let rows = try store.query("SELECT COUNT(*) AS n FROM cars WHERE n > 2", "--json")
        #expect(rows.text == "{\"n\":3}\n")
    }

    @Test func `without standard input, a statement of - is refused`() throws {
        let run = try cars().script("\"$0\" query \"$STORE\" - <&-")
        #expect(run.status == 1 && run.output.isEmpty)
        #expect(run.errors == "sheaf: cannot read standard input: Bad file descriptor\n")
    }

    @Test func `without standard error, messages are discarded and data is printed`() throws {
        let run = try cars().script("\"$0\" query \"$STORE\" '\(all)' --json --timer 2>&-")
        #expect(run.status == 0 && run.lines.count == 2 && run.errors.isEmpty)
    }
}
