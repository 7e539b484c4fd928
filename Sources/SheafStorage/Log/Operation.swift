import SheafBytes

/// One change of one key, as it stands in a record (`format-spec/log.md`, table 5).
///
///     0      1      2            4                8           16         20
///     | kind | zero | key length | payload length | previous | distance | key | payload |
package struct Operation {
    /// What an operation does to its key.
    package enum Kind: UInt8, Sendable {
        /// The key has this payload from now on.
        case put = 1
        /// The key is gone.
        case remove = 2
        /// The key has this payload, too, behind all that it has since its last put.
        case extend = 3
    }

    package let kind: Kind
    package let key: UnsafeRawBufferPointer
    package let payload: UnsafeRawBufferPointer
    /// Where the key's operation before this one is, or was.
    package let previous: LogPosition
    /// How many bytes before the operation its record starts.
    package let distance: Int

    package static let headerLength = 20

    enum Layout {
        static let kind = 0
        static let reserved = 1
        static let keyLength = 2
        static let payloadLength = 4
        static let previous = 8
        static let distance = 16
    }

    /// How many bytes the operation takes.
    package var length: Int { Self.headerLength + key.count + payload.count }

    /// Reads the operation at `offset`, which must end within `bytes`.
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
        guard Keyspace.isLogged(firstByte: bytes[start]),
            payloadLength <= (kind == .remove ? 0 : Limits.maximumPayloadLength)
        else {
            throw FormatError(at: offset, "the operation's key or payload cannot be")
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

    /// Walks the operations of a `whole`, `first`, `middle` or `last` record.
    package init(_ record: Record) {
        self.record = record.bytes
        offset = Record.headerLength
        end = Record.headerLength + record.body.count
        left = record.operationCount
    }

    /// The next operation; an error when the body does not hold what its header counts.
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
                at: offset + Operation.Layout.distance, "the operation misplaces its record")
        }
        defer {
            offset += operation.length
            left -= 1
        }
        return (offset, operation)
    }
}
