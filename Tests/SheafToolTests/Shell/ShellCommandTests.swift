import Foundation
import SheafTestSupport
import Testing

/// Dot commands and errors.
@Suite struct ShellCommandTests {
    private func shell() throws -> ShellScene { try ShellScene(columns: 160, rows: 100) }

    @Test func `the help lists each command, and describes it`() throws {
        let shell = try shell()
        let overview = try shell.enter(".help")
        let names = [
            ".help", ".open", ".collections", ".fields", ".indexes", ".mode", ".timer", ".explain",
            ".profile", ".watch", ".log", ".show", ".blame", ".peers", ".subscriptions", ".params",
            ".read", ".output", ".quit", ".release",
        ]
        for name in names {
            #expect(
                overview.contains("\n  \(name) ") || overview.contains("\n  \(name)"), "\(name)")
        }
        for name in names {
            #expect(try shell.enter(".help \(name)").hasPrefix(name), "\(name)")
        }
        #expect(try shell.enter(".help mode").hasPrefix(".mode [MODE]"))
        #expect(try shell.enter(".help substr").contains("substr("))
        #expect(try shell.enter(".help functions").contains("substr"))
        #expect(try shell.enter(".help sbustr").contains("did you mean 'substr'?"))
    }

    @Test func `collections, fields and indexes are listed`() throws {
        let shell = try shell()
        let collections = try shell.enter(".collections")
        #expect(collections.contains("│ cars   │        24 │"), "\(collections)")
        #expect(try shell.enter(".tables").contains("owners"))
        let fields = try shell.enter(".fields cars")
        #expect(fields.contains("│ mileage      │ integer │ 100 %"), "\(fields)")
        #expect(fields.contains("│ owner        │ string  │ 75 %"), "\(fields)")
        #expect(fields.contains("place.city"))
        #expect(!fields.contains("sample"))
        #expect(try shell.enter(".fields").contains("trips"))
        #expect(
            try shell.enter(".fields crs").contains(
                "there is no collection 'crs'; did you mean 'cars'?"))
        #expect(try shell.enter(".indexes").contains("trips_by_car"))
        #expect(try shell.enter(".indexes cars").contains("note: there are no indexes"))
    }

    @Test func `the fields of a large collection come from a sample, as a note reports`() throws {
        let shell = try shell()
        let numbers = (0..<1_500).map { "({'_id': \($0), \($0 < 750 ? "'early'" : "'late'"): 1})" }
        let file = shell.directory.path("file")
        try Data("INSERT INTO large DOCUMENTS \(numbers.joined(separator: ","));".utf8)
            .write(to: URL(fileURLWithPath: file))
        try shell.enter(".read '\(file)'")
        let fields = try shell.enter(".fields large")
        #expect(
            fields.contains("note: from a sample: 1000 of 1500 documents of large"), "\(fields)")
        #expect(fields.contains("early") && fields.contains("late") && fields.contains("50 %"))
    }

    @Test func `commands switch the mode, the timer and plans`() throws {
        let shell = try shell()
        let statement = "SELECT make FROM cars LIMIT 1;"
        try shell.enter(".mode jsonl")
        #expect(try shell.enter(".mode") == "jsonl")
        #expect(try shell.enter(statement) == "{\"make\":\"Volvo\"}")
        #expect(try shell.enter(".mode jsn").contains("did you mean"))
        try shell.enter(".timer on")
        #expect(try shell.enter(statement).contains("plan and run "))
        try shell.enter(".timer off")
        #expect(try !shell.enter(statement).contains("plan and run "))
        #expect(try shell.enter(".timer of").contains("expected on or off, not 'of'"))
        try shell.enter(".mode box")
        try shell.enter(".explain on")
        let plan = try shell.enter(statement)
        #expect(plan.contains("scan") && !plan.contains("Volvo"), "\(plan)")
        try shell.enter(".explain off")
        #expect(try shell.enter(statement).contains("Volvo"))
        #expect(try shell.enter(".explain \(statement)").contains("scan"))
        #expect(try shell.enter(".profile \(statement)").contains("Volvo"))
        let settings = try shell.enter(".settings")
        #expect(settings.contains("explain  off") && settings.contains("the scratch store"))
    }

    @Test func `.params sets, prints and removes the values of parameters`() throws {
        let shell = try shell()
        let statement = "SELECT COUNT(*) AS n FROM cars WHERE color = :color;"
        #expect(try shell.enter(statement).contains("color"))
        try shell.enter(".params color \"blue\"")
        #expect(try shell.enter(statement).contains("6"))
        #expect(try shell.enter(".params").contains("\"blue\""))
        #expect(try shell.enter(".params color blue").contains("is not valid JSON"))
        try shell.enter(".params :color \"red\"")
        let replaced = try shell.enter(".params")
        #expect(replaced.contains("\"red\"") && !replaced.contains("\"blue\""), "\(replaced)")
        try shell.enter(".params color")
        #expect(try shell.enter(".params").contains("no parameter has a value"))
        try shell.enter(".params color 1")
        try shell.enter(".params clear")
        #expect(try shell.enter(".params").contains("no parameter has a value"))
        #expect(try shell.enter(".params color").contains("has no value"))
    }

    @Test func `peers and subscriptions are explained`() throws {
        let shell = try shell()
        #expect(try shell.enter(".peers").contains("this shell runs no peer"))
        #expect(try shell.enter(".subscriptions").contains("this shell runs no peer"))
    }

    @Test func `.cd changes the directory in which .system runs programs`() throws {
        let shell = try shell()
        try shell.enter(".cd '\(shell.directory.path(""))'")
        #expect(try shell.enter(".system pwd").contains(shell.directory.path("").dropLast()))
        #expect(try shell.enter(".system exit 3").contains("exit code 3"))
        #expect(try shell.enter(".cd missing").contains("cannot enter missing: No such file"))
        #expect(try shell.enter(".print 'two  words' x") == "two  words x")
    }

    // MARK: Errors

    @Test func `a caret marks the position of an error, whose help is named`() throws {
        let shell = try shell()
        let lines = try shell.enter("SELECT * FRM cars;").split(separator: "\n").map(String.init)
        let line = try #require(lines.firstIndex { $0.contains("SELECT * FRM cars") })
        let caret = try #require(lines[line + 1].firstIndex(of: "^"))
        #expect(lines[line][caret...].hasPrefix("FRM"), "\(lines)")
        #expect(lines.contains { $0.hasPrefix("see: .help ") }, "\(lines)")
    }

    @Test func `an error in a later line marks that line`() throws {
        let shell = try shell()
        try shell.enter("SELECT *", prompt: "  ...> ")
        try shell.enter("FROM cars", prompt: "  ...> ")
        let answer = try shell.enter("WHRE color = 'blue';")
        #expect(answer.contains("line 3, column 1") && answer.contains("  WHRE color"), "\(answer)")
    }

    @Test func `an error ends its line, and the shell continues`() throws {
        let shell = try shell()
        let answer = try shell.enter("SELEC 1; SELECT 'after' AS x FROM system:dual;")
        #expect(answer.contains("did you mean SELECT?") && !answer.contains("│ after"), "\(answer)")
        #expect(try shell.enter("SELECT 'after' AS x FROM system:dual;").contains("│ after"))
    }

    @Test func `a misspelled command gets a suggestion, and an extra argument is refused`() throws {
        let shell = try shell()
        #expect(
            try shell.enter(".colections").contains(
                "unknown command '.colections'; did you mean '.collections'?"))
        #expect(try shell.enter(".collections x").contains("unexpected argument 'x'"))
        #expect(try shell.enter(".read").contains("usage: .read FILE"))
        #expect(try shell.enter(".read 'a").contains("the closing quote ' is missing"))
        #expect(try shell.enter(".coll;").contains("cars"))
    }
}
