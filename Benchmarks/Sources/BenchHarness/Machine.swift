import Glibc

/// The machine on which figures were measured.
package struct Machine {
    package let processor: String
    package let cores: Int
    package let memoryGiB: Int
    package let kernel: String

    /// Returns a description of this machine.
    package static func current() -> Machine {
        var name = utsname()
        uname(&name)
        let kernel = withUnsafeBytes(of: name.release) { bytes in
            String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
        }
        let pages = sysconf(Int32(_SC_PHYS_PAGES))
        let memory = Double(pages) * Double(sysconf(Int32(_SC_PAGESIZE)))
        return Machine(
            processor: field("model name", of: "/proc/cpuinfo") ?? "unknown processor",
            cores: Int(sysconf(Int32(_SC_NPROCESSORS_ONLN))),
            memoryGiB: Int((memory / 1_073_741_824).rounded()), kernel: kernel)
    }

    /// Describes the machine, the build and the file system of the data on one line.
    package func description(fileSystem: String) -> String {
        "\(processor), \(cores) cores, \(memoryGiB) GiB, Linux \(kernel), \(fileSystem), "
            + "\(Self.compiler), \(Self.isRelease ? "release" : "debug")"
    }

    /// Whether the program was built with optimization.
    package static var isRelease: Bool {
        #if DEBUG
            false
        #else
            true
        #endif
    }

    /// The compiler version, as far as conditional compilation can detect it.
    private static var compiler: String {
        #if compiler(>=6.4)
            "Swift 6.4 or later"
        #elseif compiler(>=6.3.1)
            "Swift 6.3.1"
        #elseif compiler(>=6.3)
            "Swift 6.3"
        #else
            "Swift 6.2"
        #endif
    }

    private static func field(_ name: String, of path: String) -> String? {
        guard let file = fopen(path, "r") else { return nil }
        defer { fclose(file) }
        var line = [CChar](repeating: 0, count: 1_024)
        while fgets(&line, Int32(line.count), file) != nil {
            let text = String(
                decoding: line.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
            guard text.hasPrefix(name), let colon = text.firstIndex(of: ":") else { continue }
            return String(text[text.index(after: colon)...].drop { $0 == " " }.dropLast())
        }
        return nil
    }
}
