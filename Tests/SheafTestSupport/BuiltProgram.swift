#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// The programs of this package, which are built beside the tests.
package enum BuiltProgram {
    /// Returns the path of a program, such as `sheaf`.
    package static func path(of name: String) -> String { directory + name }

    /// The directory of the test program, with a slash at its end.
    private static let directory: String = {
        #if os(Linux)
            var path = [CChar](repeating: 0, count: 4_096)
            _ = readlink("/proc/self/exe", &path, path.count - 1)
            let own = String(
                decoding: path.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        #else
            let own = CommandLine.arguments.first ?? ""
        #endif
        return own.lastIndex(of: "/").map { String(own[...$0]) } ?? ""
    }()
}
