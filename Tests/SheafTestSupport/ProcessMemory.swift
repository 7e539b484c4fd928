#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Memory usage of this process, as Linux reports it.
package enum ProcessMemory {
    /// Returns a value of `/proc/self/status`, such as `VmRSS` or `VmHWM`; 0 if unavailable.
    package static func kibibytes(_ name: String) -> Int {
        guard let file = fopen("/proc/self/status", "r") else { return 0 }
        defer { fclose(file) }
        var letters = [UInt8](repeating: 0, count: 8_192)
        let count = fread(&letters, 1, letters.count, file)
        let text = String(decoding: letters[..<count], as: UTF8.self)
        let line = text.split(separator: "\n").first { $0.hasPrefix(name + ":") }
        return Int(line?.split(whereSeparator: { !$0.isNumber }).first ?? "") ?? 0
    }

    /// Resets the peak `VmHWM`.
    package static func forgetPeak() {
        guard let file = fopen("/proc/self/clear_refs", "w") else { return }
        fputs("5", file)
        fclose(file)
    }
}
