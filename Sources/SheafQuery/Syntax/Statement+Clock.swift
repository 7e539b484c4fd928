package import SheafDocument
import SheafText

/// Statements that depend on the current time.
extension Statement {
    /// Returns the statement with a fixed time in place of `clock()`; nil if it does not read it.
    ///
    /// Other stores then evaluate it for the same time, whatever their clocks show. `time` is in
    /// milliseconds since 1970. Only WHERE may read the clock. `tz_offset` is refused, because it
    /// reads the clock without a call of `clock()`.
    package func fixed(clockAt time: UInt64) throws(StoreError) -> Statement? {
        guard case .select(let select) = body else { return nil }
        for expression in select.ordering.expressions where try callsClock(expression) {
            throw StoreError(
                .meaning,
                "clock() is allowed only in the WHERE of a subscription, not in ORDER BY or LIMIT",
                at: expression.range, in: text)
        }
        guard let condition = select.condition, try callsClock(condition) else { return nil }
        // After the year 9999 the value of clock() is MISSING.
        let moment = Moment(milliseconds: Int64(clamping: time)).map { "'\($0.text)'" }
        return try Parser.parse(Self.replacingCalls(in: text, with: moment ?? "MISSING"))
    }

    /// Whether an expression calls `clock()`; throws if it calls `tz_offset`.
    private func callsClock(_ expression: Expression) throws(StoreError) -> Bool {
        var callsClock = false
        func search(_ expression: Expression) throws(StoreError) {
            if case .call(let call) = expression.node {
                if call.name == "clock" { callsClock = true }
                guard call.name != "tz_offset" else {
                    throw StoreError(
                        .meaning,
                        "tz_offset() can read the current time, so a subscription cannot contain it",
                        hint: "pass the offset as an argument", at: expression.range, in: text)
                }
            }
            try expression.forEachChild(search)
        }
        try search(expression)
        return callsClock
    }

    /// Replaces each call of `clock()` by a time, in the format of its arguments if it has any.
    ///
    /// It works on tokens, because the range of an expression includes its parentheses.
    private static func replacingCalls(
        in text: String, with time: String
    ) throws(StoreError) -> String {
        let bytes = Array(text.utf8)
        return try bytes.withUnsafeBufferPointer { (buffer) throws(StoreError) in
            var lexer = Lexer(buffer)
            var result = ""
            var end = 0
            var token = try lexer.next()
            while token.kind != .endOfStatement {
                let name = token
                token = try lexer.next()
                guard name.kind == .word, lexer.lowercased(name) == "clock",
                    token.kind == .leftParenthesis
                else { continue }
                result += String(decoding: buffer[end..<name.lower], as: UTF8.self)
                end = token.upper
                token = try lexer.next()
                if token.kind == .rightParenthesis {
                    result += time
                    end = token.upper
                } else {
                    result += "date_format(\(time), "
                }
            }
            return result + String(decoding: buffer[end...], as: UTF8.self)
        }
    }
}

extension Ordering {
    /// The expressions of ORDER BY, LIMIT and OFFSET.
    fileprivate var expressions: [Expression] {
        terms.map(\.expression) + [limit, offset].compactMap { $0 }
    }
}
