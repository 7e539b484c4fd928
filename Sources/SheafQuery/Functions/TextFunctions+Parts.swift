import SheafDocument
import SheafText

/// Functions that search, split and trim strings.
extension Function {
    static let parts = [
        text("substr", 2...3, counts: 1...2) { .string(substring($0)) },
        text("pos", 2...2) { arguments in
            arguments.withBytes(of: 0, 1) { text, part in
                guard let offset = TextSearch.first(part, in: text) else { return .integer(-1) }
                return .integer(
                    Int64(UTF8Walk.count(UnsafeRawBufferPointer(rebasing: text[..<offset]))))
            }
        },
        text("split", 1...2, split),
    ]

    /// Returns a substring; indexes count from zero, negative ones from the end.
    ///
    /// `substr('abc', -5)` is `abc`; `substr('abc', 5)` and negative lengths are empty.
    private static func substring(_ arguments: TextArguments) -> String {
        arguments.text(0).withBytes { text in
            var start = arguments.integer(1)
            if start < 0 { start += Int64(UTF8Walk.count(text)) }
            let lower = UTF8Walk.offset(text, ofScalar: Int(clamping: start))
            let rest = UnsafeRawBufferPointer(rebasing: text[lower...])
            guard arguments.count == 3 else { return String(decoding: rest, as: UTF8.self) }
            let length = UTF8Walk.offset(rest, ofScalar: Int(clamping: arguments.integer(2)))
            return String(decoding: rest[..<length], as: UTF8.self)
        }
    }

    /// Splits at a separator: without one at white space, with an empty one between all characters.
    @Sendable private static func split(
        _ arguments: TextArguments
    ) throws(StoreError) -> Value? {
        let (text, separator) = (arguments.text(0), arguments.text(1))
        let parts: [Value]?
        if arguments.count == 1 {
            let words = text.unicodeScalars.split(maxSplits: QueryLimits.maximumElements) {
                $0.properties.isWhitespace
            }
            parts = elements(words.lazy.map { String($0) })
        } else if separator.isEmpty {
            parts = elements(text.unicodeScalars.lazy.map { String($0) })
        } else {
            parts = arguments.withBytes(of: 0, 1) { split($0, at: $1) }
        }
        guard let parts else {
            throw StoreError(
                .limit, "an array has more than \(QueryLimits.maximumElements) elements")
        }
        return .array(parts)
    }

    /// Returns the elements of a sequence, or nil if an array must not have that many.
    private static func elements(_ texts: some Sequence<String>) -> [Value]? {
        var elements: [Value] = []
        for text in texts {
            guard elements.count < QueryLimits.maximumElements else { return nil }
            elements.append(.string(text))
        }
        return elements
    }

    private static func split(
        _ text: UnsafeRawBufferPointer, at separator: UnsafeRawBufferPointer
    ) -> [Value]? {
        var parts: [Value] = []
        var start = 0
        while parts.count < QueryLimits.maximumElements {
            let end = TextSearch.first(separator, in: text, from: start)
            parts.append(
                .string(String(decoding: text[start..<(end ?? text.count)], as: UTF8.self)))
            guard let end else { return parts }
            start = end + separator.count
        }
        return nil
    }

    static let trims = [
        text("ltrim", 1...2) { .string(trimmed($0, left: true, right: false)) },
        text("rtrim", 1...2) { .string(trimmed($0, left: false, right: true)) },
        text("trim", 1...2) { .string(trimmed($0, left: true, right: true)) },
    ]

    /// Removes white space, or the characters of the second argument, at the given ends.
    private static func trimmed(_ arguments: TextArguments, left: Bool, right: Bool) -> String {
        let characters = Set(arguments.text(1).unicodeScalars)
        let isSent = arguments.count == 2
        func isTrimmed(_ scalar: Unicode.Scalar) -> Bool {
            isSent ? characters.contains(scalar) : scalar.properties.isWhitespace
        }
        let scalars = arguments.text(0).unicodeScalars
        var rest = scalars[...]
        if left { rest = rest.drop(while: isTrimmed) }
        if right, let last = rest.lastIndex(where: { !isTrimmed($0) }) {
            rest = rest[...last]
        } else if right {
            rest = rest[rest.startIndex..<rest.startIndex]
        }
        return String(rest)
    }
}
