import SheafBytes
package import SheafDocument

/// A file with a JSON array of objects, or with objects one after the other.
///
/// Values may span lines. The array is not held in memory: elements are read one by one.
package struct JSONSource: ImportSource {
    package let identity: ImportIdentity
    private let input: InputBuffer
    /// The number of the next value.
    private var row: UInt64 = 1
    /// The place of the next byte.
    private var place = TextPlace()
    /// The bytes that precede the next element; unknown before the first byte is read.
    private var phase = Phase.beginning

    private enum Phase {
        case beginning
        /// Within an array, before its first element.
        case first
        /// Within an array, after an element.
        case later
        /// Between values without an array.
        case sequence
        /// After the array.
        case ended
    }

    package var end: UInt64? { input.length }
    package var numbering: RowNumbering { .values }

    package init(_ input: InputBuffer, _ identity: ImportIdentity) {
        (self.input, self.identity) = (input, identity)
    }

    package mutating func skip(to position: ImportPosition) throws(ImportError) {
        guard position.offset > input.offset else { return }
        try begin()
        try input.skip(to: position) { place.advance(over: $0) }
        row = position.row
        if case .first = phase { phase = .later }
    }

    package mutating func read(into batch: inout ImportBatch) throws(ImportError) -> Bool {
        try begin()
        while true {
            batch.position = input.position(row: row)
            guard !batch.isFull else { return true }
            guard try beginElement() else {
                batch.position = input.position(row: row)
                return false
            }
            var scanner = ValueScanner()
            while !scanner.scan(input.bytes) {
                guard !input.isAtEnd else { break }
                guard input.bytes.count <= JSONLinesSource.maximumLineLength else {
                    throw failure(
                        "a value has more than \(JSONLinesSource.maximumLineLength) bytes")
                }
                try input.fill()
            }
            // A stray character is consumed like a value.
            let length = max(scanner.length, 1)
            let text = UnsafeRawBufferPointer(rebasing: input.bytes[..<length])
            batch.append(json: text, row: row, at: place)
            consume(length)
            row += 1
        }
    }

    /// Reads the opening bracket of an array, if there is one.
    private mutating func begin() throws(ImportError) {
        guard case .beginning = phase else { return }
        guard try skipSpace() else { throw failure("there is no JSON value") }
        guard input.bytes[0] == UInt8(ascii: "[") else {
            phase = .sequence
            return
        }
        consume(1)
        phase = .first
    }

    /// Advances to the next element; returns false at the end.
    private mutating func beginElement() throws(ImportError) -> Bool {
        let hasMore = try skipSpace()
        switch phase {
        case .beginning: preconditionFailure("The first byte was read.")
        case .sequence: return hasMore
        case .ended:
            guard !hasMore else { throw failure("unexpected text after the array") }
            return false
        case .first, .later:
            guard hasMore else { throw failure("the array has no closing ]") }
        }
        if input.bytes[0] == UInt8(ascii: "]") {
            consume(1)
            phase = .ended
            return try beginElement()
        }
        if case .later = phase {
            guard input.bytes[0] == UInt8(ascii: ",") else {
                throw failure("expected a comma or ] after an element of the array")
            }
            consume(1)
            guard try skipSpace() else { throw failure("the array has no closing ]") }
        }
        if let first = input.bytes.first, first == UInt8(ascii: ",") || first == UInt8(ascii: "]") {
            throw failure("expected an object")
        }
        phase = .later
        return true
    }

    /// Advances to the next byte that is not a space; returns false at the end.
    private mutating func skipSpace() throws(ImportError) -> Bool {
        while true {
            let bytes = input.bytes
            var count = 0
            while count < bytes.count, [0x20, 0x0A, 0x0D, 0x09].contains(bytes[count]) {
                count += 1
            }
            let isFound = count < bytes.count
            consume(count)
            if isFound { return true }
            guard !input.isAtEnd else { return false }
            try input.fill()
        }
    }

    /// Marks bytes as read, and counts their lines.
    private mutating func consume(_ count: Int) {
        place.advance(over: input.bytes.prefix(count))
        input.consume(count)
    }

    private func failure(_ reason: String) -> ImportError {
        .source(
            "\(input.path.shortened), line \(place.line), column \(place.column): \(reason)")
    }
}

/// A search for the end of a JSON value that may not be in memory completely.
struct ValueScanner {
    /// Number of bytes scanned; the length of the value once its end was found.
    private(set) var length = 0
    private var depth = 0
    private var isInString = false

    /// Scans the bytes that follow those of the last call; returns whether the value has ended.
    ///
    /// `bytes` begin with the value. Errors in the value are left to its parser.
    mutating func scan(_ bytes: UnsafeRawBufferPointer) -> Bool {
        while length < bytes.count {
            let byte = bytes[length]
            if isInString {
                if byte == UInt8(ascii: "\\") {
                    // The escaped byte may be the next one to arrive.
                    guard length + 1 < bytes.count else { return false }
                    length += 1
                } else if byte == UInt8(ascii: "\"") {
                    isInString = false
                    if depth == 0 {
                        length += 1
                        return true
                    }
                }
                length += 1
                continue
            }
            switch byte {
            case UInt8(ascii: "\""):
                isInString = true
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                depth += 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                // A bracket that closes nothing ends a value such as a number.
                guard depth > 0 else { return true }
                depth -= 1
                if depth == 0 {
                    length += 1
                    return true
                }
            case UInt8(ascii: ","), 0x20, 0x0A, 0x0D, 0x09:
                if depth == 0 { return true }
            default: break
            }
            length += 1
        }
        return false
    }
}
