import SheafDocument

/// A parsed conformance file; `Tests/Conformance/README.md` describes its syntax.
package struct ConformanceFile: Sendable {
    package let name: String
    package private(set) var lines: [String]
    package private(set) var cases: [ConformanceCase] = []
    package private(set) var settings: [ConformanceSetting] = [ConformanceSetting()]

    private var setting = ConformanceSetting()
    private var title: String?
    /// The collection of the documents in lines with objects.
    private var collection: String?
    private var documents: [Value] = []
    private var table: ConformanceTable?
    /// Whether the next lines may complete the statement parsed last.
    private var isAnswering = false

    /// Parses the text of a file; throws its first error.
    package init(_ text: String, name: String) throws(ConformanceSyntaxError) {
        self.name = name
        lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        for index in lines.indices { try read(lines[index], index) }
        endDocuments()
    }

    /// Replaces a range of lines; the new ones are not parsed.
    package mutating func replace(_ range: Range<Int>, with new: [String]) {
        lines.replaceSubrange(range, with: new)
    }

    private mutating func read(_ line: String, _ index: Int) throws(ConformanceSyntaxError) {
        let rest = String(line.dropFirst(2))
        if line.hasPrefix("{") {
            guard collection != nil else { throw mistake(index, "a document without a collection") }
            documents.append(try json(line, index))
            return
        }
        endDocuments()
        switch line.prefix(2) {
        case "> ":
            begin(ConformanceStatement(line: index + 1, text: rest), isNew: true)
        case "& ":
            guard !cases.isEmpty else { throw mistake(index, "a & line without a preceding case") }
            begin(ConformanceStatement(line: index + 1, text: rest), isNew: false)
        case "  ": try goOn(with: rest, index)
        case ": ": try arguments(rest, index)
        case "= ": try answer("= " + json(rest, index).json, index)
        case "~ ": try answer("~ " + json(rest, index).json, index)
        case "! ", "^ ", "+ ": try answer(line, index)
        case "? ": try inline(rest, index)
        case "| ", "|-": try row(line, index)
        case "- ": title = rest
        default: try setUp(line, index)
        }
        if line.hasPrefix("> ") || line.hasPrefix("& ") || line.hasPrefix("? ") {
            guard title != nil else { throw mistake(index, "a case without a title (- TITLE)") }
        }
    }

    private mutating func setUp(_ line: String, _ index: Int) throws(ConformanceSyntaxError) {
        isAnswering = false
        table = nil
        guard !line.isEmpty, !line.hasPrefix("#") else { return }
        let word = line.prefix { $0 != " " }
        let rest = String(line.dropFirst(word.count + 1))
        switch word {
        case "new": setting = ConformanceSetting()
        case "documents": collection = rest
        case "do": setting.actions.append(.statement(rest))
        case "index": setting.actions.append(.index(rest))
        case "grid": table = ConformanceTable(.values, rest)
        case "where": table = ConformanceTable(.ids, rest)
        default: throw mistake(index, "unknown directive \(word)")
        }
    }

    private mutating func endDocuments() {
        guard let name = collection, !documents.isEmpty else { return }
        setting.actions.append(.documents(collection: name, documents))
        (collection, documents) = (nil, [])
    }

    private mutating func begin(_ step: ConformanceStatement, isNew: Bool) {
        table = nil
        isAnswering = true
        var step = step
        step.answerLines = step.line..<step.line
        guard isNew else {
            cases[cases.count - 1].steps.append(step)
            return
        }
        if settings.last != setting { settings.append(setting) }
        cases.append(
            ConformanceCase(title: title ?? "", setting: settings.count - 1, steps: [step]))
    }

    /// Changes the step parsed last.
    private mutating func change(
        _ index: Int, _ body: (inout ConformanceStatement) -> Void
    ) throws(ConformanceSyntaxError) {
        guard isAnswering else { throw mistake(index, "a line without a preceding statement") }
        let last = cases.count - 1
        body(&cases[last].steps[cases[last].steps.count - 1])
    }

    private mutating func goOn(with text: String, _ index: Int) throws(ConformanceSyntaxError) {
        try change(index) { step in
            var longer = ConformanceStatement(line: step.line, text: step.text + "\n" + text)
            longer.answerLines = index + 1..<index + 1
            step = longer
        }
    }

    private mutating func arguments(_ text: String, _ index: Int) throws(ConformanceSyntaxError) {
        guard case .object(let object) = try json(text, index) else {
            throw mistake(index, "the arguments must be a JSON object")
        }
        try change(index) { step in
            for field in object { step.arguments[field.name] = field.value }
            step.answerLines = index + 1..<index + 1
        }
    }

    private mutating func answer(_ line: String, _ index: Int) throws(ConformanceSyntaxError) {
        try change(index) { step in
            step.expected.append(line)
            let lower = step.answerLines?.lowerBound ?? index
            step.answerLines = lower..<index + 1
        }
    }

    private mutating func inline(_ rest: String, _ index: Int) throws(ConformanceSyntaxError) {
        var expression = rest
        var expected: [String] = []
        if let arrow = rest.lastRange(of: " => ") {
            expression = String(rest[..<arrow.lowerBound])
            let text = String(rest[arrow.upperBound...])
            expected = [text == "MISSING" ? "= {}" : "= {\"v\":\(try json(text, index).json)}"]
        }
        let text = "SELECT \(expression) AS v FROM system:dual"
        begin(ConformanceStatement(line: index + 1, text: text), isNew: true)
        try change(index) { step in
            step.expected = expected
            step.isInline = !expected.isEmpty
        }
    }

    private mutating func row(_ line: String, _ index: Int) throws(ConformanceSyntaxError) {
        guard var table else { throw mistake(index, "a row without a grid or where line") }
        let steps = try table.read(line) { (text) throws(ConformanceSyntaxError) in
            text == "MISSING" ? nil : try json(text, index)
        }
        for (text, expected) in steps {
            begin(ConformanceStatement(line: index + 1, text: text), isNew: true)
            try change(index) { step in
                step.expected = expected
                step.answerLines = nil
            }
        }
        self.table = table
    }

    private func json(_ text: String, _ index: Int) throws(ConformanceSyntaxError) -> Value {
        do throws(JSONError) { return try Value(json: text) } catch {
            throw mistake(index, "invalid JSON: \(error)")
        }
    }

    private func mistake(_ index: Int, _ reason: String) -> ConformanceSyntaxError {
        ConformanceSyntaxError(file: name, line: index + 1, reason: reason)
    }
}

extension String {
    /// Returns the range of the last occurrence of `text`.
    fileprivate func lastRange(of text: String) -> Range<Index>? {
        var end = endIndex
        while true {
            if self[..<end].hasSuffix(text) {
                return index(end, offsetBy: -text.count)..<end
            }
            guard end > startIndex else { return nil }
            end = index(before: end)
        }
    }
}
