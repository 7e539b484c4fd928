import Glibc

/// The names of sampled functions.
package enum SymbolName {
    /// Returns the group of a function, by its mangled name and the file that contains it.
    package static func group(of symbol: String, in file: String) -> String {
        if file.hasPrefix("[kernel") || file.hasPrefix("[guest") { return "kernel" }
        if let module = module(of: symbol) { return module }
        let counting = [
            "swift_retain", "swift_release", "swift_bridgeObject", "_swift_retain",
            "_swift_release", "swift_unowned", "swift_weak",
        ]
        if counting.contains(where: symbol.hasPrefix) { return "reference counting" }
        let allocating = [
            "malloc", "_int_malloc", "free", "_int_free", "cfree", "calloc", "realloc",
            "__libc_malloc", "__libc_calloc", "malloc_consolidate", "unlink_chunk", "sysmalloc",
            "swift_slowAlloc", "swift_slowDealloc", "swift_alloc", "_swift_alloc", "swift_dealloc",
            "_swift_dealloc", "swift_deallocClassInstance", "systrim", "tcache",
        ]
        if allocating.contains(where: symbol.hasPrefix) { return "memory allocation" }
        if symbol.hasPrefix("swift_task") || symbol.hasPrefix("swift_job") {
            return "Swift concurrency"
        }
        if symbol.hasPrefix("swift_") || symbol.hasPrefix("_swift_") { return "Swift runtime" }
        return library(file)
    }

    /// Returns the module in a mangled Swift name; nil for other names.
    package static func module(of symbol: String) -> String? {
        guard symbol.hasPrefix("$s") || symbol.hasPrefix("$S") else { return nil }
        let rest = symbol.dropFirst(2)
        guard let first = rest.first, ("1"..."9").contains(first) else { return "Swift" }
        let digits = rest.prefix { ("0"..."9").contains($0) }
        guard let length = Int(digits), length <= rest.utf8.count else { return "Swift" }
        return String(rest.dropFirst(digits.count).prefix(length))
    }

    /// Returns the short name of a library or program.
    private static func library(_ file: String) -> String {
        let name = file.split(separator: "/").last.map(String.init) ?? file
        let known = [
            "libc.so": "C library", "libc-": "C library", "libm.so": "C library",
            "ld-linux": "C library", "libsqlite3": "SQLite", "libcrypto": "OpenSSL",
            "libssl": "OpenSSL", "libswift_Concurrency": "Swift concurrency",
            "libdispatch": "Swift concurrency", "libswiftCore": "Swift runtime", "[vdso]": "kernel",
            "[unknown]": "unknown",
        ]
        for (prefix, group) in known where name.hasPrefix(prefix) { return group }
        return name.split(separator: ".").first.map(String.init) ?? name
    }

    /// Returns readable names of mangled Swift names; empty if `swift demangle` is not installed.
    static func readable(_ symbols: Set<String>, folder: Folder) -> [String: String] {
        let mangled = symbols.filter { module(of: $0) != nil }.sorted()
        let (input, output) = ("\(folder.path)/mangled", "\(folder.path)/demangled")
        guard !mangled.isEmpty,
            (try? TextFile.write(mangled.joined(separator: "\n") + "\n", to: input)) != nil,
            let process = try? ChildProcess(
                ["swift", "demangle", "--compact", "--simplified"], input: input, output: output,
                errors: "/dev/null"),
            process.wait() == 0, let text = try? TextFile.read(output)
        else { return [:] }
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        guard lines.count >= mangled.count else { return [:] }
        return Dictionary(zip(mangled, lines)) { first, _ in first }
    }
}
