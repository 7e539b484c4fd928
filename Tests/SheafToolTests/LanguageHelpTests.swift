import SheafReference
import SheafTestSupport
import Testing

/// `sheaf help` about the query language.
@Suite struct LanguageHelpTests {
    @Test func `each list of the help has a line for each entry`() throws {
        for kind in ReferenceEntry.Kind.allCases {
            let list = try ToolRun(["help", kind.plural])
            #expect(list.status == 0 && list.errors.isEmpty)
            for entry in Reference.entries(of: kind) {
                #expect(list.lines.contains { $0.hasPrefix("  \(entry.name) ") }, "\(entry.name)")
            }
        }
    }

    @Test func `the help of a name prints its entry in any case`() throws {
        let cases = [
            ("substr", "substr (function)"), ("UPDATE", "UPDATE (statement)"),
            ("update", "UPDATE (statement)"), ("ORDER BY", "ORDER BY (clause)"),
            ("order by", "ORDER BY (clause)"), ("on id conflict", "ON ID CONFLICT (clause)"),
            ("character_length", "char_length (function)"), ("||", "|| (operator)"),
            ("system:dual", "system:dual (collection)"), ("#index", "#index (directive)"),
            ("tombstone_ttl_hours", "tombstone_ttl_hours (parameter)"),
            ("arguments", "arguments (topic)"), ("statement show", "SHOW (statement)"),
        ]
        for (name, title) in cases {
            let words = name.split(separator: " ").map(String.init)
            let help = try ToolRun(["help"] + words)
            #expect(help.status == 0 && help.errors.isEmpty, "\(name): \(help.errors)")
            #expect(help.lines.first == title)
            #expect(try ToolRun(["help", name]).text == help.text)
        }
        let help = try ToolRun("help substr")
        #expect(help.text.contains("substr(text, start[, length])"))
        #expect(help.text.contains(#"substr('hello', 1, 3)  → "ell""#))
    }

    @Test func `a command precedes an entry of the same name, and mentions it`() throws {
        let help = try ToolRun("help show")
        #expect(help.text.hasPrefix("usage: sheaf show "))
        #expect(help.text.contains("the statement SHOW: sheaf help statement SHOW\n"))
        #expect(try ToolRun("help clock").text.contains("sheaf help function clock\n"))
    }

    @Test func `a mistyped name is refused with a suggestion`() throws {
        for (name, suggestion) in [("subtsr", "substr"), ("functoins", "functions")] {
            let run = try ToolRun("help \(name)")
            #expect(run.status == 64 && run.output.isEmpty)
            #expect(
                run.errors
                    == "sheaf: there is no entry '\(name)'; did you mean '\(suggestion)'?; "
                    + "see 'sheaf help'\n")
        }
    }

    @Test func `a short unknown name gets no suggestion`() throws {
        for name in ["x", "zz"] {
            let run = try ToolRun("help \(name)")
            #expect(run.status == 64 && !run.errors.contains("did you mean"), "\(run.errors)")
        }
    }

    @Test func `the help mentions the lists, and an error names its entry`() throws {
        let help = try ToolRun("help").text
        for kind in ReferenceEntry.Kind.allCases { #expect(help.contains(kind.plural)) }
        let store = try StoreOnDisk()
        let run = try ToolRun(["query", store.path, "UPDATE cars SET color > 1"])
        #expect(run.errors.hasSuffix("\nsee: sheaf help set\n"))
        let arrow = try ToolRun(["query", store.path, "UPDATE cars SET color -> x()"])
        #expect(arrow.errors.hasSuffix("\nsee: sheaf help '->'\n"))
    }
}
