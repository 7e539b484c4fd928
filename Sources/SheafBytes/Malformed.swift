/// A decoding error in untrusted bytes, with its offset.
package enum Malformed: Error, Equatable, Sendable {
    /// The bytes end within the value that starts at `at`.
    case truncated(at: Int)
    /// A variable-length integer exceeds 64 bits, or is not in its shortest form.
    case varint(at: Int)
    /// A compressed block does not expand to exactly its announced length.
    case compressed(at: Int)
    /// A tag byte that the format does not define, or does not allow at this offset.
    case unexpected(UInt8, at: Int)
    /// A text is not valid UTF-8.
    case notText(at: Int)
    /// A violation of another format rule.
    case invalid(String, at: Int)
    /// Values are nested deeper than the format allows.
    case tooDeep(at: Int, limit: Int)
    /// A length exceeds the limit of the format.
    case tooLong(at: Int, length: UInt64, limit: UInt64)
}

extension Malformed: CustomStringConvertible {
    package var description: String {
        switch self {
        case .truncated(let offset):
            "the bytes end inside the value at offset \(offset)"
        case .varint(let offset):
            "the variable-length integer at offset \(offset) exceeds 64 bits or is not in its "
                + "shortest form"
        case .compressed(let offset):
            "the compressed block at offset \(offset) does not expand to its announced length"
        case .unexpected(let byte, let offset):
            "the byte \(byte) at offset \(offset) is not allowed here"
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
