import SheafDocument
import SheafDocumentModel
import SheafTestSupport
import Testing

/// Clock repairs of documents whose stamps are ahead, in several stores.
struct RestampingTests {
    private static let (left, right) = (Site(rawValue: 1), Site(rawValue: 2))
    /// The time of the repairs; all stamps of `stamp(_:_:)` are later.
    private static let wall: UInt64 = 1_000

    private static func stamp(_ milliseconds: UInt64, _ site: Site) -> Stamp {
        Stamp(HybridTime(milliseconds: wall + milliseconds), site)
    }

    private static func repaired(
        _ document: BytesDocument, at wall: UInt64 = wall,
        maximumSites: Int = EncodedDocument.maximumSites
    ) -> BytesDocument {
        let restamped = document.read { encoded in
            try encoded.flatMap {
                try RestampedDocument(
                    $0.bytes, at: wall, NameTable(), maximumSites: maximumSites)
            }
        }
        return restamped.map { BytesDocument($0.bytes) } ?? document
    }

    /// Returns a document of one site, and its join with an earlier one of another site.
    private static func scene() -> (alone: BytesDocument, joined: BytesDocument) {
        var other = BytesDocument()
        other.insert(["color": "red", "n": 51], stamp: stamp(10, right))
        var alone = BytesDocument()
        alone.insert(["color": "blue", "n": 60], stamp: stamp(20, left))
        alone.apply([.set(path: ["n"], to: 57)], stamp: stamp(30, left))
        return (alone, alone.joined(with: other))
    }

    @Test(arguments: [EncodedDocument.maximumSites, 0], [-1, 0, 1])
    func `two stores that repair different states agree on the document`(
        _ maximumSites: Int, _ delay: Int
    ) throws {
        let (alone, joined) = Self.scene()
        let first = Self.repaired(alone, maximumSites: maximumSites)
        let second = Self.repaired(
            joined, at: UInt64(Int(Self.wall) + delay), maximumSites: maximumSites)
        first.validate()
        second.validate()
        #expect(second.value == ["color": "blue", "n": 57])
        let result = second.joined(with: first)
        #expect(result == first.joined(with: second))
        #expect(result.value == ["color": "blue", "n": 57])
        // A peer whose vector covers that of another one receives nothing from it.
        #expect(second.vector != result.vector || second == result)
        #expect(first.vector != result.vector || first == result)
    }

    @Test(arguments: [-1, 0, 1])
    func `an addition is counted once where one store has a later write of its site`(
        _ delay: Int
    ) throws {
        var early = BytesDocument()
        early.insert(["n": 1], stamp: Self.stamp(10, Self.left))
        early.apply([.increment(path: ["c"], by: .integer(5))], stamp: Self.stamp(20, Self.left))
        var late = early
        late.apply([.set(path: ["n"], to: 2)], stamp: Self.stamp(30, Self.left))
        let repaired = Self.repaired(early)
            .joined(with: Self.repaired(late, at: UInt64(Int(Self.wall) + delay)))
        #expect(repaired.value?["c"] == 5)
    }

    @Test func `equal states are repaired alike, also with too many stamps for sites`() throws {
        let (_, joined) = Self.scene()
        let narrow = Self.repaired(joined, maximumSites: 4)
        #expect(narrow == Self.repaired(joined, maximumSites: 3))
        #expect(narrow.vector.entries.count == 4)
        #expect(Self.repaired(joined, maximumSites: 5).vector.entries.count == 5)
        #expect(narrow.value == joined.value)
    }

    /// The new stamps of such a document take more than one millisecond.
    @Test func `a document with more stamps than possible sites can be repaired twice`() throws {
        let (sites, writes) = (512, 129)
        var documents = try Self.documents(sites: sites, writes: writes)
        #expect(documents[0].mistake == nil && documents[sites - 1].mistake == nil)
        while documents.count > 1 {
            documents = stride(from: 0, to: documents.count, by: 2).map {
                documents[$0].joined(with: documents[$0 + 1])
            }
        }
        let first = Self.repaired(documents[0])
        // A failed comparison of documents would print megabytes.
        let isEqual = first.value == documents[0].value
        #expect(isEqual)
        #expect(first.vector.entries.count == 3 * sites)
        let second = Self.repaired(documents[0], at: Self.wall + 1)
        let isReplaced = first.joined(with: second) == second
        #expect(isReplaced)
    }

    /// Returns a document for each of `sites` sites, with a field for each of its writes.
    ///
    /// One document is written; the others differ from it in the bytes of site and names.
    private static func documents(sites: Int, writes: Int) throws -> [BytesDocument] {
        let (siteMark, nameMark) = ([UInt8](repeating: 0xF1, count: 8), "\u{3042}")
        let site = Site(rawValue: 0xF1F1_F1F1_F1F1_F1F1)
        var written = BytesDocument()
        written.insert(["\(nameMark)0": 0], stamp: stamp(2, site))
        for write in 1..<writes {
            written.apply(
                [.set(path: ["\(nameMark)\(write)"], to: 0)],
                stamp: stamp(UInt64(write + 2), site))
        }
        let bytes = try #require(written.bytes)
        let siteOffsets = offsets(of: siteMark, in: bytes)
        let nameOffsets = offsets(of: Array(nameMark.utf8), in: bytes)
        try #require(siteOffsets.count == 1 && nameOffsets.count == writes)
        return (0..<sites).map { number in
            var changed = bytes
            for index in 0..<8 {
                changed[siteOffsets[0] + index] =
                    UInt8(truncatingIfNeeded: (number + 1) >> (8 * index))
            }
            let digits = Array("\(100 + number)".utf8)
            for offset in nameOffsets {
                for index in 0..<3 { changed[offset + index] = digits[index] }
            }
            return BytesDocument(changed)
        }
    }

    private static func offsets(of mark: [UInt8], in bytes: [UInt8]) -> [Int] {
        (0...bytes.count - mark.count).filter { offset in
            bytes[offset] == mark[0] && Array(bytes[offset..<offset + mark.count]) == mark
        }
    }

    /// Repairs all states of random histories, and joins them with each other and the old states.
    @Test(arguments: [6_401, 6_402, 6_403] as [UInt64])
    func `documents with equal version vectors are equal after any repairs`(
        _ first: UInt64
    ) throws {
        for seed in first * 1_000..<first * 1_000 + 20 {
            var random = SeededRandom(seed: seed, "restamping")
            let documents = Self.history(seed, steps: 6 + random.below(30))
            let latest = documents.map(\.latestTime.milliseconds).max() ?? 0
            let wall = UInt64(random.below(Int(latest) + 2))
            var states: [BytesDocument] = []
            for document in documents {
                let repaired = Self.repaired(
                    document, at: wall + UInt64(random.below(2)),
                    maximumSites: random.chance(1, in: 4) ? 0 : EncodedDocument.maximumSites)
                repaired.validate()
                #expect(repaired.value == document.value, "seed \(seed)")
                states += [document, repaired]
            }
            var joins: [VersionVector: BytesDocument] = [:]
            for chosen in 1..<1 << states.count {
                var joined = BytesDocument()
                let indexes = states.indices.filter { chosen >> $0 & 1 == 1 }
                for index in indexes.shuffled(using: &random) {
                    joined = joined.joined(with: states[index])
                }
                let known = joins.updateValue(joined, forKey: joined.vector) ?? joined
                // Equal bytes have equal dumps, which take most of the time.
                guard known != joined else { continue }
                #expect(known.dump == joined.dump, "seed \(seed), states \(indexes)")
            }
        }
    }

    /// Returns the documents of three peers, whose times are multiples of a millisecond.
    private static func history(_ seed: UInt64, steps: Int) -> [BytesDocument] {
        var history = ModelHistory(seed: seed, peers: 3)
        var documents = [BytesDocument](repeating: BytesDocument(), count: 3)
        for _ in 0..<steps {
            var event = history.next()
            if case .write(let write, let peer, let stamp) = event {
                let time = HybridTime(rawValue: stamp.time.rawValue << 16)
                event = .write(write, peer: peer, stamp: Stamp(time, stamp.site))
            }
            event.apply(to: &documents)
        }
        return documents
    }
}
