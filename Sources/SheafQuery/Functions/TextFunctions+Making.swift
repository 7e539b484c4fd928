import SheafDocument
import SheafText

/// Functions that build strings.
extension Function {
    static let joins = [
        text("concat", 1...anyNumber) { (arguments) throws(StoreError) -> Value? in
            var builder = TextBuilder()
            for index in 0..<arguments.count { try builder.append(arguments.text(index).utf8) }
            return .string(builder.text)
        },
        Function("joinstr", 2...anyNumber) { (arguments, _) throws(StoreError) -> Value? in
            try joined(arguments)
        },
    ]

    /// Joins strings and the elements of arrays of strings, as the inverse of `split`.
    private static func joined(_ arguments: [Value?]) throws(StoreError) -> Value? {
        var isNull = false
        var pieces: [String] = []
        func add(_ value: Value?) -> Bool {
            switch value {
            case .null?: isNull = true
            case .string(let text)?: pieces.append(text)
            default: return false
            }
            return true
        }
        guard let separator = arguments.first, add(separator) else { return nil }
        for argument in arguments.dropFirst() {
            if case .array(let values)? = argument {
                guard values.allSatisfy({ add($0) }) else { return nil }
            } else {
                guard add(argument) else { return nil }
            }
        }
        guard !isNull else { return .null }
        var builder = TextBuilder()
        for (index, piece) in pieces.dropFirst().enumerated() {
            if index > 0 { try builder.append(pieces[0].utf8) }
            try builder.append(piece.utf8)
        }
        return .string(builder.text)
    }

    static let changes = [
        text("lpad", 2...3, counts: 1...1) { (arguments) throws(StoreError) -> Value? in
            let (text, padding) = try padded(arguments)
            return .string(padding + text)
        },
        text("rpad", 2...3, counts: 1...1) { (arguments) throws(StoreError) -> Value? in
            let (text, padding) = try padded(arguments)
            return .string(text + padding)
        },
        text("repeat", 2...2, counts: 1...1) { (arguments) throws(StoreError) -> Value? in
            let text = arguments.text(0)
            let count = Int(clamping: max(arguments.integer(1), 0))
            guard !text.isEmpty else { return "" }
            let (length, isTooMuch) = text.utf8.count.multipliedReportingOverflow(by: count)
            try TextBuilder.check(isTooMuch ? .max : length)
            return .string(String(repeating: text, count: count))
        },
        text("replace", 3...3) { (arguments) throws(StoreError) -> Value? in
            .string(try replaced(arguments))
        },
    ]

    /// Returns the text cut to the requested length, and the padding; spaces are the default.
    private static func padded(
        _ arguments: TextArguments
    ) throws(StoreError) -> (text: String, padding: String) {
        let text = arguments.text(0)
        let padding = arguments.count == 3 ? arguments.text(2) : " "
        let wanted = Int(clamping: max(arguments.integer(1), 0))
        let count = text.withBytes(UTF8Walk.count)
        guard wanted > count else {
            return (String(String.UnicodeScalarView(text.unicodeScalars.prefix(wanted))), "")
        }
        guard !padding.isEmpty else { return (text, "") }
        let unit = padding.withBytes(UTF8Walk.count)
        let (times, rest) = (wanted - count).quotientAndRemainder(dividingBy: unit)
        let (length, isTooMuch) = padding.utf8.count.multipliedReportingOverflow(by: times)
        try TextBuilder.check(isTooMuch ? .max : length)
        let last = String(String.UnicodeScalarView(padding.unicodeScalars.prefix(rest)))
        try TextBuilder.check(length + last.utf8.count + text.utf8.count)
        return (text, String(repeating: padding, count: times) + last)
    }

    /// Replaces all occurrences from left to right; an empty search string matches nothing.
    private static func replaced(_ arguments: TextArguments) throws(StoreError) -> String {
        let (old, new) = (arguments.text(1), arguments.text(2))
        guard !old.isEmpty else { return arguments.text(0) }
        let result = arguments.withBytes(of: 0, 1) { text, old in
            Result { () throws(StoreError) -> String in
                var builder = TextBuilder()
                var start = 0
                while let match = TextSearch.first(old, in: text, from: start) {
                    try builder.append(text[start..<match])
                    try builder.append(new.utf8)
                    start = match + old.count
                }
                try builder.append(text[start...])
                return builder.text
            }
        }
        return try result.get()
    }
}
