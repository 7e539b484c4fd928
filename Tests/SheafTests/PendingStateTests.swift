import SheafBytes
import SheafDocument
import SheafEngine
import SheafStorage
import SheafTestSupport
import Testing

/// Tests of the documents of commits that are not durable yet, against a table of all documents.
@Suite struct PendingStateTests {
    /// The newest state of a document and its commit.
    private struct Version: Equatable {
        /// The state; nil if the document was removed.
        let state: [UInt8]?
        let commit: CommitID
    }

    private static let keys = (0..<60).map { PendingStateTests.key($0) }
    private static let collections = 3

    private static func key(_ number: Int) -> DocumentKey {
        let id = [UInt8(truncatingIfNeeded: number >> 8), UInt8(truncatingIfNeeded: number)]
        return DocumentKey(
            StoreKey.document(collection: UInt16(number % collections), id: id).bytes)
    }

    /// Pending documents, as a sequence of transactions leaves them, and the expected ones.
    private struct History {
        var pending = PendingDocuments()
        var random: SeededRandom
        var versions: [Int: Version] = [:]
        var commit: CommitID = 0
        var durable: CommitID = 0
        private var written: UInt8 = 0

        init(seed: UInt64) {
            random = SeededRandom(seed: seed, "pending documents")
        }

        /// Changes documents, and commits the changes or rolls them back.
        mutating func transact(_ comment: Comment) throws {
            pending = pending.drain()
            let (before, collections) = (versions, pending.collections)
            var replaced: [(key: DocumentKey, entry: PendingDocuments.Entry?)] = []
            var recorded: Set<Int> = []
            for _ in 0...random.below(4) {
                let number = random.below(60)
                let key = PendingStateTests.keys[number]
                written &+= 1
                let state: [UInt8]? = random.chance(1, in: 5) ? nil : [UInt8(number), written]
                if let state, !pending.contains(key) {
                    try state.withUnsafeBytes { bytes in
                        try pending.append(key, DocumentPayload.stateKind, bytes)
                    }
                } else {
                    let document = state.map { StoredDocument($0) }
                    let entry = pending.record(document, at: key)
                    if entry?.commit != CommitID.max { replaced.append((key: key, entry: entry)) }
                    recorded.insert(number)
                }
                versions[number] = Version(state: state, commit: .max)
            }
            check(comment)
            let isRecorded = PendingStateTests.keys.map { pending.isRecorded($0) }
            #expect(isRecorded == (0..<60).map { recorded.contains($0) }, comment)
            guard random.chance(4, in: 5) else {
                for (key, entry) in replaced { pending.restore(entry, at: key) }
                pending.encoded = EncodedChanges()
                pending.restore(collections: collections)
                versions = before
                return
            }
            commit += 1
            for (number, version) in versions where version.commit == .max {
                versions[number] = Version(state: version.state, commit: commit)
            }
            pending.record(
                recorded.map { number in
                    let document = versions[number]?.state.map { StoredDocument($0) }
                    return (key: PendingStateTests.keys[number], document: document)
                }, of: commit)
            pending.recordEncoded(of: commit)
            #expect(pending.lastCommit == commit, comment)
        }

        /// Makes some commits durable.
        mutating func flush(through last: CommitID, _ comment: Comment) {
            durable = last
            pending.discard(through: durable)
            guard durable >= commit else { return }
            #expect(pending.isEmpty && pending.collections.isEmpty, comment)
        }

        /// Compares the documents; those of durable commits may be pending, with equal states.
        func check(_ comment: Comment) {
            var found: Set<[UInt8]> = []
            var wrong: [Int] = []
            for number in 0..<60 {
                let key = PendingStateTests.keys[number]
                let entry = pending[key]
                let version = entry.map { entry in
                    Version(state: entry.document?.bytes, commit: entry.commit)
                }
                let expected = versions[number]
                let mayBeMissing = (expected?.commit ?? 0) <= durable
                let isRight = version == expected || version == nil && mayBeMissing
                if !isRight || pending.contains(key) != (entry != nil) { wrong.append(number) }
                if entry != nil { found.insert(key.bytes) }
            }
            #expect(wrong == [], comment)
            let all = pending.keys(startingWith: StoreKey.documents.lower)
            #expect(all.count == found.count && Set(all) == found, comment)
            #expect(pending.isEmpty == found.isEmpty, comment)
            for collection in 0..<3 as Range<UInt16> {
                let prefix = StoreKey.document(collection: collection, id: []).bytes
                let some = found.filter { $0.starts(with: prefix) }
                #expect(Set(pending.keys(startingWith: prefix)) == some, comment)
                #expect(some.isEmpty || pending.collections.contains(collection), comment)
            }
        }
    }

    @Test(arguments: 0..<5 as Range<UInt64>)
    func `each document has the state of its last commit until that is durable`(
        seed: UInt64
    ) throws {
        var history = History(seed: seed)
        for step in 0..<45 {
            let comment: Comment = "seed \(seed), step \(step)"
            try history.transact(comment)
            // Mostly many commits are pending; now and then all of them become durable.
            var last = history.durable
            if history.random.chance(1, in: 8) {
                last += CommitID(history.random.below(Int(history.commit - last) + 1))
            }
            if history.random.chance(1, in: 25) { last = history.commit }
            history.flush(through: last, comment)
            history.check(comment)
        }
    }

    /// Commits new documents that are encoded once.
    private func commitEncoded(
        _ numbers: Range<Int>, _ commit: CommitID, _ pending: inout PendingDocuments
    ) throws {
        pending = pending.drain()
        for number in numbers {
            try [UInt8(number)].withUnsafeBytes { state in
                try pending.append(Self.key(number), DocumentPayload.stateKind, state)
            }
        }
        #expect(!pending.isCheapToCopy)
        pending.recordEncoded(of: commit)
        #expect(pending.isCheapToCopy)
    }

    @Test func `of more than eight encoded commits the smallest ones are kept one by one`() throws {
        var pending = PendingDocuments()
        var first = 0
        var separate: [Int] = []
        for (index, count) in [3, 2, 4, 1, 2, 2, 3, 2, 5, 2, 1].enumerated() {
            try commitEncoded(first..<first + count, CommitID(index + 1), &pending)
            first += count
            separate.append(pending.entryCount)
        }
        // The ninth commit separates that of one document, and later ones the first of two and
        // their own.
        #expect(separate == [0, 0, 0, 0, 0, 0, 0, 0, 1, 3, 4])
        let commits = (0..<first).map { pending[Self.key($0)]?.commit }
        let lengths = [3, 2, 4, 1, 2, 2, 3, 2, 5, 2, 1]
        let expected = lengths.enumerated().flatMap { index, count in
            [CommitID?](repeating: CommitID(index + 1), count: count)
        }
        #expect(commits == expected)
        #expect(pending[Self.key(9)]?.document?.bytes == [9])
        #expect(pending[Self.key(9).bytes]?.commit == 4)
        #expect(pending[Self.key(first)] == nil && pending[Self.key(first).bytes] == nil)
    }

    @Test(arguments: [(1_023, 1_024), (1_024, 1)])
    func `durable documents are dropped one by one once there are more than 1,024`(
        count: Int, remaining: Int
    ) {
        var pending = PendingDocuments()
        for (commit, numbers) in [(1, 0..<count), (2, count..<count + 1)] {
            let documents = numbers.map { number in
                (key: Self.key(number), document: Optional(StoredDocument([1])))
            }
            for (key, document) in documents { _ = pending.record(document, at: key) }
            pending.record(documents, of: CommitID(commit))
        }
        pending.discard(through: 1)
        #expect(pending.entryCount == remaining)
        #expect(pending[Self.key(count)]?.commit == 2)
        pending.discard(through: 2)
        #expect(pending.entryCount == 0 && pending.isEmpty)
    }
}
