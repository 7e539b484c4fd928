/// The samples of a profile.
package struct Profile {
    /// A function on the stack.
    package struct Frame: Hashable {
        /// The name as the compiler mangled it.
        package let symbol: String
        /// The library or program that contains the function.
        package let file: String

        /// Creates a frame.
        package init(symbol: String, file: String) {
            self.symbol = symbol
            self.file = file
        }
    }

    /// The number of samples of each stack, outermost function first.
    package private(set) var stacks: [[Frame]: Int] = [:]

    /// Number of samples.
    package var count: Int { stacks.values.reduce(0, +) }

    /// Maximum number of functions of a stack; deeper ones are cut at the outer end.
    private static let maximumDepth = 200

    /// Reads the text of `perf script` with the fields comm, tid, ip, sym and dso.
    ///
    /// A sample is a line with the thread, and an indented line for each function, innermost first.
    package init(parsing text: String) {
        var frames: [Frame] = []
        for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
            guard line.first?.isWhitespace ?? false else {
                add(frames)
                frames = []
                continue
            }
            if let frame = Self.frame(line) { frames.append(frame) }
        }
        add(frames)
    }

    private mutating func add(_ frames: [Frame]) {
        guard !frames.isEmpty else { return }
        stacks[frames.prefix(Self.maximumDepth).reversed(), default: 0] += 1
    }

    /// Reads a line such as `  7f03 malloc (/usr/lib/libc.so.6)`.
    private static func frame(_ line: Substring) -> Frame? {
        let words = line.drop { $0.isWhitespace }
        guard let blank = words.firstIndex(where: \.isWhitespace),
            words[..<blank].allSatisfy(\.isHexDigit)
        else { return nil }
        let rest = words[words.index(after: blank)...]
        guard rest.last == ")", let opening = rest.ranges(of: " (").last else {
            return Frame(symbol: String(rest), file: "[unknown]")
        }
        let file = rest[opening.upperBound...].dropLast()
        return Frame(symbol: String(rest[..<opening.lowerBound]), file: String(file))
    }
}

extension Profile {
    /// The samples of a group or function.
    package struct Share: Equatable {
        package let name: String
        /// Samples in the innermost function.
        package var own: Int
        /// Samples on whose stack it occurs.
        package var total: Int
    }

    /// Returns the samples by a name of each frame, most own samples first.
    package func shares(_ name: (Frame) -> String) -> [Share] {
        var names: [Frame: String] = [:]
        var shares: [String: Share] = [:]
        for (stack, count) in stacks {
            let path = stack.map { frame -> String in
                if let known = names[frame] { return known }
                let new = name(frame)
                names[frame] = new
                return new
            }
            for name in Set(path) {
                shares[name, default: Share(name: name, own: 0, total: 0)].total += count
            }
            if let last = path.last { shares[last]?.own += count }
        }
        return shares.values.sorted {
            ($1.own, $1.total, $0.name) < ($0.own, $0.total, $1.name)
        }
    }

    /// Returns folded stacks: functions separated by semicolons, a blank, and the samples.
    package func folded(_ name: (Frame) -> String) -> String {
        var lines: [String: Int] = [:]
        for (stack, count) in stacks {
            let names = stack.map { frame in
                // A semicolon or line break would end the name.
                String(name(frame).map { $0 == ";" || $0.isNewline ? "," : $0 })
            }
            lines[names.joined(separator: ";"), default: 0] += count
        }
        return lines.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)\n" }.joined()
    }

    /// Returns a table of groups, and one of the functions with the most own samples.
    package func table(
        functions: Int = 25, _ name: (Frame) -> String
    ) -> [String] {
        let all = Double(max(count, 1))
        func rows(_ shares: some Sequence<Share>) -> [[String]] {
            shares.map { share in
                [share.own, share.total].map {
                    "\(Format.fixed(Double($0) / all * 100, decimals: 1)) %"
                } + [share.name]
            }
        }
        let groups = shares { SymbolName.group(of: $0.symbol, in: $0.file) }
        let header = [["self", "total", "group"]]
        let best = shares { frame in
            "\(name(frame))  [\(SymbolName.group(of: frame.symbol, in: frame.file))]"
        }
        return Format.table(header + rows(groups), rightAligned: [0, 1]) + [""]
            + Format.table(
                [["self", "total", "function"]]
                    + rows(best.prefix { $0.own > 0 }.prefix(functions)),
                rightAligned: [0, 1])
    }
}
