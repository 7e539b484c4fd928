/// What is wrong with bytes that came from outside, and at which offset.
package enum Malformed: Error, Equatable, Sendable {
    /// The bytes end before the value that starts at `at` does.
    case truncated(at: Int)
    /// A variable-length integer does not end, does not fit in 64 bits, or has needless bytes.
    case varint(at: Int)
    /// A compressed block does not expand to exactly the length that was announced.
    case compressed(at: Int)
    /// A byte that says what follows is none that the format knows, or none that can stand here.
    case unexpected(UInt8, at: Int)
    /// A text is no UTF-8.
    case notText(at: Int)
    /// Something breaks a rule of its format.
    case invalid(String, at: Int)
    /// Values lie in one another deeper than the format allows.
    case tooDeep(at: Int, limit: Int)
    /// A length is larger than the format allows.
    case tooLong(at: Int, length: UInt64, limit: UInt64)
}

extension Malformed: CustomStringConvertible {
    package var description: String {
        switch self {
        case .truncated(let offset):
            "the bytes end inside the value at offset \(offset)"
        case .varint(let offset):
            "the variable-length integer at offset \(offset) is not in its shortest form"
        case .compressed(let offset):
            "the compressed block at offset \(offset) does not expand to its announced length"
        case .unexpected(let byte, let offset):
            "the byte \(byte) at offset \(offset) cannot stand there"
        case .notText(let offset):
            "the text at offset \(offset) is not UTF-8"
        case .invalid(let reason, let offset):
            "\(reason) at offset \(offset)"
        case .tooDeep(let offset, let limit):
            "values are nested deeper than \(limit) at offset \(offset)"
        case .tooLong(let offset, let length, let limit):
            "the length at offset \(offset) is \(length), more than the \(limit) allowed"
        }
    }
}
