import SheafQuery
import Testing

/// Statements without their values, for logs.
@Suite struct RedactedTextTests {
    /// Returns a statement of `count` names, each of which adds two bytes.
    private func names(_ count: Int) -> String {
        Array(repeating: "a", count: count).joined(separator: " ")
    }

    @Test(arguments: [1_000, 1_001, 1_002, 100_000])
    func `a redacted text ends with the token that reaches 2,000 bytes`(count: Int) {
        let text = RedactedText.of(names(count))
        #expect(text == (count == 1_000 ? names(1_000) : names(1_001) + "…"))
    }
}
