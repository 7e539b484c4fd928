import SheafBytes

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// The program that shows results longer than the screen.
struct PagerCommand: Equatable {
    /// The command line, for `/bin/sh`.
    let text: String

    /// The pager unless the environment names another one.
    ///
    /// It cuts long lines (S), shows colors (R), and ends if the output fits on the screen (F).
    static let fallback = "less -SRFX"

    /// Creates the pager that the environment names, or nil if there is none.
    ///
    /// An empty variable means that there is no pager, and so does a program that is not installed.
    init?(value: (String) -> String? = Environment.value) {
        let text = value("SHEAF_PAGER") ?? value("PAGER") ?? Self.fallback
        let words = text.split(whereSeparator: { $0 == " " || $0 == "\t" || $0 == "\n" })
        guard let program = words.first, words != ["cat"] else { return nil }
        guard Self.isInstalled(String(program), path: value("PATH") ?? "") else { return nil }
        self.text = text
    }

    /// Whether the first word of a command line is a program, or syntax of the shell.
    private static func isInstalled(_ word: String, path: String) -> Bool {
        let isPlain = word.utf8.allSatisfy { byte in
            switch byte | 0x20 {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"): true
            default: "._-+/".utf8.contains(byte)
            }
        }
        guard isPlain else { return true }
        if word.utf8.contains(UInt8(ascii: "/")) { return access(word, X_OK) == 0 }
        return path.split(separator: ":").contains { access("\($0)/\(word)", X_OK) == 0 }
    }

    /// The script that runs the pager: like Git's, with defaults for `less`.
    var script: String {
        "LESS=${LESS-SRFX} LESSCHARSET=${LESSCHARSET-utf-8}; export LESS LESSCHARSET; \(text)"
    }
}

/// A running pager.
///
/// Until it ends, Ctrl-C is for the pager alone.
final class Pager {
    private let file: UnsafeMutablePointer<FILE>
    private let command: PagerCommand
    private var interruption = sigaction()
    /// Whether the pager has ended or was quit; further data is discarded.
    private(set) var isClosed = false

    /// Starts the pager; nil if no process can be created.
    init?(_ command: PagerCommand) {
        guard let file = popen(command.script, "w") else { return nil }
        self.file = file
        self.command = command
        // Ignored only now: the pager would inherit it.
        sigaction(SIGINT, nil, &interruption)
        signal(SIGINT, SIG_IGN)
    }

    /// Sends data to the pager.
    func write(_ bytes: [UInt8]) {
        guard !isClosed else { return }
        if Output.write(bytes, to: fileno(file)) != nil { isClosed = true }
    }

    /// Waits until the user has quit the pager; returns an error text if it could not be run.
    func finish() -> String? {
        let status = pclose(file)
        sigaction(SIGINT, &interruption, nil)
        // The wait status of a normal end has the exit status in its second byte.
        let (isExit, code) = (status & 0x7F == 0, status >> 8 & 0xFF)
        guard isExit, code == 126 || code == 127 else { return nil }
        return "the pager '\(command.text.shortened)' cannot be run (exit status \(code)); set "
            + "PAGER to another one, or use --no-pager"
    }
}
