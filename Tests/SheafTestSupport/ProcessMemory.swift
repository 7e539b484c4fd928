#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Memory usage of a process, as Linux reports it.
package enum ProcessMemory {
    /// Returns a value of the status of a process, by default this one, such as `VmRSS` or `VmHWM`.
    ///
    /// Returns 0 if it is unavailable.
    package static func kibibytes(_ name: String, of process: Int32 = getpid()) -> Int {
        guard let file = fopen("/proc/\(process)/status", "r") else { return 0 }
        defer { fclose(file) }
        var letters = [UInt8](repeating: 0, count: 8_192)
        let count = fread(&letters, 1, letters.count, file)
        let text = String(decoding: letters[..<count], as: UTF8.self)
        let line = text.split(separator: "\n").first { $0.hasPrefix(name + ":") }
        return Int(line?.split(whereSeparator: { !$0.isNumber }).first ?? "") ?? 0
    }

    /// Resets the peak `VmHWM` of a process, by default this one.
    package static func forgetPeak(of process: Int32 = getpid()) {
        guard let file = fopen("/proc/\(process)/clear_refs", "w") else { return }
        fputs("5", file)
        fclose(file)
    }
}
