#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// What the system says of the memory of this process.
package enum ProcessMemory {
    /// A line of `/proc/self/status`, such as `VmRSS` or `VmHWM`; 0 where there is none.
    package static func kibibytes(_ name: String) -> Int {
        guard let file = fopen("/proc/self/status", "r") else { return 0 }
        defer { fclose(file) }
        var letters = [UInt8](repeating: 0, count: 8_192)
        let count = fread(&letters, 1, letters.count, file)
        let text = String(decoding: letters[..<count], as: UTF8.self)
        let line = text.split(separator: "\n").first { $0.hasPrefix(name + ":") }
        return Int(line?.split(whereSeparator: { !$0.isNumber }).first ?? "") ?? 0
    }

    /// Has `VmHWM` begin anew.
    package static func forgetPeak() {
        guard let file = fopen("/proc/self/clear_refs", "w") else { return }
        fputs("5", file)
        fclose(file)
    }
}
