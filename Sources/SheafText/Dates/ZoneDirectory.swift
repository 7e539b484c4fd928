import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// The time zones in a directory of the system, by name.
///
/// Zones are cached, so a changed file may take effect only after a restart.
package final class ZoneDirectory: Sendable {
    /// The usual directory of time zones.
    package static let system = ZoneDirectory("/usr/share/zoneinfo")

    /// Maximum length of a name in bytes.
    private static let maximumNameLength = 64
    /// Maximum number of names cached, because queries may contain arbitrary names.
    private static let maximumCount = 1_024

    private let path: String
    private let zones = Mutex<[String: ZoneHistory?]>([:])

    package init(_ path: String) {
        self.path = path
    }

    /// Returns a zone by name or offset: `Europe/Berlin`, `UTC`, `Z`, `+05:30`.
    package func zone(_ name: String) -> Zone? {
        if name == "UTC" { return .utc }
        guard name.utf8.count <= Self.maximumNameLength else { return nil }
        var scanner = DateScanner(name)
        if let offset = scanner.offset() {
            if scanner.isAtEnd { return .fixed(seconds: offset) }
        }
        guard Self.isName(name) else { return nil }
        if let known = zones.withLock({ $0[name] }) { return known.map { .history($0) } }
        let history = history(of: name)
        zones.withLock {
            if $0.count >= Self.maximumCount { $0.removeAll() }
            $0.updateValue(history, forKey: name)
        }
        return history.map { .history($0) }
    }

    /// Whether a text is a relative path of plain names, without dots or empty components.
    private static func isName(_ name: String) -> Bool {
        var isBetween = true
        for byte in name.utf8 {
            switch byte {
            case 0x2F where isBetween: return false
            case 0x2F: isBetween = true
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x5F, 0x2B, 0x2D: isBetween = false
            default: return false
            }
        }
        return !isBetween
    }

    private func history(of name: String) -> ZoneHistory? {
        // A special file such as a pipe must not block.
        let descriptor = open(path + "/" + name, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG,
            status.st_size <= ZoneFile.maximumLength
        else { return nil }
        var bytes = [UInt8](repeating: 0, count: ZoneFile.maximumLength + 1)
        var count = 0
        while count < bytes.count {
            let free = bytes.count - count
            let result = bytes.withUnsafeMutableBytes {
                read(descriptor, $0.baseAddress.map { $0 + count }, free)
            }
            if result < 0 && errno == EINTR { continue }
            guard result >= 0 else { return nil }
            guard result > 0 else { break }
            count += result
        }
        return ZoneFile.history(Array(bytes.prefix(count)))
    }
}
