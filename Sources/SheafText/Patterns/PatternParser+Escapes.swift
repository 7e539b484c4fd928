/// Escape sequences of regular expressions.
extension PatternParser {
    /// The meaning of an escape sequence.
    private enum Escape {
        case scalar(Unicode.Scalar), kinds(ScalarSet.Kinds), assertion(PatternAssertion)
    }

    mutating func parseEscape(from start: Int) throws(PatternError) -> PatternNode {
        switch try readEscape(from: start, isInSet: false) {
        case .scalar(let scalar): return .scalar(scalar.value)
        case .assertion(let assertion): return .assertion(assertion)
        case .kinds(let kinds):
            return add(ScalarSet([], kinds, isNegated: false, ignoresCase: false))
        }
    }

    /// Adds a set and returns the node that refers to it.
    mutating func add(_ set: ScalarSet) -> PatternNode {
        sets.append(set)
        return .set(sets.count - 1)
    }

    /// Parses an escape sequence in brackets: a scalar or a character class.
    mutating func parseSetEscape(
        from start: Int
    ) throws(PatternError) -> (scalar: Unicode.Scalar?, kinds: ScalarSet.Kinds) {
        switch try readEscape(from: start, isInSet: true) {
        case .scalar(let scalar): return (scalar, [])
        case .kinds(let kinds): return (nil, kinds)
        case .assertion: throw failure("assertions are not allowed in [ ]", from: start, to: index)
        }
    }

    private mutating func readEscape(
        from start: Int, isInSet: Bool
    ) throws(PatternError) -> Escape {
        let scalar = try literal(escapedAt: start)
        switch scalar {
        case "d": return .kinds(.digit)
        case "D": return .kinds(.notDigit)
        case "w": return .kinds(.word)
        case "W": return .kinds(.notWord)
        case "s": return .kinds(.space)
        case "S": return .kinds(.notSpace)
        case "b": return isInSet ? .scalar("\u{8}") : .assertion(.wordBoundary)
        case "B": return .assertion(.noWordBoundary)
        case "A": return .assertion(.textStart)
        case "z": return .assertion(.textEnd)
        case "n": return .scalar("\n")
        case "t": return .scalar("\t")
        case "r": return .scalar("\r")
        case "f": return .scalar("\u{C}")
        case "v": return .scalar("\u{B}")
        case "0": return .scalar("\0")
        case "x": return .scalar(try readHexadecimal(digits: 2, from: start))
        case "u": return .scalar(try readHexadecimal(digits: 4, from: start))
        case "1"..."9", "k":
            throw failure(
                "backreferences are not supported in patterns", from: start, to: index)
        case "p", "P":
            throw failure(
                "\\\(scalar) is not supported in patterns; \\w and [[:alpha:]] are", from: start,
                to: index)
        case "a"..."z", "A"..."Z":
            throw failure("\\\(scalar) is not a known escape in patterns", from: start, to: index)
        default: return .scalar(scalar)
        }
    }

    /// Reads `\x41`, `\u0041` or, with any number of digits, `\x{41}`.
    private mutating func readHexadecimal(
        digits: Int, from start: Int
    ) throws(PatternError) -> Unicode.Scalar {
        let isBraced = accept("{")
        let first = index
        var value: UInt32 = 0
        while let scalar = current, scalar.isASCII, let digit = Character(scalar).hexDigitValue,
            isBraced || index < first + digits
        {
            value = min(value << 4 | UInt32(digit), 0x11_0000)
            index += 1
        }
        let isComplete = isBraced ? index > first && accept("}") : index == first + digits
        guard isComplete, let scalar = Unicode.Scalar(value) else {
            throw failure(
                "expected the hexadecimal number of a character", from: start, to: index)
        }
        return scalar
    }
}
