/// A set of scalars in a pattern: `[a-z]`, `\d`, `[^[:space:]]`.
struct ScalarSet: Sendable {
    /// Character classes; `not` denotes the complement of a class.
    struct Kinds: OptionSet, Sendable {
        let rawValue: UInt16
        static let word = Kinds(rawValue: 1)
        static let notWord = Kinds(rawValue: 2)
        static let digit = Kinds(rawValue: 4)
        static let notDigit = Kinds(rawValue: 8)
        static let space = Kinds(rawValue: 16)
        static let notSpace = Kinds(rawValue: 32)
        static let letter = Kinds(rawValue: 64)
        static let upper = Kinds(rawValue: 128)
        static let lower = Kinds(rawValue: 256)
        static let punctuation = Kinds(rawValue: 512)
        static let letterOrDigit = Kinds(rawValue: 1024)
    }

    /// Bitmaps of the members below 64, and of those from 64 to 127.
    private var low: UInt64 = 0
    private var high: UInt64 = 0
    /// Disjoint ranges in ascending order.
    private let ranges: [ClosedRange<UInt32>]
    private let kinds: Kinds
    private let isNegated: Bool
    private let ignoresCase: Bool

    package init(
        _ ranges: [ClosedRange<UInt32>], _ kinds: Kinds, isNegated: Bool, ignoresCase: Bool
    ) {
        // Single scalars are added in lower case; longer ranges are searched for both cases.
        let lowered =
            ignoresCase
            ? ranges.filter { $0.count == 1 }.map { CaseFolding.lower($0.lowerBound) } : []
        self.ranges = Self.merged(ranges + lowered.map { $0...$0 })
        self.kinds = kinds
        self.isNegated = isNegated
        self.ignoresCase = ignoresCase
        for scalar: UInt32 in 0..<128 where search(scalar) != isNegated {
            if scalar < 64 { low |= 1 << UInt64(scalar) } else { high |= 1 << UInt64(scalar - 64) }
        }
    }

    private static func merged(_ ranges: [ClosedRange<UInt32>]) -> [ClosedRange<UInt32>] {
        var merged: [ClosedRange<UInt32>] = []
        for range in ranges.sorted(by: { $0.lowerBound < $1.lowerBound }) {
            if let last = merged.last, range.lowerBound <= last.upperBound {
                merged[merged.count - 1] = last.lowerBound...max(last.upperBound, range.upperBound)
            } else {
                merged.append(range)
            }
        }
        return merged
    }

    /// Whether the set contains a scalar.
    @inline(__always)
    func contains(_ scalar: UInt32) -> Bool {
        if scalar < 64 { return low >> UInt64(scalar) & 1 == 1 }
        if scalar < 128 { return high >> UInt64(scalar - 64) & 1 == 1 }
        return search(scalar) != isNegated
    }

    private func search(_ scalar: UInt32) -> Bool {
        if names(scalar) { return true }
        guard ignoresCase else { return false }
        let lower = CaseFolding.lower(scalar)
        if names(lower) { return true }
        let upper = CaseFolding.upper(lower)
        return CaseFolding.lower(upper) == lower && names(upper)
    }

    /// Whether a range or class contains the scalar, disregarding case folding and negation.
    private func names(_ scalar: UInt32) -> Bool {
        var lower = 0
        var upper = ranges.count
        while lower < upper {
            let middle = (lower + upper) / 2
            if ranges[middle].upperBound < scalar { lower = middle + 1 } else { upper = middle }
        }
        if lower < ranges.count, ranges[lower].lowerBound <= scalar { return true }
        return !kinds.isEmpty && isOfKind(scalar)
    }

    private func isOfKind(_ scalar: UInt32) -> Bool {
        func asks(_ kind: Kinds) -> Bool { kinds.contains(kind) }
        let isDigit = scalar &- 0x30 < 10
        if asks(.digit) && isDigit || asks(.notDigit) && !isDigit { return true }
        if asks(.word) && Self.isWord(scalar) || asks(.notWord) && !Self.isWord(scalar) {
            return true
        }
        let properties = Unicode.Scalar(scalar)?.properties
        let isSpace = properties?.isWhitespace ?? false
        if asks(.space) && isSpace || asks(.notSpace) && !isSpace { return true }
        guard let properties else { return false }
        return asks(.letter) && properties.isAlphabetic
            || asks(.letterOrDigit)
                && (properties.isAlphabetic || properties.generalCategory == .decimalNumber)
            || asks(.upper) && properties.isUppercase
            || asks(.lower) && properties.isLowercase
            || asks(.punctuation) && Self.isPunctuation(scalar, properties.generalCategory)
    }

    /// Whether a scalar is a letter, mark, digit or connector such as `_`, in any script.
    static func isWord(_ scalar: UInt32) -> Bool {
        if scalar < 128 {
            return scalar &- 0x30 < 10 || (scalar | 0x20) &- 0x61 < 26 || scalar == 0x5F
        }
        guard let known = Unicode.Scalar(scalar) else { return false }
        return switch known.properties.generalCategory {
        case .uppercaseLetter, .lowercaseLetter, .titlecaseLetter, .modifierLetter, .otherLetter,
            .nonspacingMark, .spacingMark, .enclosingMark, .decimalNumber, .letterNumber,
            .connectorPunctuation:
            true
        default: false
        }
    }

    private static func isPunctuation(
        _ scalar: UInt32, _ category: Unicode.GeneralCategory
    ) -> Bool {
        switch category {
        case .connectorPunctuation, .dashPunctuation, .openPunctuation, .closePunctuation,
            .initialPunctuation, .finalPunctuation, .otherPunctuation:
            true
        // POSIX counts the ASCII symbols as punctuation: $+<=>^`|~.
        case .mathSymbol, .currencySymbol, .modifierSymbol: scalar < 128
        default: false
        }
    }
}
