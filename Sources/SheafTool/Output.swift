#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// Data to standard output, in large writes; everything else to standard error.
final class Output {
    private static let bufferLength = 64 << 10

    private var buffer: [UInt8] = []
    /// Whether the reader has gone away: then nobody wants the rest.
    private(set) var isClosed = false
    private var failure: Int32?
    /// Whether standard output goes to a terminal, which takes some bytes for commands.
    let isTerminal = isatty(STDOUT_FILENO) == 1

    /// Writes a line of data.
    func write(_ line: String) {
        buffer.append(contentsOf: line.utf8)
        buffer.append(0x0A)
        if buffer.count >= Self.bufferLength { flush() }
    }

    /// Writes data as they are.
    func write(raw bytes: UnsafeRawBufferPointer) {
        buffer.append(contentsOf: bytes)
        if buffer.count >= Self.bufferLength { flush() }
    }

    /// Writes out what is buffered.
    func flush() {
        defer { buffer.removeAll(keepingCapacity: true) }
        guard !isClosed, failure == nil else { return }
        if let code = Self.write(buffer, to: STDOUT_FILENO) {
            if code == EPIPE { isClosed = true } else { failure = code }
        }
    }

    /// Writes out the rest; an error when the system took not all of it.
    func finish() throws(ToolError) {
        flush()
        guard let failure else { return }
        throw .failed("cannot write to standard output: \(String(cString: strerror(failure)))")
    }

    /// Tells people something that is no data.
    func tell(_ line: String) {
        // What was found before is shown before.
        flush()
        _ = Self.write(Array("sheaf: \(line)\n".utf8), to: STDERR_FILENO)
    }

    /// Writes a line of data at once, from any thread; who stops reading misses it.
    static func writeNow(_ line: String) {
        _ = write(Array("\(line)\n".utf8), to: STDOUT_FILENO)
    }

    /// The error number of a write that failed.
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
