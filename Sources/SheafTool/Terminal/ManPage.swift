import SheafSystem

/// The manual page of the tool in roff, from the tables of the help.
struct ManPage {
    let commands: [Command]

    /// The page, for `man -l`.
    var text: String {
        var lines = [
            ".TH SHEAF 1 \"\" \"sheaf \(SheafVersion.current)\" \"User Commands\"",
            ".SH NAME",
            "sheaf \\- query, inspect, verify and repair Sheaf stores, and sync them with peers",
            ".SH SYNOPSIS",
        ]
        for command in commands { lines += synopsis(command) }
        lines += [
            ".SH DESCRIPTION",
            "Data goes to standard output, messages to standard error.",
            "A word \\-\\- ends the options.",
            ".SH COMMANDS",
        ]
        for command in commands { lines += section(command) }
        lines.append(".SH \"EXIT STATUS\"")
        for code in ExitCode.allCases {
            lines += [".TP", "\(code.rawValue)", Self.escaped(code.summary)]
        }
        lines += [".PP"] + ExitCode.interruption.split(separator: "\n").map { Self.line($0) }
        lines.append(".SH ENVIRONMENT")
        for variable in EnvironmentVariable.all {
            lines += [".TP", ".B \(variable.name)", Self.escaped(variable.summary)]
        }
        return lines.joined(separator: "\n")
    }

    private func synopsis(_ command: Command) -> [String] {
        let operands = command.operandSynopsis.map { " " + Self.operand($0) }.joined()
        let options = command.options.isEmpty ? "" : " [\\fIoption\\fR]..."
        return [
            ".B sheaf \(Self.escaped(command.name))",
            Self.line("\(operands)\(options)".drop { $0 == " " }, isEscaped: true), ".br",
        ]
    }

    /// Returns an operand of the synopsis with its placeholder in italics, such as `[PATH]...`.
    private static func operand(_ text: String) -> String {
        let name = text.drop { $0 == "[" }.prefix { $0 != "]" && $0 != "." }
        guard name.count < text.count else { return "\\fI\(escaped(name))\\fR" }
        let rest = text.drop { $0 == "[" }.dropFirst(name.count)
        return "[\\fI\(escaped(name))\\fR\(rest)"
    }

    private func section(_ command: Command) -> [String] {
        var lines = [".SS \"sheaf \(Self.escaped(command.name))\""]
        let summary = command.summary.prefix(1).uppercased() + command.summary.dropFirst() + "."
        lines.append(Self.line(summary))
        for option in command.allOptions {
            let short = option.letter.map { "\\fB\\-\($0)\\fR, " } ?? ""
            let value = option.value.map { " \\fI\(Self.escaped($0))\\fR" } ?? ""
            lines += [
                ".TP", short + "\\fB\\-\\-\(Self.escaped(option.name))\\fR\(value)",
                Self.line(option.summary.prefix(1).uppercased() + option.summary.dropFirst() + "."),
            ]
        }
        var isExample = false
        lines.append(".PP")
        for line in command.details.split(separator: "\n", omittingEmptySubsequences: false) {
            let isIndented = line.hasPrefix("  ")
            if isIndented != isExample, !line.isEmpty {
                lines.append(isIndented ? ".EX" : ".EE")
                isExample = isIndented
            }
            guard !line.isEmpty else {
                if !isExample { lines.append(".PP") }
                continue
            }
            lines.append(Self.line(line))
        }
        if isExample { lines.append(".EE") }
        return lines
    }

    /// Returns a line of text, escaped so that roff does not read it as a request.
    private static func line(_ text: some StringProtocol, isEscaped: Bool = false) -> String {
        let line = isEscaped ? String(text) : escaped(text)
        return line.hasPrefix(".") || line.hasPrefix("'") ? "\\&" + line : line
    }

    /// Returns the text with the special characters of roff escaped.
    private static func escaped(_ text: some StringProtocol) -> String {
        var escaped = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\\": escaped += "\\e"
            case "-": escaped += "\\-"
            case "\"": escaped += "\\(dq"
            case "'": escaped += "\\(aq"
            case "`": escaped += "\\(ga"
            case "^": escaped += "\\(ha"
            case "~": escaped += "\\(ti"
            case _ where scalar.isASCII: escaped.unicodeScalars.append(scalar)
            default: escaped += "\\[u\(hexadecimal(scalar))]"
            }
        }
        return escaped
    }

    private static func hexadecimal(_ scalar: Unicode.Scalar) -> String {
        let digits = String(scalar.value, radix: 16, uppercase: true)
        return String(repeating: "0", count: max(0, 4 - digits.count)) + digits
    }
}

/// A variable of the environment that the tool reads.
struct EnvironmentVariable {
    let name: String
    let summary: String

    static let all = [
        EnvironmentVariable(
            name: "SHEAF_PAGER",
            summary: "The program that shows results longer than the screen; empty for none."),
        EnvironmentVariable(
            name: "PAGER",
            summary: "The same, if SHEAF_PAGER is not set. The default is "
                + "'\(PagerCommand.fallback)'."),
        EnvironmentVariable(
            name: "NO_COLOR", summary: "Turns colors off, unless --color always is given."),
    ]
}
