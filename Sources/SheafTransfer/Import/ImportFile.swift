import SheafBytes

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// The opening of a file, or of standard input, as a source of rows.
package enum ImportFile {
    /// Opens a source; without a format, its name and first bytes determine it.
    package static func open(
        _ path: String, _ format: ImportFormat?, _ csv: CSVOptions
    ) throws(ImportError) -> sending any ImportSource {
        let input = try InputBuffer(path: path)
        let head = try input.begin()
        let format = format ?? ImportFormat.detect(input)
        let isCSV = format == .csv
        guard isCSV || csv.types.isEmpty && csv.separator == nil && csv.null == nil else {
            throw .usage(
                "--separator, --types and --null apply to CSV, and \(input.path.shortened) is "
                    + "\(format.rawValue); --format csv reads it as CSV")
        }
        let isStandardInput = path == InputBuffer.standardInput
        // Standard input may be a file or a pipe, and have more rows when the import continues.
        let identity = ImportIdentity(
            name: isStandardInput ? path : InputBuffer.name(of: path),
            length: isStandardInput ? nil : input.length, head: isStandardInput ? 0 : head,
            options: (isCSV ? csv.text : format.rawValue) + " \(csv.idName)")
        switch format {
        case .jsonl: return JSONLinesSource(input, identity)
        case .json: return JSONSource(input, identity)
        case .csv: return try openCSV(input, identity, path, csv)
        }
    }

    private static func openCSV(
        _ input: InputBuffer, _ identity: ImportIdentity, _ path: String, _ csv: CSVOptions
    ) throws(ImportError) -> sending any ImportSource {
        // Readers of standard input share one offset, also if it is a file.
        guard input.length == nil || path == InputBuffer.standardInput else {
            return try CSVSource(input, identity, csv) { () throws(ImportError) in
                let sample = try InputBuffer(path: path)
                _ = try sample.begin()
                return sample
            }
        }
        // The types of columns need all rows, so a stream is copied to a file first.
        let copy = try SpooledInput(input)
        return try CSVSource(try copy.open(), identity, csv) { () throws(ImportError) in
            try copy.open()
        }
    }
}

/// A temporary copy of a stream, which two readers can read.
///
/// The file has no name once it is open, so it also disappears with a process that is killed.
private final class SpooledInput {
    private let name: String
    /// Descriptors of the file that no reader owns.
    private var descriptors: [Int32] = []

    init(_ input: InputBuffer) throws(ImportError) {
        name = input.path
        let directory = getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"
        var template = Array("\(directory)/sheaf-import-XXXXXX".utf8CString)
        let descriptor = mkstemp(&template)
        guard descriptor >= 0 else { throw Self.failure(directory) }
        defer { close(descriptor) }
        // Each reader needs an offset of its own.
        for _ in 0..<2 {
            #if canImport(Darwin)
                let reader = Darwin.open(template, O_RDONLY | O_CLOEXEC)
            #elseif canImport(Musl)
                let reader = Musl.open(template, O_RDONLY | O_CLOEXEC)
            #else
                let reader = Glibc.open(template, O_RDONLY | O_CLOEXEC)
            #endif
            if reader >= 0 { descriptors.append(reader) }
        }
        unlink(template)
        guard descriptors.count == 2 else { throw Self.failure(directory) }
        while true {
            try Self.write(input.bytes, to: descriptor, directory)
            input.consume(input.bytes.count)
            guard !input.isAtEnd else { break }
            try input.fill()
        }
    }

    deinit {
        for descriptor in descriptors { close(descriptor) }
    }

    /// Returns one of the two readers.
    func open() throws(ImportError) -> InputBuffer {
        guard let descriptor = descriptors.popLast() else {
            preconditionFailure("A copy has two readers.")
        }
        // The stream was checked before, and lacks a byte order mark now.
        return try InputBuffer(descriptor: descriptor, path: name)
    }

    private static func write(
        _ bytes: UnsafeRawBufferPointer, to descriptor: Int32, _ path: String
    ) throws(ImportError) {
        var done = 0
        while done < bytes.count {
            let rest = UnsafeRawBufferPointer(rebasing: bytes[done...])
            #if canImport(Darwin)
                let count = Darwin.write(descriptor, rest.baseAddress, rest.count)
            #elseif canImport(Musl)
                let count = Musl.write(descriptor, rest.baseAddress, rest.count)
            #else
                let count = Glibc.write(descriptor, rest.baseAddress, rest.count)
            #endif
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw failure(path) }
            done += count
        }
    }

    private static func failure(_ path: String) -> ImportError {
        let reason = String(cString: strerror(errno))
        return .source(
            "\(path.shortened): cannot copy standard input to find the types of its columns: "
                + "\(reason); TMPDIR names another directory")
    }
}
