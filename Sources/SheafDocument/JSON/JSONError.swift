import SheafBytes

/// Why a text is no JSON that a document can hold, and where.
public struct JSONError: Error, Hashable, Sendable {
    /// What was wrong.
    public enum Reason: Hashable, Sendable {
        /// Something else belongs here.
        case expected(String)
        /// The text goes on behind the value.
        case trailing
        /// A name that the same object has already.
        case duplicateName(String)
        /// Bytes that are no UTF-8, or half of a pair of surrogates.
        case invalidText
        /// A character that must be written as an escape.
        case controlCharacter(UInt8)
        case invalidEscape
        /// A number that no float is large enough for.
        case numberTooLarge
        /// Arrays and objects in one another, deeper than the limit.
        case tooDeep(limit: Int)
        /// More bytes than the limit.
        case tooLong(limit: Int)
    }

    public let reason: Reason
    /// In bytes, from the start of the text.
    public let offset: Int
    /// From 1.
    public let line: Int
    /// From 1, in bytes.
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
    public var description: String {
        "line \(line), column \(column): \(explanation)"
    }

    private var explanation: String {
        switch reason {
        case .expected(let what): "expected \(what)"
        case .trailing: "there is more behind the value"
        case .duplicateName(let name):
            "the name \"\(name.shortened)\" comes twice in one object"
        case .invalidText: "the text is not valid Unicode"
        case .controlCharacter(let byte):
            "the control character \(byte) must be written as an escape"
        case .invalidEscape: "a backslash must be followed by one of \" \\ / b f n r t u"
        case .numberTooLarge: "the number is too large"
        case .tooDeep(let limit): "arrays and objects are nested deeper than \(limit)"
        case .tooLong(let limit): "the text has more than \(limit) bytes"
        }
    }
}
