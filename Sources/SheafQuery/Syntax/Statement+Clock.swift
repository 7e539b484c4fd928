package import SheafDocument
import SheafText

/// Statements that depend on the current time.
extension Statement {
    /// A call of `clock()`, and whether it has a format.
    private typealias ClockCall = (range: SourceRange, hasArguments: Bool)

    /// Returns the statement with a fixed time in place of `clock()`; nil if it does not read it.
    ///
    /// Other stores then evaluate it for the same time, whatever their clocks show. `time` is in
    /// milliseconds since 1970. Only WHERE may read the clock. `tz_offset` is refused, because it
    /// reads the clock without a call of `clock()`.
    package func fixed(clockAt time: UInt64) throws(StoreError) -> Statement? {
        guard case .select(let select) = body else { return nil }
        for expression in select.ordering.expressions {
            guard let call = try clockCalls(in: expression).first else { continue }
            throw StoreError(
                .meaning,
                "clock() is allowed only in the WHERE of a subscription, not in ORDER BY or LIMIT",
                at: call.range, in: text)
        }
        guard let condition = select.condition else { return nil }
        let calls = try clockCalls(in: condition)
        guard !calls.isEmpty else { return nil }
        // After the year 9999 the value of clock() is MISSING.
        let moment = Moment(milliseconds: Int64(clamping: time)).map { "'\($0.text)'" }
        return try Parser.parse(Self.replacing(calls, in: text, with: moment ?? "MISSING"))
    }

    /// Returns the calls of `clock()` in the order of the text.
    private func clockCalls(in expression: Expression) throws(StoreError) -> [ClockCall] {
        var calls: [ClockCall] = []
        func search(_ expression: Expression) throws(StoreError) {
            if case .call(let call) = expression.node {
                switch call.name {
                case "clock": calls.append((expression.range, !call.arguments.isEmpty))
                case "tz_offset":
                    throw StoreError(
                        .meaning,
                        "tz_offset() can read the current time, so a subscription cannot contain it",
                        hint: "pass the offset as an argument", at: expression.range, in: text)
                default: break
                }
            }
            try expression.forEachChild(search)
        }
        try search(expression)
        return calls.sorted { $0.range.lower < $1.range.lower }
    }

    /// Replaces each call by a time, in the format of its arguments if it has any.
    private static func replacing(
        _ calls: [ClockCall], in text: String, with time: String
    ) -> String {
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

extension Ordering {
    /// The expressions of ORDER BY, LIMIT and OFFSET.
    fileprivate var expressions: [Expression] {
        terms.map(\.expression) + [limit, offset].compactMap { $0 }
    }
}
