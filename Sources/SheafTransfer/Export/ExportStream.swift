/// A file or standard output, to which rows are sent in large pieces.
package final class ExportStream {
    private static let length = 1 << 18

    private let send: (UnsafeRawBufferPointer) throws(ExportError) -> Void
    /// Number of bytes that were sent.
    package private(set) var sentCount = 0

    /// Creates a stream; `send` gets complete rows.
    package init(_ send: @escaping (UnsafeRawBufferPointer) throws(ExportError) -> Void) {
        self.send = send
    }

    /// Creates a stream into a file.
    package convenience init(_ file: PendingFile) {
        self.init { (bytes) throws(ExportError) in try file.write(bytes) }
    }

    /// Sends a text.
    package func write(_ text: String) throws(ExportError) {
        var bytes = Array(text.utf8)
        try sendAll(&bytes)
    }

    /// Sends the buffer if it is full; called after each row.
    func sendIfFull(_ buffer: inout [UInt8]) throws(ExportError) {
        guard buffer.count >= Self.length else { return }
        try sendAll(&buffer)
    }

    /// Sends the buffer, and empties it.
    func sendAll(_ buffer: inout [UInt8]) throws(ExportError) {
        guard !buffer.isEmpty else { return }
        try buffer.span.withUnsafeBytes { (bytes) throws(ExportError) in try send(bytes) }
        sentCount += buffer.count
        buffer.removeAll(keepingCapacity: true)
    }
}
