package import SheafDocument
import SheafText

/// Statements that depend on the current time.
extension Statement {
    /// Returns the statement with a fixed time in place of `clock()`; nil if it does not read it.
    ///
    /// Other stores then evaluate it for the same time, whatever their clocks show. `time` is in
    /// milliseconds since 1970.
    package func fixed(clockAt time: UInt64) throws(StoreError) -> Statement? {
        guard case .select(let select) = body else { return nil }
        var calls: [(range: SourceRange, hasArguments: Bool)] = []
        func search(_ expression: Expression) throws(StoreError) {
            if case .call(let call) = expression.node, call.name == "clock" {
                calls.append((expression.range, !call.arguments.isEmpty))
            }
            try expression.forEachChild(search)
        }
        for expression in [select.condition].compactMap({ $0 })
            + select.ordering.terms.map(\.expression)
        {
            try search(expression)
        }
        guard !calls.isEmpty else { return nil }
        let moment = Moment(milliseconds: Int64(clamping: time))
        let text = try Self.replacing(
            calls.sorted { $0.range.lower < $1.range.lower }, in: self.text,
            with: "'\(moment?.text ?? "")'")
        return try Parser.parse(text)
    }

    /// Replaces each call by a time, in the format of its arguments if it has any.
    private static func replacing(
        _ calls: [(range: SourceRange, hasArguments: Bool)], in text: String, with time: String
    ) throws(StoreError) -> String {
        let bytes = Array(text.utf8)
        var result = ""
        var end = 0
        func append(_ range: Range<Int>) { result += String(decoding: bytes[range], as: UTF8.self) }
        for (range, hasArguments) in calls where range.lower >= end {
            append(end..<range.lower)
            guard hasArguments else {
                result += time
                end = range.upper
                continue
            }
            let open = bytes[range.lower..<range.upper].firstIndex(of: UInt8(ascii: "("))
            result += "date_format(\(time), "
            end = open.map { $0 + 1 } ?? range.upper
        }
        append(end..<bytes.count)
        return result
    }
}
