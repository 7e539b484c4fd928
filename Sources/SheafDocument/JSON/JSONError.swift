import SheafBytes

/// A syntax error in a JSON text, or a limit it exceeds.
public struct JSONError: Error, Hashable, Sendable {
    /// The kind of an error.
    public enum Reason: Hashable, Sendable {
        /// Unexpected input; the text describes what was expected.
        case expected(String)
        /// The text continues after the value.
        case trailing
        /// A name occurs twice in one object.
        case duplicateName(String)
        /// Invalid UTF-8, or an unpaired surrogate.
        case invalidText
        /// A character that must be escaped.
        case controlCharacter(UInt8)
        /// A backslash that begins no escape sequence.
        case invalidEscape
        /// A number exceeds the range of floats.
        case numberTooLarge
        /// Arrays and objects are nested deeper than the limit.
        case tooDeep(limit: Int)
        /// The text is longer than the limit.
        case tooLong(limit: Int)
    }

    /// The kind of the error.
    public let reason: Reason
    /// Offset in bytes from the start of the text.
    public let offset: Int
    /// Line number, starting at 1.
    public let line: Int
    /// Column in bytes, starting at 1.
    public let column: Int

    init(_ reason: Reason, at offset: Int, in text: UnsafeRawBufferPointer) {
        self.reason = reason
        self.offset = offset
        let before = text[..<min(offset, text.count)]
        line = 1 + before.count { $0 == 0x0A }
        column = before.count - (before.lastIndex(of: 0x0A).map { $0 + 1 } ?? 0) + 1
    }
}

extension JSONError: CustomStringConvertible {
    /// The line, the column and an explanation.
    public var description: String {
        "line \(line), column \(column): \(explanation)"
    }

    /// The explanation without the position.
    package var explanation: String {
        switch reason {
        case .expected(let what): "expected \(what)"
        case .trailing: "unexpected text after the value"
        case .duplicateName(let name):
            "duplicate name \"\(name.shortened)\" in an object"
        case .invalidText: "the text is not valid Unicode"
        case .controlCharacter(let byte):
            "the control character \(byte) must be escaped"
        case .invalidEscape: "a backslash must be followed by one of \" \\ / b f n r t u"
        case .numberTooLarge: "the number is too large"
        case .tooDeep(let limit): "arrays and objects are nested deeper than \(limit)"
        case .tooLong(let limit): "the text has more than \(limit) bytes"
        }
    }
}
