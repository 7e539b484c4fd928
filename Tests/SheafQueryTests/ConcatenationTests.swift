import SheafDocument
import SheafQuery
import Testing

/// Chains of `||`.
@Suite struct ConcatenationTests {
    private static let values: [Value?] = ["x", "", .null, nil, 1, .bytes([1]), ["y"]]

    /// Returns the concatenation of two values, written from the specification.
    private func joined(_ left: Value?, _ right: Value?) -> Value? {
        switch (left, right) {
        case (.string(let left)?, .string(let right)?): .string(left + right)
        case (.string?, .null?), (.null?, .string?), (.null?, .null?): .null
        default: nil
        }
    }

    @Test func `a chain equals the successive application of its operators`() throws {
        for first in Self.values {
            for second in Self.values {
                for third in Self.values {
                    var chain = Concatenation(first)
                    for value in [second, third] { try chain.append(value) }
                    #expect(chain.value == joined(joined(first, second), third))
                }
                let pair = try Operators.arithmetic(.concatenate, first, second)
                #expect(pair == joined(first, second))
            }
        }
    }

    @Test func `a long chain reallocates its text a few times only`() throws {
        let piece = String(repeating: "x", count: 100)
        var chain = Concatenation(.string(piece))
        var addresses: [Int] = []
        for _ in 0..<4_000 {
            try chain.append(.string(piece))
            guard case .string(var text)? = chain.value else { break }
            let address = text.withUTF8 { Int(bitPattern: $0.baseAddress) }
            if addresses.last != address { addresses.append(address) }
        }
        #expect(chain.value == .string(String(repeating: piece, count: 4_001)))
        #expect(addresses.count < 40)
    }

    @Test func `a concatenation beyond the length limit fails`() throws {
        let half = Value.string(String(repeating: "x", count: QueryLimits.maximumTextLength / 2))
        var chain = Concatenation(half)
        try chain.append(half)
        try chain.append("")
        #expect(throws: StoreError.self) { try chain.append("x") }
    }
}
