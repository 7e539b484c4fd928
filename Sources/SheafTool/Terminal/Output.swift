#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// The output of the tool: buffered data to standard output, messages to standard error.
final class Output {
    private static let bufferLength = 64 << 10

    private var buffer: [UInt8] = []
    /// Whether the reader of standard output has closed it; further data is discarded.
    private(set) var isClosed = false
    private var failure: Int32?
    /// Whether standard output is a terminal, which interprets control characters.
    let isTerminal = isatty(STDOUT_FILENO) == 1

    /// Writes a line of data.
    func write(_ line: String) {
        buffer.append(contentsOf: line.utf8)
        buffer.append(0x0A)
        if buffer.count >= Self.bufferLength { flush() }
    }

    /// Writes data unchanged.
    func write(raw bytes: UnsafeRawBufferPointer) {
        buffer.append(contentsOf: bytes)
        if buffer.count >= Self.bufferLength { flush() }
    }

    /// Writes the buffered data to standard output.
    func flush() {
        defer { buffer.removeAll(keepingCapacity: true) }
        guard !isClosed, failure == nil else { return }
        if let code = Self.write(buffer, to: STDOUT_FILENO) {
            if code == EPIPE { isClosed = true } else { failure = code }
        }
    }

    /// Writes the remaining data; throws if any write has failed.
    func finish() throws(ToolError) {
        flush()
        guard let failure else { return }
        throw .failed("cannot write to standard output: \(String(cString: strerror(failure)))")
    }

    /// Writes a message to standard error.
    func printError(_ line: String) {
        // Data is flushed first, so that data and messages appear in order.
        flush()
        _ = Self.write(Array("sheaf: \(line)\n".utf8), to: STDERR_FILENO)
    }

    /// Writes a note on a result to standard error.
    func print(note: String) {
        flush()
        _ = Self.write(Array("note: \(note)\n".utf8), to: STDERR_FILENO)
    }

    /// Writes a line to standard output unbuffered, from any thread; errors are ignored.
    static func writeNow(_ line: String) {
        _ = write(Array("\(line)\n".utf8), to: STDOUT_FILENO)
    }

    /// Writes all bytes; returns the error number of a failed write, or nil.
    private static func write(_ bytes: [UInt8], to descriptor: Int32) -> Int32? {
        bytes.withUnsafeBytes { bytes in
            var done = 0
            while done < bytes.count {
                let rest = UnsafeRawBufferPointer(rebasing: bytes[done...])
                #if canImport(Glibc)
                    let count = Glibc.write(descriptor, rest.baseAddress, rest.count)
                #elseif canImport(Musl)
                    let count = Musl.write(descriptor, rest.baseAddress, rest.count)
                #else
                    let count = Darwin.write(descriptor, rest.baseAddress, rest.count)
                #endif
                if count < 0 {
                    if errno == EINTR { continue }
                    return errno
                }
                done += count
            }
            return nil
        }
    }
}
