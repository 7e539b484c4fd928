import SheafStorage
import Testing

/// Tests of the cache of operations that a compaction keeps.
@Suite struct ChainCacheTests {
    /// Returns a chain of this length whose newest operation is at `newest`.
    private func chain(_ count: Int, from newest: UInt64) -> [LogPosition] {
        (0..<UInt64(count)).map { LogPosition(rawValue: newest - $0) }
    }

    @Test func `chains of more than 16 operations are cached`() {
        var cache = ChainCache()
        for (count, isCached) in [(1, false), (16, false), (17, true), (400, true)] {
            let newest = LogPosition(rawValue: UInt64(1_000 + count))
            let chain = chain(count, from: newest.rawValue)
            #expect(cache[newest] == nil)
            cache.cache(chain, of: newest)
            let expected = isCached ? chain : nil
            #expect(cache[newest] == expected, "\(count)")
        }
        let another = LogPosition(rawValue: 9_999)
        #expect(cache[another] == nil)
    }

    @Test func `all chains are forgotten once they have more than 1,048,576 operations`() {
        let numbers = (1...4 as ClosedRange<UInt64>).map { LogPosition(rawValue: $0 << 32) }
        let short = chain(17, from: 1_000)
        let long = [LogPosition](repeating: numbers[0], count: 1_048_576 - 17)
        var cache = ChainCache()
        func counts() -> [Int?] { numbers.map { cache[$0]?.count } }
        cache.cache(short, of: numbers[0])
        cache.cache(long, of: numbers[1])
        // The cache has exactly the maximum, and after this chain more.
        cache.cache(short, of: numbers[2])
        #expect(counts() == [17, 1_048_559, 17, nil] as [Int?])
        cache.cache(short, of: numbers[3])
        #expect(counts() == [nil, nil, nil, 17] as [Int?])
        // The count begins anew.
        cache.cache(short, of: numbers[0])
        #expect(counts() == [17, nil, nil, 17] as [Int?])
    }

    @Test func `exactly the positions of a chain are found`() {
        for count in 0...9 {
            // The even numbers from 2 on.
            let chain = (0..<UInt64(count)).reversed().map { LogPosition(rawValue: 2 + 2 * $0) }
            for number in 0...22 as ClosedRange<UInt64> {
                let isContained = number >= 2 && number % 2 == 0 && number <= 2 * UInt64(count)
                #expect(
                    chain.containsDescending(LogPosition(rawValue: number)) == isContained,
                    "\(number) of \(count)")
            }
        }
    }
}
