package import SheafDocument

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// A file with one JSON object per line.
package struct JSONLinesSource: ImportSource {
    /// Maximum length of a line; longer ones are bad rows, and are skipped in pieces.
    package static let maximumLineLength = 64 << 20

    package let identity: ImportIdentity
    private let input: InputBuffer
    private let lineLimit: Int
    private var line: UInt64 = 1

    package var end: UInt64? { input.length }

    package init(
        _ input: InputBuffer, _ identity: ImportIdentity,
        maximumLineLength: Int = JSONLinesSource.maximumLineLength
    ) {
        (self.input, self.identity) = (input, identity)
        lineLimit = maximumLineLength
    }

    package mutating func skip(to position: ImportPosition) throws(ImportError) {
        try input.skip(toLineAt: position)
        line = position.row
    }

    package mutating func read(into batch: inout ImportBatch) throws(ImportError) -> Bool {
        while true {
            batch.position = input.position(row: line)
            guard !batch.isFull else { return true }
            guard let (text, length) = try nextLine() else {
                // The source can be read again if the batch was full with its last line.
                return false
            }
            if text.count > lineLimit {
                try skipLine(into: &batch)
                continue
            }
            if text.contains(where: { !Self.isSpace($0) }) { batch.append(json: text, row: line) }
            input.consume(length)
            line += 1
        }
    }

    private static func isSpace(_ byte: UInt8) -> Bool {
        byte == 0x20 || byte == 0x09 || byte == 0x0D
    }

    /// Returns the next line and its length with the line break; nil at the end of the input.
    ///
    /// A line that is too long is cut after the maximum.
    private func nextLine() throws(ImportError) -> (UnsafeRawBufferPointer, Int)? {
        var scanned = 0
        while true {
            let bytes = input.bytes
            if let base = bytes.baseAddress, scanned < bytes.count,
                let found = memchr(base + scanned, 0x0A, bytes.count - scanned)
            {
                let length = base.distance(to: found)
                return (UnsafeRawBufferPointer(rebasing: bytes[..<length]), length + 1)
            }
            if input.isAtEnd { return bytes.isEmpty ? nil : (bytes, bytes.count) }
            guard bytes.count <= lineLimit else { return (bytes, bytes.count) }
            scanned = bytes.count
            try input.fill()
        }
    }

    /// Rejects a line that is too long, and reads it to its end.
    private mutating func skipLine(into batch: inout ImportBatch) throws(ImportError) {
        batch.reject(row: line, "the line has more than \(lineLimit) bytes")
        while true {
            let bytes = input.bytes
            if let index = bytes.firstIndex(of: 0x0A) {
                input.consume(index + 1)
                break
            }
            input.consume(bytes.count)
            if input.isAtEnd { break }
            try input.fill()
        }
        line += 1
    }
}
