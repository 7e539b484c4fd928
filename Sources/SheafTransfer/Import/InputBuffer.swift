import SheafBytes
import SheafDocument

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// A file or standard input, read in large pieces.
package final class InputBuffer {
    /// The name of standard input.
    package static let standardInput = "-"
    private static let readLength = 1 << 20
    /// Number of first bytes that identify a file.
    static let headLength = 4_096

    /// The path, for messages.
    package let path: String
    private let descriptor: Int32
    private var memory: UnsafeMutableRawPointer
    private var capacity = readLength
    private var start = 0
    private var end = 0
    /// Offset of the first unread byte.
    private(set) var offset: UInt64 = 0
    /// Hash of all bytes read.
    private var hash = XXH3.Stream()
    /// Whether all bytes have been read into memory.
    private(set) var isAtEnd = false
    /// Length of a regular file; nil for other inputs.
    package let length: UInt64?

    /// Opens a file, or standard input if `path` is `-`.
    package convenience init(path: String) throws(ImportError) {
        guard path != Self.standardInput else {
            try self.init(descriptor: dup(STDIN_FILENO), path: "standard input")
            return
        }
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else {
            let code = errno
            throw .source(
                code == ENOENT
                    ? "\(path.shortened): there is no such file"
                    : "\(path.shortened): cannot open the file: \(String(cString: strerror(code)))")
        }
        try self.init(descriptor: descriptor, path: path)
    }

    /// Reads from a descriptor, which it closes at the end.
    init(descriptor: Int32, path: String) throws(ImportError) {
        var status = stat()
        guard descriptor >= 0, fstat(descriptor, &status) == 0 else {
            throw .source("\(path.shortened): \(String(cString: strerror(errno)))")
        }
        guard status.st_mode & S_IFMT != S_IFDIR else {
            close(descriptor)
            throw .source("\(path.shortened) is a directory; expected a file")
        }
        self.path = path
        self.descriptor = descriptor
        length = status.st_mode & S_IFMT == S_IFREG ? UInt64(status.st_size) : nil
        memory = .allocate(byteCount: capacity, alignment: 16)
    }

    deinit {
        memory.deallocate()
        close(descriptor)
    }

    /// The unread bytes in memory; valid until the next call of `fill`.
    var bytes: UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(start: memory + start, count: end - start)
    }

    /// Reads more bytes, or sets `isAtEnd`.
    func fill() throws(ImportError) {
        guard !isAtEnd else { return }
        if start > 0 {
            memory.copyMemory(from: memory + start, byteCount: end - start)
            (start, end) = (0, end - start)
        }
        if end == capacity {
            let larger = UnsafeMutableRawPointer.allocate(byteCount: capacity * 2, alignment: 16)
            larger.copyMemory(from: memory, byteCount: end)
            memory.deallocate()
            (memory, capacity) = (larger, capacity * 2)
        }
        while true {
            let count = read(descriptor, memory + end, capacity - end)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else {
                throw .source(
                    "\(path.shortened): cannot read: \(String(cString: strerror(errno)))")
            }
            end += count
            isAtEnd = count == 0
            return
        }
    }

    /// Reads until `count` bytes are in memory, if there are as many.
    func fill(_ count: Int) throws(ImportError) {
        while bytes.count < count, !isAtEnd { try fill() }
    }

    /// Marks bytes in memory as read.
    func consume(_ count: Int) {
        precondition(count <= end - start, "Only bytes in memory are consumed.")
        hash.update(UnsafeRawBufferPointer(start: memory + start, count: count))
        start += count
        offset += UInt64(count)
    }

    /// Returns the position of the first unread byte, with the number of its row.
    func position(row: UInt64) -> ImportPosition {
        ImportPosition(offset: offset, row: row, hash: hash.finish())
    }

    /// Continues at a position beyond the bytes read so far; calls `body` with the bytes before it.
    ///
    /// Throws if these differ from the bytes that the interrupted import had read.
    func skip(
        to position: ImportPosition, _ body: (UnsafeRawBufferPointer.SubSequence) -> Void = { _ in }
    ) throws(ImportError) {
        let target = position.offset
        while offset < target {
            if bytes.isEmpty { try fill() }
            guard !bytes.isEmpty else {
                throw .source(
                    "\(path.shortened) has \(offset) bytes, and the interrupted import had read "
                        + "\(target)")
            }
            let skipped = bytes.prefix(Int(min(UInt64(bytes.count), target - offset)))
            body(skipped)
            consume(skipped.count)
        }
        guard hash.finish() == position.hash else {
            throw .source(
                "\(path.shortened) has changed: its first \(target) bytes differ from those that the "
                    + "interrupted import had read; --resume needs the same rows, and --restart "
                    + "imports all rows of this input")
        }
    }

    /// Continues at the start of a line, as `skip(to:)`.
    ///
    /// The interrupted import may have read less than this input has of the last line, the rest of
    /// which would be lost.
    func skip(toLineAt position: ImportPosition) throws(ImportError) {
        var last: UInt8?
        try skip(to: position) { last = $0.last }
        guard let last, last != 0x0A else { return }
        // The last line had no line break, which may have been added.
        try fill(2)
        if bytes.first == 0x0A { return consume(1) }
        if bytes.starts(with: [0x0D, 0x0A]) { return consume(2) }
        guard bytes.isEmpty else {
            throw .source(
                "\(path.shortened) goes on within its last line, of which the interrupted import "
                    + "had read \(position.offset) bytes from the beginning of the input; --restart "
                    + "imports all rows")
        }
    }

    /// The name without its directory, as an import's progress stores it.
    static func name(of path: String) -> String {
        let name = path.split(separator: "/").last.map(String.init) ?? path
        guard name.utf8.count > ImportProgress.maximumNameLength else { return name }
        return name.shortened(to: ImportProgress.maximumNameLength / 4)
    }

    /// Returns the hash of the first bytes, before any of them is consumed.
    func headHash() throws(ImportError) -> UInt64 {
        try fill(Self.headLength)
        return XXH3.hash64(UnsafeRawBufferPointer(rebasing: bytes.prefix(Self.headLength)))
    }
}
