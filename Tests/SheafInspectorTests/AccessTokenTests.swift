import SheafInspector
import Testing

/// The token of an inspector, without a server.
@Suite struct AccessTokenTests {
    @Test func `a token matches itself, and no text that differs in one or two digits`() {
        let token = AccessToken()
        #expect(token.matches(token.text))
        let digits = Array(token.text.utf8)
        for index in digits.indices {
            // Two differences of the same bit must not cancel each other.
            for second in [index, (index + 1) % digits.count] {
                var other = digits
                other[index] ^= 1
                if second != index { other[second] ^= 1 }
                #expect(!token.matches(String(decoding: other, as: UTF8.self)), "digit \(index)")
            }
        }
    }

    @Test func `a token matches neither its beginning nor a longer text`() {
        let token = AccessToken()
        for other in ["", String(token.text.dropLast()), token.text + "0", token.text + token.text]
        {
            #expect(!token.matches(other), "\(other.utf8.count) digits")
        }
    }

    @Test func `a token has 64 hexadecimal digits, which are all drawn at random`() {
        let tokens = (0..<100).map { _ in AccessToken().text }
        #expect(Set(tokens).count == tokens.count)
        #expect(tokens.allSatisfy { $0.utf8.count == 64 })
        let all = Set("0123456789abcdef")
        // A byte has two digits, and 3,200 digits of either kind lack one with probability 1e-88.
        for half in 0..<2 {
            let drawn = tokens.flatMap { text in
                text.enumerated().filter { $0.offset % 2 == half }.map { $0.element }
            }
            #expect(Set(drawn) == all)
        }
    }
}
