import SheafDocument

/// A place between keys: values that are whole, and where it is among the keys that have them.
struct SpanBound {
    enum Place {
        /// Before or behind all keys that begin with the values.
        case value
        /// Before or behind all values of a kind, which follow the values.
        case kind(String)
    }

    let values: [Value?]
    let place: Place
    let isBehind: Bool

    /// How many of the values all keys on the inner side of the bound may share.
    func sharedCount(isUpper: Bool) -> Int {
        if case .kind = place { return values.count }
        return isBehind == isUpper ? values.count : max(values.count - 1, 0)
    }

    /// What it says of the field behind the first values; none where it says more than that.
    func end(behind count: Int) -> SpanEnd? {
        switch (place, values.count - count) {
        case (.kind(let kind), 0): .kind(kind, isBehind: isBehind)
        case (.value, 0): .open
        case (.value, 1): .value(values[count], isBehind: isBehind)
        default: nil
        }
    }
}

/// One end of what a field can be, in the order of values or in that of keys.
enum SpanEnd: Equatable {
    case open
    case value(Value?, isBehind: Bool)
    case kind(String, isBehind: Bool)

    /// The same in the opposite order.
    var turned: SpanEnd {
        switch self {
        case .open: self
        case .value(let value, let isBehind): .value(value, isBehind: !isBehind)
        case .kind(let kind, let isBehind): .kind(kind, isBehind: !isBehind)
        }
    }

    private var kind: String? {
        switch self {
        case .open: nil
        case .kind(let kind, _): kind
        case .value(let value, _): value.map { "\($0.kind)" } ?? "missing"
        }
    }

    private var isKind: Bool {
        if case .kind = self { return true }
        return false
    }

    /// What a field is between two ends.
    static func words(_ name: String, from lower: SpanEnd, to upper: SpanEnd) -> [String] {
        if case .open = lower, case .value(nil, isBehind: false) = upper {
            return ["\(name) IS NOT MISSING"]
        }
        guard let kind = lower.kind, kind == upper.kind else {
            return [lower.word(name, isUpper: false), upper.word(name, isUpper: true)]
                .compactMap { $0 }
        }
        if lower.isKind, upper.isKind { return ["\(name) is a value of kind \(kind)"] }
        // To compare a field with a value says already of which kind it is.
        return [lower.comparison(name, isUpper: false), upper.comparison(name, isUpper: true)]
            .compactMap { $0 }
    }

    private func comparison(_ name: String, isUpper: Bool) -> String? {
        guard case .value(let value, let isBehind) = self else { return nil }
        let sign = isUpper ? (isBehind ? "<=" : "<") : (isBehind ? ">" : ">=")
        return "\(name) \(sign) \(value?.json ?? "MISSING")"
    }

    /// An end that values of other kinds have, too.
    private func word(_ name: String, isUpper: Bool) -> String? {
        switch self {
        case .open: return nil
        case .value(let value, let isBehind):
            let word = isUpper ? (isBehind ? "through" : "before") : (isBehind ? "behind" : "from")
            return "\(name) \(word) \(value?.json ?? "MISSING")"
        case .kind(let kind, let isBehind):
            let word = isUpper ? (isBehind ? "through" : "before") : (isBehind ? "behind" : "from")
            return "\(name) \(word) all of kind \(kind)"
        }
    }
}
