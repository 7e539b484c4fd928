#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// The size of a terminal, in cells.
struct Screen: Equatable {
    var columns: Int
    var rows: Int

    /// The size assumed for terminals that report none.
    static let fallback = Screen(columns: 80, rows: 24)

    /// Returns the current size of the terminal on standard output.
    static func current() -> Screen {
        var size = winsize()
        guard ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0, size.ws_row > 0
        else { return fallback }
        return Screen(columns: Int(size.ws_col), rows: Int(size.ws_row))
    }

    /// Returns the number of rows that a line of escaped text occupies.
    func rows(of line: String) -> Int {
        guard line.utf8.count > columns else { return 1 }
        let width = TerminalText.width(of: TerminalStyle.removed(from: line))
        return max(1, (width + columns - 1) / columns)
    }
}

/// Variables of the environment that determine how the tool prints.
enum Environment {
    /// Returns the value of a variable; nil if it is not set.
    static func value(_ name: String) -> String? {
        getenv(name).map { String(cString: $0) }
    }

    /// Whether the user wants colors on terminals: by NO_COLOR (no-color.org) and TERM.
    static var permitsColor: Bool {
        (value("NO_COLOR") ?? "").isEmpty && value("TERM") != "dumb"
    }
}
