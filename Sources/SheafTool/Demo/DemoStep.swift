/// A line of the output of the demonstration.
struct DemoStep: Sendable {
    /// The parts of a step; each kind has its own layout and key.
    enum Content: Sendable {
        case title(String)
        case sentence(String)
        case statement(String, peer: String? = nil)
        case document(String, peer: String?)
        case command(String)
    }

    var content: Content
    /// The measured time of the step.
    var nanoseconds: UInt64?

    /// The layout of a terminal.
    private enum Layout {
        static let columns = 80
        static let timeColumns = 10
        static let indentation = "   "
        static let peerColumns = 5
    }

    /// The step as one or more lines for a terminal.
    var text: String {
        let lines =
            switch content {
            case .title(let title): ["", title]
            case .sentence(let sentence): [Layout.indentation + sentence]
            case .statement(let statement, let peer): Self.lines(of: statement, peer)
            case .document(let document, let peer?):
                [
                    Layout.indentation
                        + peer.padded(to: Layout.peerColumns)
                        + TerminalText.visible(document)
                ]
            case .document(let document, nil):
                [Layout.indentation + TerminalText.visible(document)]
            case .command(let command): [Layout.indentation + command]
            }
        guard let time else { return lines.joined(separator: "\n") }
        let timed = lines[lines.count - 1].padded(to: Layout.columns - Layout.timeColumns)
        let gap = String(repeating: " ", count: max(1, Layout.timeColumns - time.utf8.count))
        return (lines.dropLast() + [timed + gap + time]).joined(separator: "\n")
    }

    /// The lines of a statement after the name of its peer and a prompt.
    private static func lines(of statement: String, _ peer: String?) -> [String] {
        let name = peer.map { $0.padded(to: Layout.peerColumns) } ?? ""
        return statement.split(separator: "\n").enumerated().map { index, line in
            Layout.indentation + (index == 0 ? "\(name)> " : "  ") + line
        }
    }

    /// The time with its unit, with two decimals below ten milliseconds.
    private var time: String? {
        guard let nanoseconds else { return nil }
        let hundredths = nanoseconds < 10_000_000
        let unit: UInt64 = hundredths ? 10_000 : 100_000
        let (whole, rest) = ((nanoseconds + unit / 2) / unit)
            .quotientAndRemainder(dividingBy: hundredths ? 100 : 10)
        let zero = hundredths && rest < 10 ? "0" : ""
        return "\(whole).\(zero)\(rest) ms"
    }

    /// The step as a line of JSON.
    var json: String {
        var line = JSONLine()
        var title: String?
        var sentence: String?
        var statement: String?
        var peer: String?
        var document: String?
        var command: String?
        switch content {
        case .title(let text): title = text
        case .sentence(let text): sentence = text
        case .statement(let text, let name):
            statement = text.split(separator: "\n").joined(separator: " ")
            peer = name
        case .document(let text, let name): (document, peer) = (text, name)
        case .command(let text): command = text
        }
        line.add("title", title)
        line.add("step", sentence)
        line.add("statement", statement)
        line.add("peer", peer)
        line.add("document", raw: document ?? "null")
        line.add("milliseconds", raw: nanoseconds.map { "\(Double($0 / 1_000) / 1_000)" } ?? "null")
        line.add("command", command)
        return line.closed
    }
}

extension String {
    fileprivate func padded(to columns: Int) -> String {
        self + String(repeating: " ", count: max(0, columns - count))
    }
}
