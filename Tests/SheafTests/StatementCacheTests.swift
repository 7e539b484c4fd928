import Sheaf
import SheafQuery
import SheafStatements
import SheafTestSupport
import Testing

@Suite struct StatementCacheTests {
    private static func statement(_ text: String) throws -> Statement { try Parser.parse(text) }

    @Test(arguments: [0, 1, 7, .max] as [UInt64])
    func `texts with equal hashes find their own statements`(_ hashBits: UInt64) throws {
        var random = SeededRandom(seed: 11, "texts")
        var cache = StatementCache(maximumCount: 40, hashBits: hashBits)
        var newest: [String: Int] = [:]
        var (hits, use) = (0, 0)
        for _ in 0..<4_000 {
            let text = "SELECT a\(random.below(80)) FROM t"
            use += 1
            if let found = cache.find(text) {
                #expect(found.text == text)
                hits += 1
            } else {
                // The most recently used statements are never removed.
                let later = newest.values.filter { $0 > newest[text] ?? 0 }.count
                #expect(newest[text] == nil || later >= 19, "\(text), \(hashBits)")
                cache.insert(try Self.statement(text))
            }
            newest[text] = use
        }
        #expect(hits > 800 && hits < 3_000)
    }

    @Test func `canonically equivalent texts are different statements`() throws {
        var cache = StatementCache(hashBits: 0)
        let (composed, decomposed) = ("SELECT '\u{E9}' FROM t", "SELECT 'e\u{301}' FROM t")
        cache.insert(try Self.statement(composed))
        #expect(cache.find(decomposed) == nil)
        cache.insert(try Self.statement(decomposed))
        for text in [composed, decomposed] {
            #expect(cache.find(text).map { Array($0.text.utf8) } == Array(text.utf8))
        }
    }

    @Test func `a text is cached at most once, and a long text never`() throws {
        var cache = StatementCache(maximumCount: 4)
        for text in ["SELECT 1 FROM t", "SELECT 2 FROM t", "SELECT 3 FROM t"] {
            cache.insert(try Self.statement(text))
        }
        let again = try Self.statement("SELECT 3 FROM t")
        for _ in 0..<10 { cache.insert(again) }
        #expect(cache.find("SELECT 3 FROM t") === again)
        #expect(cache.find("SELECT 1 FROM t") != nil && cache.find("SELECT 2 FROM t") != nil)
        let long = "SELECT '\(String(repeating: "x", count: 5_000))' FROM t"
        cache.insert(try Self.statement(long))
        #expect(cache.find(long) == nil)
    }

    @Test(arguments: [4_095, 4_096, 4_097])
    func `a text of more than 4,096 bytes is not cached`(length: Int) throws {
        var cache = StatementCache()
        let frame = "SELECT '' FROM t"
        let padding = String(repeating: "x", count: length - frame.utf8.count)
        let text = "SELECT '\(padding)' FROM t"
        #expect(text.utf8.count == length)
        cache.insert(try Self.statement(text))
        let isFound = cache.find(text) != nil
        #expect(isFound == (length <= 4_096))
    }

    @Test func `the statements that were used last stay when the cache is full`() throws {
        func text(_ number: Int) -> String { "SELECT \(number) FROM t" }
        var cache = StatementCache(maximumCount: 4)
        #expect(cache.find(text(1)) == nil)
        for number in 1...4 { cache.insert(try Self.statement(text(number))) }
        for number in 1...4 { #expect(cache.find(text(number))?.text == text(number)) }
        // The first one is used again, and the second one is now the oldest.
        #expect(cache.find(text(1)) != nil)
        cache.insert(try Self.statement(text(5)))
        #expect(cache.find(text(2)) == nil && cache.find(text(3)) == nil)
        #expect(cache.find(text(1)) != nil && cache.find(text(5)) != nil)
        // Two more fit before others are removed.
        for number in 6...7 { cache.insert(try Self.statement(text(number))) }
        for number in [1, 5, 6, 7] { #expect(cache.find(text(number)) != nil, "\(number)") }
    }
}
