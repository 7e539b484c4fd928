import SheafBytes

/// One change of one key, encoded as in a record (`format-spec/log.md`, table 5).
///
///     0      1      2            4                8           16         20
///     | kind | zero | key length | payload length | previous | distance | key | payload |
package struct Operation {
    /// The effect of an operation on its key.
    package enum Kind: UInt8, Sendable {
        /// Replaces all payloads of the key with this one.
        case put = 1
        /// Removes the key.
        case remove = 2
        /// A delta: appends a payload to those that the key has since its last put.
        case delta = 3
    }

    package let kind: Kind
    package let key: UnsafeRawBufferPointer
    package let payload: UnsafeRawBufferPointer
    /// The position of the key's previous operation, which compaction may have dropped.
    package let previous: LogPosition
    /// The offset of the operation from the start of its record.
    package let distance: Int

    package static let headerLength = 20

    /// The offsets of the header fields.
    enum Layout {
        static let kind = 0
        static let reserved = 1
        static let keyLength = 2
        static let payloadLength = 4
        static let previous = 8
        static let distance = 16
    }

    /// Whether a logged key may begin with this byte.
    @inline(__always)
    static func isLogged(firstByte: UInt8) -> Bool {
        firstByte != 0 && firstByte != IndexChanges.firstByte
    }

    /// The encoded length of the operation in bytes.
    package var length: Int { Self.headerLength + key.count + payload.count }

    /// Decodes the operation at `offset`, which must end within `bytes`.
    @inline(__always)
    package init(decoding bytes: UnsafeRawBufferPointer, at offset: Int) throws(FormatError) {
        guard offset >= 0, offset <= bytes.count - Self.headerLength else {
            throw FormatError(at: offset, "the record ends inside an operation header")
        }
        let keyLength = Int(bytes.loadInteger(offset + Layout.keyLength) as UInt16)
        let payloadLength = Int(bytes.loadInteger(offset + Layout.payloadLength) as UInt32)
        let start = offset + Self.headerLength
        guard keyLength >= 1, keyLength <= Limits.maximumKeyLength else {
            throw FormatError(at: offset + Layout.keyLength, "the key length \(keyLength) is wrong")
        }
        guard payloadLength <= bytes.count - start - keyLength else {
            throw FormatError(
                at: offset + Layout.payloadLength, "the payload ends outside of its record")
        }
        guard let kind = Kind(rawValue: bytes[offset]), bytes[offset + Layout.reserved] == 0 else {
            throw FormatError(
                at: offset, "the operation is of no known kind", isUnsupported: true)
        }
        guard Self.isLogged(firstByte: bytes[start]),
            payloadLength <= (kind == .remove ? 0 : Limits.maximumPayloadLength)
        else {
            throw FormatError(at: offset, "the operation's key or payload is not valid")
        }
        self.kind = kind
        key = bytes.slice(start..<start + keyLength)
        payload = bytes.slice(start + keyLength..<start + keyLength + payloadLength)
        previous = LogPosition(rawValue: bytes.loadInteger(offset + Layout.previous))
        distance = Int(bytes.loadInteger(offset + Layout.distance) as UInt32)
    }
}

/// The operations of a record, in order, each with its offset in the record.
package struct OperationSequence {
    private let record: UnsafeRawBufferPointer
    private let end: Int
    private var offset: Int
    private var left: Int

    /// Creates an iterator over the operations of a `complete`, `first`, `middle` or `last` record.
    package init(_ record: Record) {
        self.record = record.bytes
        offset = Record.headerLength
        end = Record.headerLength + record.body.count
        left = record.operationCount
    }

    /// Returns the next operation; throws if the body is invalid or contradicts the header's count.
    package mutating func next() throws(FormatError) -> (offset: Int, operation: Operation)? {
        guard left > 0 else {
            guard offset == end else {
                throw FormatError(at: offset, "the record holds more than its operations")
            }
            return nil
        }
        let operation = try Operation(decoding: record.slice(0..<end), at: offset)
        guard operation.distance == offset else {
            throw FormatError(
                at: offset + Operation.Layout.distance,
                "the distance to the start of the record is wrong")
        }
        defer {
            offset += operation.length
            left -= 1
        }
        return (offset, operation)
    }
}
