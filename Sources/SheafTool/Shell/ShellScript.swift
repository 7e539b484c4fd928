import SheafBytes
import SheafQuery

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// The execution of statements from the command line, files and pipes.
enum ShellScript {
    /// The name of standard input in messages.
    private static let standardInput = "standard input"

    /// Runs the statements of a text; throws the first error unless `keepsGoing`.
    ///
    /// Returns the exit code of the first error.
    static func run(
        text: String, keepsGoing: Bool, _ session: ShellSession
    ) throws(ToolError) -> ExitCode {
        var script = Script(name: nil, keepsGoing: keepsGoing)
        try script.add(text, session)
        try script.finish(session)
        return script.code
    }

    /// Runs the statements of a file, or of standard input if the path is `-`.
    @discardableResult
    static func run(
        file path: String, keepsGoing: Bool = false, _ session: ShellSession
    ) throws(ToolError) -> ExitCode {
        guard path != "-" else {
            return try run(STDIN_FILENO, standardInput, keepsGoing: keepsGoing, session)
        }
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else {
            throw .failed("cannot read \(path.shortened): \(String(cString: strerror(errno)))")
        }
        defer { close(descriptor) }
        return try run(descriptor, path, keepsGoing: keepsGoing, session)
    }

    /// Runs the statements of standard input.
    static func runStandardInput(
        keepsGoing: Bool, _ session: ShellSession
    ) throws(ToolError) -> ExitCode {
        try run(STDIN_FILENO, standardInput, keepsGoing: keepsGoing, session)
    }

    private static func run(
        _ descriptor: Int32, _ name: String, keepsGoing: Bool, _ session: ShellSession
    ) throws(ToolError) -> ExitCode {
        var script = Script(name: name, keepsGoing: keepsGoing)
        var lines = InputLines(descriptor, name)
        while !session.isEnded, let line = try lines.next() {
            try script.add(line, session)
        }
        if !session.isEnded { try script.finish(session) }
        return script.code
    }
}

/// The statements of one file or text.
private struct Script {
    /// The name of the file in messages; nil for a text on the command line.
    let name: String?
    let keepsGoing: Bool
    /// The exit code of the first error.
    var code = ExitCode.ok
    private var input = ShellInput()

    init(name: String?, keepsGoing: Bool) {
        (self.name, self.keepsGoing) = (name, keepsGoing)
    }

    mutating func add(_ text: String, _ session: ShellSession) throws(ToolError) {
        var items: [ShellInput.Item] = []
        do throws(ToolError) { items = try input.add(text) } catch { try fail(error, nil, session) }
        for item in items where !session.isEnded { try run(item, session) }
    }

    mutating func finish(_ session: ShellSession) throws(ToolError) {
        if let item = input.finish(), !session.isEnded { try run(item, session) }
    }

    private mutating func run(
        _ item: ShellInput.Item, _ session: ShellSession
    ) throws(ToolError) {
        do throws(ToolError) {
            try session.run(item)
        } catch {
            try fail(error, item.line, session)
        }
    }

    private mutating func fail(
        _ error: ToolError, _ line: Int?, _ session: ShellSession
    ) throws(ToolError) {
        let located = name.flatMap { name in
            line.map { error.located(in: name, from: $0) }
        }
        let error = located ?? error
        guard keepsGoing else { throw error }
        if code == .ok { code = error.exitCode }
        session.report(error)
    }
}

extension ShellInput.Item {
    /// The number of the first line.
    var line: Int {
        switch self {
        case .statement(_, let line), .command(_, let line): line
        }
    }
}

/// The lines of a file.
private struct InputLines {
    /// Maximum length of a line in bytes.
    private static let maximumLength = 2 * QueryLimits.maximumLength
    private static let pieceLength = 64 << 10

    private let descriptor: Int32
    private let name: String
    private var buffer: [UInt8] = []
    private var offset = 0
    private var number = 0
    private var isEnded = false

    init(_ descriptor: Int32, _ name: String) {
        (self.descriptor, self.name) = (descriptor, name)
    }

    /// Returns the next line without its end, or nil after the last one.
    mutating func next() throws(ToolError) -> String? {
        var searched = offset
        while true {
            if let end = buffer[searched...].firstIndex(of: 0x0A) {
                defer { offset = end + 1 }
                return try text(buffer[offset..<end])
            }
            searched = buffer.count
            guard !isEnded else {
                guard offset < buffer.count else { return nil }
                defer { offset = buffer.count }
                return try text(buffer[offset...])
            }
            guard buffer.count - offset <= Self.maximumLength else {
                throw .usage(
                    "\(name.shortened):\(number + 1): the line has more than "
                        + "\(Self.maximumLength) bytes")
            }
            buffer.removeFirst(offset)
            searched -= offset
            offset = 0
            try fill()
        }
    }

    private mutating func text(_ bytes: ArraySlice<UInt8>) throws(ToolError) -> String {
        number += 1
        // Invalid UTF-8 is refused: a repaired statement could write unintended data.
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw .usage("\(name.shortened):\(number): the line is not valid UTF-8")
        }
        return text.utf8.last == 0x0D ? String(text.unicodeScalars.dropLast()) : text
    }

    private mutating func fill() throws(ToolError) {
        let length = Self.pieceLength
        var piece = [UInt8](repeating: 0, count: length)
        while true {
            let count = read(descriptor, &piece, length)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else {
                throw .failed("cannot read \(name.shortened): \(String(cString: strerror(errno)))")
            }
            isEnded = count == 0
            buffer += piece.prefix(count)
            return
        }
    }
}
