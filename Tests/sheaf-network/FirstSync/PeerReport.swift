import SheafSystem

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// A line that the process of a peer prints: the time, an event, a text, and numbers with names.
struct PeerReport {
    /// The time of the monotonic clock, which all processes of a machine share.
    let at: Int
    let event: String
    /// The words without a number.
    let text: String
    let numbers: [String: Int]

    /// Parses a line; nil if it is no report.
    init?(_ line: String) {
        var words = line.split(separator: " ").map(String.init)
        guard words.count >= 2, let at = Int(words.removeFirst()) else { return nil }
        self.at = at
        event = words.removeFirst()
        var numbers: [String: Int] = [:]
        var text: [String] = []
        for word in words {
            let parts = word.split(separator: "=")
            if parts.count == 2, let number = Int(parts[1]) {
                numbers[String(parts[0])] = number
            } else {
                text.append(word)
            }
        }
        self.text = text.joined(separator: " ")
        self.numbers = numbers
    }

    /// A number by its name; 0 if it is missing.
    subscript(name: String) -> Int { numbers[name] ?? 0 }

    /// Prints a report in one unbuffered call, so that those of several threads do not mix.
    static func print(_ words: String, _ numbers: [(String, Int)] = []) {
        let line =
            "\(Clock.system.monotonicNanoseconds()) \(words)"
            + numbers.map { " \($0.0)=\($0.1)" }.joined() + "\n"
        let bytes = Array(line.utf8)
        _ = write(1, bytes, bytes.count)
    }
}
