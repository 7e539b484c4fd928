import SheafBytes
import SheafSync
import SheafTestSupport
import Testing

/// Version lists of several sources, against one list of all documents.
struct VersionListTests {
    /// Returns distinct addresses that begin with one of some bytes, in order.
    private func addresses(_ random: inout SeededRandom) -> [[UInt8]] {
        var found: Set<[UInt8]> = []
        for _ in 0..<random.below(60) {
            found.insert([UInt8(random.below(12))] + random.bytes(1 + random.below(2)))
        }
        return found.sorted { $0.lexicographicallyPrecedes($1) }
    }

    private func bound(_ random: inout SeededRandom) -> [UInt8] {
        [UInt8(random.below(14))] + random.bytes(random.below(3))
    }

    @Test func `a list of several sources has the sums and addresses of all of them`() {
        let seed = UInt64.random(in: 0..<1_000_000_000)
        print("version lists, seed \(seed)")
        var random = SeededRandom(seed: seed, "version lists")
        for _ in 0..<300 {
            let documents = addresses(&random).map {
                DocumentVersion(id: $0, version: random.next())
            }
            // Some sources are empty; they are given in any order.
            var sources: [VersionList.Source] = (0..<12).map { first in
                let start = [UInt8(first)]
                return (start, ListedVersions(documents.filter { $0.id.starts(with: start) }))
            }
            sources.swapAt(random.below(12), random.below(12))
            let list = VersionList(sources)
            let model = ListedVersions(documents)
            for _ in 0..<40 {
                let upper = random.chance(1, in: 4) ? nil : bound(&random)
                let lower = random.chance(1, in: 4) ? [] : bound(&random)
                let range = KeyRange(from: lower, to: upper)
                #expect(list.total(in: range) == model.total(in: range), "seed \(seed)")
                var (found, expected): ([DocumentVersion], [DocumentVersion]) = ([], [])
                list.forEach(in: range) { found.append($0) }
                model.forEach(in: range) { expected.append($0) }
                #expect(found == expected, "seed \(seed)")
                for number in Array(0..<4) + [random.below(20), random.below(60)] {
                    #expect(
                        list.address(number, in: range) == model.address(number, in: range),
                        "seed \(seed)")
                }
            }
        }
    }
}
