import SheafBytes
import SheafDocument

/// The text of key ranges as conditions, such as `color = "blue"` or `mileage > 5000`.
struct SpanText {
    private let fields: [IndexDescription.Field]
    private let prefix: [UInt8]
    private let irregularKeys: KeyRange?

    /// Bounds before and after all possible components.
    private static let start: [UInt8] = [0x01]
    private static let end: [UInt8] = [0xFF]
    private static let irregular = "values too long for the index"
    /// Maximum number of spans in one line.
    private static let maximumAlternatives = 8

    /// Creates a description of keys that consist of `prefix` and the values of fields.
    package init(
        _ fields: [IndexDescription.Field], behind prefix: [UInt8], irregular: KeyRange? = nil
    ) {
        self.fields = fields
        self.prefix = prefix
        irregularKeys = irregular
    }

    init(_ index: IndexDescription) {
        let id = IndexDescription.Field([Row.idName], isDescending: false)
        self.init(index.fields + [id], behind: index.keyPrefix, irregular: index.irregularKeys)
    }

    /// Returns descriptions of the ids in document keys.
    static func ids(_ keys: [[UInt8]], behind prefix: [UInt8]) -> [String] {
        keys.map { key in
            guard let id = try? DocumentID.id(of: Array(key.dropFirst(prefix.count))) else {
                return "_id = " + hexadecimal(key)
            }
            return "_id = " + id.json
        }
    }

    /// Returns several spans joined in one line.
    static func alternatives(_ spans: [String]) -> String {
        let shown = spans.prefix(maximumAlternatives).joined(separator: " or ")
        let rest = spans.count - maximumAlternatives
        return rest > 0 ? shown + " or \(rest) more" : shown
    }

    /// Returns a description of a range, or nil if it contains all keys.
    func text(of range: KeyRange) -> String? {
        if let irregularKeys, range == irregularKeys { return Self.irregular }
        let all = KeyRange.prefix(prefix)
        var suffix = ""
        if let irregularKeys, range.upper == irregularKeys.upper {
            suffix = " or " + Self.irregular
        }
        if range.lower == prefix, range.upper == all.upper || !suffix.isEmpty { return nil }
        let lower = Array(range.lower.dropFirst(prefix.count))
        let isOpen = range.upper == all.upper || !suffix.isEmpty
        let upper = isOpen ? nil : range.upper.map { Array($0.dropFirst(prefix.count)) }
        if let upper, let text = beginning(lower, upper) { return text }
        var best: String?
        let uppers: [SpanBound?] = upper.map { bounds($0, isUpper: true) } ?? [nil]
        for low in bounds(lower, isUpper: false) {
            for high in uppers {
                guard let text = text(low, high) else { continue }
                if best.map({ text.utf8.count < $0.utf8.count }) ?? true { best = text }
            }
        }
        let found =
            best ?? "keys from \(Self.hexadecimal(lower))"
            + (upper.map { " before \(Self.hexadecimal($0))" } ?? "")
        return found + suffix
    }

    // MARK: Bounds

    /// Returns all interpretations of a bound.
    private func bounds(_ bytes: [UInt8], isUpper: Bool) -> [SpanBound] {
        var found: [SpanBound] = []
        let (values, length) = read(bytes)
        let rest = bytes[length...]
        if rest.isEmpty {
            found.append(SpanBound(values: values, position: .value(isBehind: false)))
        } else if values.count < fields.count {
            let mask: UInt8 = fields[values.count].isDescending ? 0xFF : 0
            if Array(rest) == (isUpper ? Self.end : Self.start) {
                found.append(SpanBound(values: values, position: .value(isBehind: isUpper)))
            } else if !isUpper, rest.count == 1,
                let kind = SortKeyReader.kindName(bytes[length] ^ mask)
            {
                found.append(SpanBound(values: values, position: .kind(kind)))
            } else if mask == 0, let text = SortKeyReader.readText(beginning: rest) {
                // A string without its terminator is the bound before all strings with this prefix.
                found.append(
                    SpanBound(values: values + [.string(text)], position: .value(isBehind: false)))
            }
        }
        // The bound after all keys with a prefix has the last byte of the prefix incremented.
        guard let last = bytes.last, last > 0 else { return found }
        let before = bytes.dropLast() + [last - 1]
        let longest = 16
        let (below, covered) = read(Array(before) + Array(repeating: 0xFF, count: longest))
        if covered >= before.count {
            found.append(SpanBound(values: below, position: .value(isBehind: true)))
        } else if isUpper, covered == before.count - 1, below.count < fields.count {
            let mask: UInt8 = fields[below.count].isDescending ? 0xFF : 0
            if let kind = SortKeyReader.kindName((last - 1) ^ mask) {
                found.append(SpanBound(values: below, position: .kind(kind)))
            }
        }
        return found
    }

    private func read(_ bytes: [UInt8]) -> (values: [Value?], length: Int) {
        bytes.withUnsafeBytes {
            SortKeyReader.readBeginning($0, descending: fields.map(\.isDescending))
        }
    }

    /// Returns a `starts_with` condition if the range contains exactly the strings with a prefix.
    private func beginning(_ lower: [UInt8], _ upper: [UInt8]) -> String? {
        guard KeyRange.prefix(lower).upper == upper else { return nil }
        let (values, length) = read(lower)
        guard values.count < fields.count, length + 1 < lower.count else { return nil }
        let field = fields[values.count]
        let rest = lower[length...].map { field.isDescending ? ~$0 : $0 }
        guard let text = SortKeyReader.readText(beginning: rest) else { return nil }
        let begin = "starts_with(\(Self.name(of: field)), \(Value.string(text).json))"
        return (equalities(values) + [begin]).joined(separator: " AND ")
    }

    // MARK: Words

    private func text(_ lower: SpanBound, _ upper: SpanBound?) -> String? {
        var equal = 0
        let limit = min(lower.sharedCount(isUpper: false), upper?.sharedCount(isUpper: true) ?? 0)
        while equal < limit, let upper, Self.equal(lower.values[equal], upper.values[equal]) {
            equal += 1
        }
        let words = equalities(Array(lower.values.prefix(equal)))
        guard let low = lower.end(behind: equal) else { return tuple(lower, upper) }
        var high = SpanEnd.open
        if let upper {
            guard let end = upper.end(behind: equal) else { return tuple(lower, upper) }
            high = end
        }
        guard equal < fields.count else { return words.joined(separator: " AND ") }
        let field = fields[equal]
        let ends = field.isDescending ? (high.turned, low.turned) : (low, high)
        let rest = SpanEnd.words(Self.name(of: field), from: ends.0, to: ends.1)
        let all = words + rest
        return all.isEmpty ? "everything" : all.joined(separator: " AND ")
    }

    /// Returns a comparison of several fields as a tuple.
    private func tuple(_ lower: SpanBound, _ upper: SpanBound?) -> String? {
        let width = max(lower.values.count, upper?.values.count ?? 0)
        guard case .value(let isBehindLower) = lower.position, width > 0 else { return nil }
        var text = "(\(fields.prefix(width).map(Self.name).joined(separator: ", ")))"
        func values(_ bound: SpanBound) -> String {
            "(\(bound.values.map { $0?.json ?? "MISSING" }.joined(separator: ", ")))"
        }
        if !lower.values.isEmpty {
            text += (isBehindLower ? " after " : " from ") + values(lower)
        }
        guard let upper else { return text }
        guard case .value(let isBehindUpper) = upper.position else { return nil }
        return text + (isBehindUpper ? " through " : " before ") + values(upper)
    }

    private func equalities(_ values: [Value?]) -> [String] {
        zip(fields, values).map { field, value in
            switch value {
            case nil: "\(Self.name(of: field)) IS MISSING"
            case .null?: "\(Self.name(of: field)) IS NULL"
            case let value?: "\(Self.name(of: field)) = \(value.json)"
            }
        }
    }

    private static func equal(_ left: Value?, _ right: Value?) -> Bool {
        guard let left, let right else { return left == nil && right == nil }
        return left.compare(right) == 0
    }

    private static func name(of field: IndexDescription.Field) -> String {
        var printer = Printer()
        printer.write(path: field.path)
        return printer.text
    }

    private static func hexadecimal(_ bytes: [UInt8]) -> String {
        "0x"
            + bytes.map { byte in
                let digits = String(byte, radix: 16)
                return digits.utf8.count == 1 ? "0" + digits : digits
            }.joined()
    }
}
