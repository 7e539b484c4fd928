import SheafBytes

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// The output of the tool: buffered data to standard output, messages to standard error.
final class Output {
    private static let bufferLength = 64 << 10

    /// Data that may be shown by a pager.
    private enum Paging {
        case off
        /// The data fits on the screen so far, and is buffered until it does not.
        case waiting(PagerCommand, Screen, rows: Int)
        case running(Pager)
    }

    private var buffer: [UInt8] = []
    private var paging = Paging.off
    /// Messages that wait for the end of the data that a pager may show.
    private var messages: [UInt8] = []
    /// Whether the reader of standard output has closed it.
    private var isPipeClosed = false
    private var failure: Int32?
    /// The file to which standard output was redirected, for messages.
    private let file: String?
    /// Whether standard output is a terminal, which interprets control characters.
    let isTerminal = isatty(STDOUT_FILENO) == 1
    /// Whether data is colored.
    private(set) var isColored: Bool
    private var areErrorsColored: Bool
    private var pager: PagerCommand?

    /// Creates an output that is colored only on a terminal, and uses no pager.
    ///
    /// `file` is the path of the file to which standard output leads, if the tool has opened it.
    init(file: String? = nil) {
        self.file = file
        isColored = ColorChoice.auto.isColored(onTerminal: isTerminal)
        areErrorsColored = ColorChoice.auto.isColored(onTerminal: isatty(STDERR_FILENO) == 1)
    }

    /// Whether further data is discarded: its reader has closed it, the pager has ended, or a write
    /// has failed.
    var isClosed: Bool {
        if case .running(let pager) = paging, pager.isClosed { return true }
        return isPipeClosed || failure != nil
    }

    /// Whether the reader of a pipe has closed it, which otherwise only a write would reveal.
    var isReaderGone: Bool {
        var entry = pollfd(fd: STDOUT_FILENO, events: 0, revents: 0)
        return poll(&entry, 1, 0) == 1 && entry.revents & Int16(POLLERR) != 0
    }

    /// Whether a user sees the data and can answer questions.
    var isInteractive: Bool { isTerminal && isatty(STDIN_FILENO) == 1 }

    /// Asks a question on the terminal; returns the line of the answer, or nil at the end of input.
    func ask(_ question: String) -> String? {
        buffer.append(contentsOf: question.utf8)
        flush()
        return readLine()
    }

    /// Applies the options `--color`, `--no-color` and `--no-pager`.
    func apply(_ arguments: Arguments) throws(ToolError) {
        let choice = try ColorChoice(arguments)
        isColored = choice.isColored(onTerminal: isTerminal)
        areErrorsColored = choice.isColored(onTerminal: isatty(STDERR_FILENO) == 1)
    }

    /// Uses the pager of the environment for data longer than the screen, on a terminal.
    func usePager() {
        pager = isInteractive ? PagerCommand() : nil
    }

    /// Writes a line of data.
    func write(_ line: String) {
        buffer.append(contentsOf: line.utf8)
        buffer.append(0x0A)
        if case .waiting(let command, let screen, let rows) = paging {
            let total = rows + screen.rows(of: line)
            // One row is left for the prompt.
            total < screen.rows
                ? paging = .waiting(command, screen, rows: total) : startPager(command)
        }
        if buffer.count >= Self.bufferLength { flush() }
    }

    /// Writes data unchanged.
    func write(raw bytes: UnsafeRawBufferPointer) {
        buffer.append(contentsOf: bytes)
        if buffer.count >= Self.bufferLength { flush() }
    }

    /// Returns the text with an emphasis, if data is colored.
    func styled(_ text: String, _ style: TerminalStyle) -> String {
        isColored ? style.applied(to: text) : text
    }

    /// Runs `body`; the pager shows the data that it writes, if it is longer than the screen.
    func paged<Failure: Error>(_ body: () throws(Failure) -> Void) throws(Failure) {
        guard let pager, case .off = paging else { return try body() }
        flush()
        paging = .waiting(pager, Screen.current(), rows: 0)
        defer { endPaging() }
        try body()
    }

    private func startPager(_ command: PagerCommand) {
        // Without a pager the data is printed plainly.
        paging = Pager(command).map(Paging.running) ?? .off
        flush()
    }

    private func endPaging() {
        var failureText: String?
        if case .running(let pager) = paging {
            flush()
            failureText = pager.finish()
        }
        paging = .off
        flush()
        _ = Self.write(messages, to: STDERR_FILENO)
        messages = []
        if let failureText { printError(failureText) }
    }

    /// Writes the buffered data to standard output, or to the pager.
    func flush() {
        switch paging {
        case .waiting: return
        case .running(let pager): pager.write(buffer)
        case .off: flushToStandardOutput()
        }
        buffer.removeAll(keepingCapacity: true)
    }

    private func flushToStandardOutput() {
        guard !isPipeClosed, failure == nil else { return }
        if let code = Self.write(buffer, to: STDOUT_FILENO) {
            if code == EPIPE { isPipeClosed = true } else { failure = code }
        }
    }

    /// Writes the remaining data; throws if any write has failed.
    func finish() throws(ToolError) {
        flush()
        guard let failure else { return }
        let name = file?.shortened ?? "standard output"
        throw .failed("cannot write to \(name): \(String(cString: strerror(failure)))")
    }

    /// Writes a message to standard error, in red on a terminal.
    func printError(_ line: String) {
        let lines = "sheaf: \(line)".split(separator: "\n", omittingEmptySubsequences: false)
        printMessage(
            lines.map { areErrorsColored ? TerminalStyle.red.applied(to: String($0)) : String($0) }
                .joined(separator: "\n"))
    }

    /// Writes a note on a result to standard error.
    func print(note: String) {
        printMessage("note: \(note)")
    }

    /// Writes a message that is no error to standard error, such as timings.
    func printInformation(_ line: String) {
        printMessage("sheaf: \(line)")
    }

    /// Writes a line to standard error, such as progress.
    func printMessage(_ line: String) {
        guard case .off = paging else {
            messages += "\(line)\n".utf8
            return
        }
        // Data is flushed first, so that data and messages appear in order.
        flush()
        _ = Self.write(Array("\(line)\n".utf8), to: STDERR_FILENO)
    }

    /// Writes a line to standard output unbuffered, from any thread; errors are ignored.
    static func writeNow(_ line: String) {
        _ = write(Array("\(line)\n".utf8), to: STDOUT_FILENO)
    }

    /// Writes all bytes; returns the error number of a failed write, or nil.
    static func write(_ bytes: [UInt8], to descriptor: Int32) -> Int32? {
        bytes.withUnsafeBytes { bytes in
            var done = 0
            while done < bytes.count {
                let rest = UnsafeRawBufferPointer(rebasing: bytes[done...])
                #if canImport(Glibc)
                    let count = Glibc.write(descriptor, rest.baseAddress, rest.count)
                #elseif canImport(Musl)
                    let count = Musl.write(descriptor, rest.baseAddress, rest.count)
                #else
                    let count = Darwin.write(descriptor, rest.baseAddress, rest.count)
                #endif
                if count < 0 {
                    if errno == EINTR { continue }
                    return errno
                }
                done += count
            }
            return nil
        }
    }
}
