import SheafLineEditor
import Testing

/// Tests of the candidates of the Tab key.
@Suite struct LineCompletionTests {
    private func completion(_ texts: [String]) -> LineCompletion {
        LineCompletion(replacing: 0, texts.map { .init($0) })
    }

    @Test func `a candidate is shown as it is, and complete, unless it has a label`() {
        let plain = LineCompletion.Candidate("a")
        #expect(plain.text == "a" && plain.label == "a" && plain.isComplete)
        let other = LineCompletion.Candidate("a(", label: "a()", isComplete: false)
        #expect(other.text == "a(" && other.label == "a()" && !other.isComplete)
        #expect(LineCompletion.none == LineCompletion(replacing: 0, []))
    }

    @Test(
        arguments: [
            ([], ""), (["abc"], "abc"), (["select", "self"], "sel"), (["abc", "abd", "ax"], "a"),
            (["abd", "ab", "abc"], "ab"), (["a", "b"], ""), (["a", ""], ""), (["", "a"], ""),
            (["\u{E9}", "e\u{301}"], ""), (["e\u{301}x", "e\u{301}y"], "e\u{301}"),
            (["e", "e\u{301}"], "e"), (["same", "same"], "same"),
        ] as [([String], String)])
    func `the common prefix is the longest of all candidates`(_ texts: [String], _ prefix: String) {
        let found = completion(texts).commonPrefix
        #expect(Array(found.unicodeScalars) == Array(prefix.unicodeScalars))
    }

    @Test(
        arguments: [
            (["a", "bb", "ccc"], 15, 5, ["a    bb   ccc"]),
            (["a", "bb", "ccc"], 14, 5, ["a    ccc", "bb"]),
            (["a", "bb", "ccc"], 10, 5, ["a    ccc", "bb"]),
            (["a", "bb", "ccc"], 9, 5, ["a", "bb", "ccc"]),
            (["a", "bb", "ccc"], 1, 3, ["a", "bb", "ccc"]),
            (["a", "bb", "ccc"], 1, 2, ["a", "bb", "… and 1 more; type some letters first"]),
            (["a", "bb", "ccc"], 1, 1, ["a", "… and 2 more; type some letters first"]),
            (["a", "bb", "ccc"], 1, 0, ["a", "… and 2 more; type some letters first"]),
            (["a", "b", "c", "d", "e"], 6, 3, ["a  d", "b  e", "c"]),
            (
                ["a", "b", "c", "d", "e"], 6, 2,
                ["a  d", "b  e", "… and 1 more; type some letters first"]
            ),
            (["a", "b", "c", "d", "e"], 6, 1, ["a  d", "… and 3 more; type some letters first"]),
            (["a", "b", "c", "d"], 6, 2, ["a  c", "b  d"]), (["é", "b"], 6, 1, ["é  b"]),
            ([], 80, 5, []),
        ] as [([String], Int, Int, [String])])
    func `candidates are listed in columns from top to bottom, up to a number of rows`(
        _ texts: [String], _ columns: Int, _ maximum: Int, _ rows: [String]
    ) {
        #expect(completion(texts).rows(columns: columns, maximumRows: maximum) == rows)
    }

    @Test func `candidates are listed by their labels`() {
        let completion = LineCompletion(
            replacing: 3,
            [.init("dir/a", label: "a"), .init("dir/b/", label: "b/", isComplete: false)])
        #expect(completion.rows(columns: 80, maximumRows: 4) == ["a   b/"])
        #expect(completion.commonPrefix == "dir/" && completion.replacedCount == 3)
    }
}
