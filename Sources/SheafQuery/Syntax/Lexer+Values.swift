import SheafDocument

/// The values of tokens.
extension Lexer {
    private func slice(_ lower: Int, _ upper: Int) -> UnsafeBufferPointer<UInt8> {
        UnsafeBufferPointer(rebasing: text[lower..<upper])
    }

    /// Returns the source text of a token.
    func spelling(_ token: Token) -> String {
        String(decoding: slice(token.lower, token.upper), as: UTF8.self)
    }

    /// Returns a word in lower case.
    func lowercased(_ word: Token) -> String {
        let letters = slice(word.lower, word.upper)
        return String(unsafeUninitializedCapacity: letters.count) { buffer in
            for (index, byte) in letters.enumerated() {
                let isUpper = byte &- UInt8(ascii: "A") < 26
                buffer.initializeElement(at: index, to: isUpper ? byte | 0x20 : byte)
            }
            return letters.count
        }
    }

    /// Returns the name that a word or quoted name denotes.
    func name(_ token: Token) -> String {
        guard token.kind == .quotedName else { return spelling(token) }
        guard token.hasEscapes else {
            return String(decoding: slice(token.lower + 1, token.upper - 1), as: UTF8.self)
        }
        var bytes: [UInt8] = []
        var index = token.lower + 1
        while index < token.upper - 1 {
            bytes.append(text[index])
            // The second of two backticks is skipped.
            index += text[index] == UInt8(ascii: "`") ? 2 : 1
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    // MARK: Numbers

    /// Returns the value of a number with the sign that precedes it.
    func number(_ token: Token, isNegative: Bool) throws(StoreError) -> Value {
        guard token.kind != .float else { return .float(try float(token, isNegative: isNegative)) }
        let isHexadecimal = token.kind == .hexadecimal
        let radix: UInt64 = isHexadecimal ? 16 : 10
        var magnitude: UInt64 = 0
        for byte in slice(isHexadecimal ? token.lower + 2 : token.lower, token.upper) {
            let isLetter = byte > UInt8(ascii: "9")
            let digit =
                isLetter ? (byte | 0x20) - UInt8(ascii: "a") + 10 : byte - UInt8(ascii: "0")
            let (product, first) = magnitude.multipliedReportingOverflow(by: radix)
            let (sum, second) = product.addingReportingOverflow(UInt64(digit))
            guard !first, !second else { throw tooLarge(token) }
            magnitude = sum
        }
        guard isNegative else {
            guard let value = Int64(exactly: magnitude) else { throw tooLarge(token) }
            return .integer(value)
        }
        guard magnitude <= Int64.min.magnitude else { throw tooLarge(token) }
        return .integer(Int64(truncatingIfNeeded: 0 &- magnitude))
    }

    private func tooLarge(_ token: Token) -> StoreError {
        error(
            "the integer does not fit into 64 bits",
            hint: token.kind == .integer ? "append .0 to write a float" : nil,
            token.lower, token.upper, reason: .limit)
    }

    private func float(_ token: Token, isNegative: Bool) throws(StoreError) -> Double {
        var start = token.lower
        // JSON allows no leading zeros.
        while text[start] == UInt8(ascii: "0"), Self.isDigit(byte(at: start + 1)) { start += 1 }
        let value = try? JSONReader.read(UnsafeRawBufferPointer(slice(start, token.upper)))
        guard case .float(let magnitude)? = value else {
            throw error(
                "the number is too large for a float", hint: "the largest is about 1.8e308",
                token.lower, token.upper, reason: .limit)
        }
        return isNegative ? -magnitude : magnitude
    }

    // MARK: Strings

    /// Returns the value of a string; an unknown escape denotes the character after the backslash.
    func string(_ token: Token) throws(StoreError) -> String {
        guard token.hasEscapes else {
            return String(decoding: slice(token.lower + 1, token.upper - 1), as: UTF8.self)
        }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(token.upper - token.lower)
        var index = token.lower + 1
        while index < token.upper - 1 {
            let byte = text[index]
            index += 1
            guard byte == UInt8(ascii: "\\") else {
                bytes.append(byte)
                continue
            }
            let letter = text[index]
            index += 1
            switch letter {
            case UInt8(ascii: "b"): bytes.append(0x08)
            case UInt8(ascii: "f"): bytes.append(0x0C)
            case UInt8(ascii: "n"): bytes.append(0x0A)
            case UInt8(ascii: "r"): bytes.append(0x0D)
            case UInt8(ascii: "t"): bytes.append(0x09)
            case UInt8(ascii: "u"): bytes += try scalar(at: &index)
            default: bytes.append(letter)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Returns the UTF-8 of a `\u` escape whose digits begin at `index`, or of a surrogate pair.
    private func scalar(at index: inout Int) throws(StoreError) -> [UInt8] {
        let start = index - 2
        var unit = try hexadecimal(at: &index, from: start)
        if unit & 0xFC00 == 0xD800 {
            guard byte(at: index) == UInt8(ascii: "\\"), byte(at: index + 1) == UInt8(ascii: "u")
            else { throw halfSurrogate(start, index) }
            let middle = index
            index += 2
            let second = try hexadecimal(at: &index, from: middle)
            guard second & 0xFC00 == 0xDC00 else { throw halfSurrogate(start, index) }
            unit = 0x1_0000 + (unit & 0x3FF) << 10 + second & 0x3FF
        }
        guard let scalar = Unicode.Scalar(unit) else { throw halfSurrogate(start, index) }
        return Array(UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter)
    }

    private func hexadecimal(at index: inout Int, from start: Int) throws(StoreError) -> UInt32 {
        var unit: UInt32 = 0
        for _ in 0..<4 {
            // The closing quote also fails this check, so the loop stays within the string.
            guard let digit = Character(Unicode.Scalar(byte(at: index))).hexDigitValue else {
                throw error("\\u must be followed by four hexadecimal digits", start, index)
            }
            unit = unit << 4 | UInt32(digit)
            index += 1
        }
        return unit
    }

    private func halfSurrogate(_ lower: Int, _ upper: Int) -> StoreError {
        error("unpaired surrogate", lower, upper)
    }
}
