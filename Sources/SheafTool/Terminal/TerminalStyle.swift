import SheafBytes
import SheafQuery

/// The emphasis of a text on a terminal (ECMA-48, Select Graphic Rendition).
enum TerminalStyle: String {
    case bold = "1"
    case dim = "2"
    case red = "31"
    case green = "32"
    case yellow = "33"

    /// Returns the text with this emphasis; it must not contain control characters.
    func applied(to text: String) -> String {
        text.isEmpty ? text : "\u{1B}[\(rawValue)m\(text)\u{1B}[0m"
    }

    /// Returns the text without any emphasis.
    static func removed(from text: String) -> String {
        guard text.utf8.contains(0x1B) else { return text }
        var bytes: [UInt8] = []
        var isInside = false
        for byte in text.utf8 {
            if byte == 0x1B { isInside = true }
            if !isInside { bytes.append(byte) }
            if byte == UInt8(ascii: "m") { isInside = false }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}

/// When output is colored, from `--color` and `--no-color`.
enum ColorChoice: String, CaseIterable {
    case always, auto, never

    /// Creates the choice of the options of a command.
    init(_ arguments: Arguments) throws(ToolError) {
        let isOff = arguments.has(Option.noColor.name)
        guard let name = arguments.value(Option.color.name) else {
            self = isOff ? .never : .auto
            return
        }
        guard let choice = Self(rawValue: name) else {
            let names = Self.allCases.map(\.rawValue)
            throw .usage(
                "--color must be \(names.dropLast().joined(separator: ", ")) or "
                    + "\(names.last ?? ""), not '\(name.shortened)'"
                    + OptionSuggestion.text(for: name, among: names))
        }
        guard !isOff || choice == .never else {
            throw .usage("--color \(name) and --no-color are mutually exclusive")
        }
        self = choice
    }

    /// Whether output to a terminal, or to anything else, is colored.
    func isColored(onTerminal isTerminal: Bool) -> Bool {
        switch self {
        case .always: true
        case .never: false
        case .auto: isTerminal && Environment.permitsColor
        }
    }
}

extension Option {
    static let color = Option(
        name: "color", value: "WHEN", words: ColorChoice.allCases.map(\.rawValue),
        summary: "color the output: always, never or auto (default)")
    static let noColor = Option(name: "no-color", summary: "the same as --color never")
    static let noPager = Option(
        name: "no-pager", summary: "print results longer than the screen without a pager")
}
