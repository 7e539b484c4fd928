import SheafDocument

/// A bound of a key range: the complete values it contains and its position relative to them.
struct SpanBound {
    enum BoundPosition {
        /// A bound before or after all keys that begin with the values.
        case value(isBehind: Bool)
        /// The outer bound of all values of a type in the field after `values`.
        case kind(String)
    }

    let values: [Value?]
    let position: BoundPosition

    /// Returns the number of leading values that all keys on the inner side may share.
    func sharedCount(isUpper: Bool) -> Int {
        guard case .value(let isBehind) = position else { return values.count }
        return isBehind == isUpper ? values.count : max(values.count - 1, 0)
    }

    /// Returns the bound of the field after the first `count` values; nil if it affects more
    /// fields.
    func end(behind count: Int) -> SpanEnd? {
        switch (position, values.count - count) {
        case (.kind(let kind), 0): .kind(kind)
        case (.value, 0): .open
        case (.value(let isBehind), 1): .value(values[count], isBehind: isBehind)
        default: nil
        }
    }
}

/// One end of the range of a field, in value order or key order.
enum SpanEnd: Equatable {
    case open
    case value(Value?, isBehind: Bool)
    case kind(String)

    /// The end in reversed order.
    var turned: SpanEnd {
        switch self {
        case .open, .kind: self
        case .value(let value, let isBehind): .value(value, isBehind: !isBehind)
        }
    }

    private var kind: String? {
        switch self {
        case .open: nil
        case .kind(let kind): kind
        case .value(let value, _): value.map { "\($0.kind)" } ?? "missing"
        }
    }

    private var isKind: Bool {
        if case .kind = self { return true }
        return false
    }

    /// Returns a description of a field between two ends.
    static func words(_ name: String, from lower: SpanEnd, to upper: SpanEnd) -> [String] {
        if case .open = lower, case .value(nil, isBehind: false) = upper {
            return ["\(name) IS NOT MISSING"]
        }
        guard let kind = lower.kind, kind == upper.kind else {
            return [lower.word(name, isUpper: false), upper.word(name, isUpper: true)]
                .compactMap { $0 }
        }
        if lower.isKind, upper.isKind { return ["\(name) is a value of kind \(kind)"] }
        // A comparison already implies the type of the field.
        return [lower.comparison(name, isUpper: false), upper.comparison(name, isUpper: true)]
            .compactMap { $0 }
    }

    private func comparison(_ name: String, isUpper: Bool) -> String? {
        guard case .value(let value, let isBehind) = self else { return nil }
        let sign = isUpper ? (isBehind ? "<=" : "<") : (isBehind ? ">" : ">=")
        return "\(name) \(sign) \(value?.json ?? "MISSING")"
    }

    /// Returns a description of an end that also admits values of other types.
    private func word(_ name: String, isUpper: Bool) -> String? {
        switch self {
        case .open: return nil
        case .value(let value, let isBehind):
            let word = isUpper ? (isBehind ? "through" : "before") : (isBehind ? "after" : "from")
            return "\(name) \(word) \(value?.json ?? "MISSING")"
        case .kind(let kind): return "\(name) \(isUpper ? "through" : "from") all of kind \(kind)"
        }
    }
}
