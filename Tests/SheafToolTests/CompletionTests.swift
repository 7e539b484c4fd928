import Foundation
import SheafTestSupport
import Testing

/// The completion scripts and the manual page, which come from the tables of the help.
@Suite struct CompletionTests {
    /// Returns the options of a command, from its help.
    private func options(_ command: String) throws -> [String] {
        let lines = try ToolRun("help \(command)").lines
        let start = try #require(lines.firstIndex(of: "options:"))
        return lines[(start + 1)...].prefix { $0.hasPrefix("  -") }.compactMap {
            $0.split(separator: " ").first { $0.hasPrefix("--") }.map(String.init)
        }
    }

    /// Returns all commands, from the help.
    private func commands() throws -> [String] {
        let lines = try ToolRun("help").lines
        let start = try #require(lines.firstIndex(of: "commands:"))
        return lines[(start + 1)...].prefix { $0.hasPrefix("  ") }.compactMap { line in
            line.dropFirst(2).range(of: "  ").map { String(line.dropFirst(2)[..<$0.lowerBound]) }
        }
    }

    /// Returns the completions of bash for the last of these words.
    private func complete(_ words: String...) throws -> [String] {
        let directory = TemporaryDirectory()
        let path = directory.path("work")
        let script = """
            mkdir -p '\(path)/stores dir' && cd '\(path)' && touch stores.txt
            exec bash --norc -c '
                eval "$("$0" completions bash)"
                COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
                _sheaf
                printf "%s\\n" "${COMPREPLY[@]}"
            ' "$0" \(words.map { "'\($0)'" }.joined(separator: " "))
            """
        let run = try ToolRun(script: script)
        #expect(run.status == 0 && run.errors.isEmpty, "\(words): \(run.errors)")
        return run.lines
    }

    @Test func `the scripts are printed, and an unknown shell is refused`() throws {
        for shell in ["bash", "zsh", "fish"] {
            let run = try ToolRun("completions \(shell)")
            #expect(run.status == 0 && run.errors.isEmpty && run.text.contains("sheaf"))
        }
        let run = try ToolRun("completions fishy")
        #expect(
            run.status == 64 && run.errors.contains("unknown shell 'fishy'; did you mean 'fish'?"))
        #expect(run.errors.contains("the shells are bash, zsh, fish"))
    }

    @Test func `each script has each command and each of its options`() throws {
        let commands = try commands()
        #expect(commands.count > 18 && commands.contains("peer serve"))
        let scripts = try ["bash", "zsh", "fish"].map { try ToolRun("completions \($0)").text }
        for command in commands {
            let options = try options(command)
            #expect(options.contains("--help"))
            for option in options {
                #expect(scripts[0].contains(option) && scripts[1].contains(option), "\(command)")
                #expect(scripts[2].contains(" -l \(option.dropFirst(2)) "), "\(command)")
            }
            let last = command.split(separator: " ").last ?? ""
            #expect(scripts[1].contains("\n") && scripts[1].contains("\(last)) _arguments"))
            #expect(scripts[2].contains(" -a \(last) -d "))
            let first = command.prefix { $0 != " " }
            #expect(scripts[1].contains("\n        '\(first):"))
            #expect(scripts[2].contains(" -n __fish_use_subcommand -a \(first) -d "))
        }
    }

    @Test func `shells accept their scripts`() throws {
        for (shell, path) in [
            ("bash", "/bin/bash"), ("zsh", "/usr/bin/zsh"), ("fish", "/usr/bin/fish"),
        ] where FileManager.default.isExecutableFile(atPath: path) {
            let run = try ToolRun(script: "\"$0\" completions \(shell) | \(path) -n")
            #expect(run.status == 0 && run.errors.isEmpty, "\(shell): \(run.errors)")
        }
        // Quotes are balanced in the scripts of shells that may be missing.
        for shell in ["zsh", "fish"] {
            let text = try ToolRun("completions \(shell)").text
            let quotes = text.replacing("'\\''", with: "").replacing("\\'", with: "")
                .split(separator: "\n").filter { !$0.hasPrefix("#") }
            #expect(quotes.allSatisfy { line in line.count { $0 == "'" }.isMultiple(of: 2) })
        }
    }

    @Test func `bash completes commands and words of commands`() throws {
        #expect(try complete("sheaf", "qu") == ["query"])
        #expect(try complete("sheaf", "s") == ["shell", "show", "salvage", "stats", "sync"])
        #expect(try complete("sheaf", "--v") == ["--version"])
        #expect(try complete("sheaf", "peer", "") == ["serve", "connect", "list", "execute"])
        #expect(try complete("sheaf", "peer", "se") == ["serve"])
        #expect(try complete("sheaf", "sync", "") == ["status"])
        #expect(try complete("sheaf", "completions", "z") == ["zsh"])
        #expect(try complete("sheaf", "help", "fun") == ["functions"])
        #expect(try complete("sheaf", "help", "to") == ["topics", "tour"])
        #expect(try complete("sheaf", "unknown", "") == [])
    }

    @Test func `bash completes options, and values with or without an equals sign`() throws {
        #expect(try complete("sheaf", "query", "--ex") == ["--explain"])
        #expect(try complete("sheaf", "query", "p", "s", "--no") == ["--no-color", "--no-pager"])
        #expect(try complete("sheaf", "peer", "list", "--") == ["--json", "--help"])
        #expect(try complete("sheaf", "query", "--mode", "js") == ["json", "jsonl"])
        #expect(try complete("sheaf", "query", "--mode", "=", "t") == ["table", "tsv"])
        #expect(
            try complete("sheaf", "watch", "--mode", "=") == [
                "box", "table", "markdown", "line", "jsonl",
            ])
        #expect(try complete("sheaf", "query", "--color", "n") == ["never"])
        #expect(
            try complete("sheaf", "import", "p", "c", "f", "--format", "") == [
                "jsonl", "json", "csv", "sqlite",
            ])
        #expect(try complete("sheaf", "export", "p", "--format", "m") == ["markdown"])
        #expect(try complete("sheaf", "import", "--on-conflict", "n") == ["nothing"])
        #expect(try complete("sheaf", "log", "--since", "") == [])
        // After --, a word that starts with a dash is an operand.
        #expect(try complete("sheaf", "query", "--", "--ex") == [])
    }

    @Test func `bash completes short options, and the shell after a path`() throws {
        let files = ["stores dir", "stores.txt"]
        #expect(try complete("sheaf", "shell", "-f", "st").sorted() == files)
        #expect(try complete("sheaf", "shell", "-c", "text", "st") == ["stores dir"])
        #expect(try complete("sheaf", "cars.sheaf", "--mo") == ["--mode"])
        #expect(try complete("sheaf", "./cars", "--mode", "js") == ["json", "jsonl"])
        #expect(try complete("sheaf", "cars.sheaf", "st") == [])
    }

    @Test func `bash completes stores and files where they are expected`() throws {
        #expect(try complete("sheaf", "query", "st") == ["stores dir"])
        #expect(try complete("sheaf", "query", "--mode", "box", "st") == ["stores dir"])
        #expect(try complete("sheaf", "query", "--mode", "=", "box", "st") == ["stores dir"])
        #expect(try complete("sheaf", "query", "stores dir", "st") == [])
        #expect(
            try complete("sheaf", "salvage", "old", "st").sorted() == ["stores dir", "stores.txt"])
        #expect(
            try complete("sheaf", "peer", "serve", "--key", "st").sorted()
                == ["stores dir", "stores.txt"])
        #expect(try complete("sheaf", "sync", "status", "--json", "st") == ["stores dir"])
    }

    @Test func `the manual page has each command, option and exit code`() throws {
        let page = try ToolRun("man")
        #expect(page.status == 0 && page.text.hasPrefix(".TH SHEAF 1 "))
        for command in try commands() {
            #expect(page.text.contains(".SS \"sheaf \(command.replacing("-", with: "\\-"))\""))
            for option in try options(command) {
                #expect(page.text.contains(option.replacing("-", with: "\\-")), "\(option)")
            }
        }
        for code in ["0", "1", "3", "64"] { #expect(page.text.contains("\n.TP\n\(code)\n")) }
        for name in ["SHEAF_PAGER", "PAGER", "NO_COLOR", "SIGINT"] {
            #expect(page.text.contains(name))
        }
        // A line of text must not start a request.
        let requests: Set = ["TH", "SH", "SS", "TP", "PP", "B", "br", "EX", "EE"]
        for line in page.lines where line.hasPrefix(".") {
            let name = line.dropFirst().prefix { $0 != " " }
            #expect(requests.contains(String(name)), "\(line)")
        }
        // Examples, and nothing else, are indented; they end before the next section.
        var isExample = false
        for line in page.lines {
            if line == ".EX" || line == ".EE" {
                #expect(isExample == (line == ".EE"), "\(line)")
                isExample = line == ".EX"
            } else if line.hasPrefix(".") {
                #expect(!isExample, "\(line)")
            } else {
                #expect(line.hasPrefix("  ") == isExample, "\(line)")
            }
        }
        #expect(page.text.contains("\n.EX\n"))
    }

    @Test(arguments: ["keygen", "query", "sync status"])
    func `the manual page has the texts of the help`(command: String) throws {
        let page = try ToolRun("man").text
        let start = try #require(page.firstRange(of: ".SS \"sheaf \(command)\"\n"))
        let rest = page[start.upperBound...]
        let section = rest[..<(rest.firstRange(of: "\n.S")?.lowerBound ?? rest.endIndex)]
        let characters = [
            ("\\&", ""), ("\\fB", ""), ("\\fI", ""), ("\\fR", ""), ("\\-", "-"),
            ("\\(dq", "\""), ("\\(aq", "'"), ("\\(ga", "`"), ("\\(ha", "^"), ("\\(ti", "~"),
            ("\\e", "\\"),
        ]
        let lines = section.split(separator: "\n").filter { !$0.hasPrefix(".") }.map { line in
            characters.reduce(String(line)) { $0.replacing($1.0, with: $1.1) }
        }
        let help = try ToolRun("help " + command).lines
        let details = try #require(help.firstIndex { $0.hasPrefix("  --help") })
        let summary = try #require(help.first { !$0.hasPrefix("usage:") && !$0.hasPrefix(" ") })
        #expect(lines.first == summary)
        #expect(lines.suffix(help.count - details - 1) == help.dropFirst(details + 1))
    }

    @Test(.enabled(if: FileManager.default.isExecutableFile(atPath: "/usr/bin/groff")))
    func `groff has no warnings on the manual page, and shows its texts`() throws {
        // Bold characters are printed twice, and spaces fill the lines.
        let run = try ToolRun(
            script: """
                "$0" man | GROFF_NO_SGR=1 /usr/bin/groff -man -ww -Tutf8 |
                    sed 's/.\\x08//g' | tr -s ' '
                """)
        #expect(run.status == 0 && run.errors.isEmpty, "\(run.errors)")
        for text in [
            "sheaf query PATH STATEMENT [option]...",
            "sheaf import PATH [COLLECTION] FILE [option]",
            "sheaf diff A B [COLLECTION]... [option]...", "-f, --file FILE", #"null is \N"#,
            "NO_COLOR",
            "sheaf man > sheaf.1 && man -l sheaf.1",
        ] {
            #expect(run.text.contains(text), "\(text)")
        }
    }
}
