import SheafBytes
import SheafTestSupport
import Testing

/// Shortening of texts that errors quote.
struct ErrorTextTests {
    @Test func `a text within the limit is quoted completely`() {
        for text in ["", "a", "e\u{301}e\u{301}", String(repeating: "ж\u{301}", count: 50)] {
            #expect(text.shortened == text)
        }
    }

    @Test func `a text above the limit is cut in the middle, to the limit in Unicode scalars`() {
        let digits = String(repeating: "0123456789", count: 20)
        #expect("\(digits)".shortened(to: 10) == "012345…789")
        #expect((digits + "0").shortened(to: 200).unicodeScalars.count == 200)
        #expect(digits.shortened(to: 200) == digits)
    }

    @Test func `a cut omits a character that it would split`() {
        let marked = "ж\u{301}"
        let text = String(repeating: marked, count: 10)
        // 6 scalars fit at the start and 3 at the end, of which one would be a lone combining mark.
        #expect(text.shortened(to: 10) == marked + marked + marked + "…" + marked)
        // 7 scalars fit at the start, of which the last would lack its combining mark.
        #expect(
            text.shortened(to: 11) == marked + marked + marked + "…" + marked)
        let families = String(repeating: "👩‍👩‍👧", count: 9)
        #expect(families.shortened(to: 20) == "👩‍👩‍👧👩‍👩‍👧…👩‍👩‍👧")
        #expect("🇩🇪🇫🇷🇮🇹🇪🇸".shortened(to: 7) == "🇩🇪🇫🇷…🇪🇸")
        #expect("a\r\nb\r\nc\r\n".shortened(to: 4) == "a…")
    }

    @Test func `a character longer than the limit is omitted`() {
        let long = "a" + String(repeating: "\u{301}", count: 1_000)
        #expect(long.shortened(to: 200) == "…")
        #expect(("x" + long + "y").shortened(to: 200) == "x…y")
    }

    @Test func `prefixes and suffixes consist of complete characters within a scalar limit`() {
        let text = "aж\u{301}bж\u{301}"
        #expect(text.prefix(scalars: 2) == "a" && text.prefix(scalars: 3) == "aж\u{301}")
        #expect(text.suffix(scalars: 1).isEmpty && text.suffix(scalars: 3) == "bж\u{301}")
        #expect(text.prefix(scalars: 9) == text && text.suffix(scalars: 9) == text)
    }

    @Test func `a text of 100,000 scalars is shortened to 200 and to 100`() {
        for (limit, text) in [
            (200, LongInput.text.shortened(to: ErrorText.limit)), (100, LongInput.text.shortened),
        ] {
            #expect(text.unicodeScalars.count <= limit && text.unicodeScalars.count > limit - 4)
            #expect(LongInput.problem(in: text, atMost: limit) == nil)
        }
    }
}
