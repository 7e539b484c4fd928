import Glibc

/// Files of text.
package enum TextFile {
    /// An error of reading or writing a file.
    package struct Failure: Error, CustomStringConvertible {
        package let description: String
        /// Whether the file could not be read.
        package let isReading: Bool

        init(_ attempt: String, _ path: String) {
            isReading = attempt == "read"
            description = "cannot \(attempt) \(path): \(String(cString: strerror(errno)))"
        }
    }

    /// Returns the content of a file; bytes that are not UTF-8 are replaced.
    package static func read(_ path: String) throws(Failure) -> String {
        guard let file = fopen(path, "r") else { throw Failure("read", path) }
        defer { fclose(file) }
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            let count = fread(&chunk, 1, chunk.count, file)
            guard count > 0 else { break }
            bytes += chunk[..<count]
        }
        guard ferror(file) == 0 else { throw Failure("read", path) }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Writes a file, replacing an existing one.
    package static func write(_ text: String, to path: String) throws(Failure) {
        guard let file = fopen(path, "w") else { throw Failure("create", path) }
        let bytes = Array(text.utf8)
        let count = fwrite(bytes, 1, bytes.count, file)
        guard fclose(file) == 0, count == bytes.count else { throw Failure("write", path) }
    }
}
