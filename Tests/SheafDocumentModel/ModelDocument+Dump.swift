import SheafDocument

extension ModelDocument {
    /// The complete contents of the document as lines of ASCII, equal for equal states.
    ///
    /// A line is `path|kind|stamp|epoch|what`, with these kinds:
    ///
    /// | kind | stamp | epoch | what |
    /// |---|---|---|---|
    /// | `vector` | newest of the site | | |
    /// | `deletion` | of the newest DELETE | | |
    /// | `override` | | | the part: `register`, `attachment`, `map`, `counter`, `olderCounter` |
    /// | `value`, `token` | of the dot | | the value |
    /// | `mark` | of the dot | | |
    /// | `restart` | of the dot | | the number |
    /// | `sum` | of the dot | of the restart | the number |
    /// | `olderSum` | of the dot | | the number |
    ///
    /// A path is a `/` and a name for each field, and empty for the root. A byte of a name that is
    /// not printable ASCII, or is one of `/`, `|` and `\`, is written as `\` and two hexadecimal
    /// digits. A stamp is `time.site`, both in decimal; the initial one is `0.0`. Values and
    /// numbers are their ascending keys with trailers, in lowercase hexadecimal. Each overridden
    /// part has its line. The lines are sorted by their bytes.
    package var dump: [String] {
        var lines: [String] = vector.map { site, time in
            Self.line([], "vector", Stamp(time, site))
        }
        if let deletion { lines.append(Self.line([], "deletion", deletion)) }
        for override in overrides {
            lines.append(Self.line(override.path, "override", what: "\(override.part)"))
        }
        for (dot, content) in dots {
            lines.append(
                Self.line(
                    dot.path, dot.kind.rawValue, dot.stamp,
                    epoch: dot.kind == .sum ? content.epoch : nil,
                    what: DumpText.hexadecimal(content.key)))
        }
        return lines.sorted()
    }

    private static func line(
        _ path: Path, _ kind: String, _ stamp: Stamp? = nil, epoch: Stamp? = nil, what: String = ""
    ) -> String {
        [DumpText.path(path), kind, text(stamp), text(epoch), what].joined(separator: "|")
    }

    private static func text(_ stamp: Stamp?) -> String {
        stamp.map { "\($0.time.rawValue).\($0.site.rawValue)" } ?? ""
    }
}
