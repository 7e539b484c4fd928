import SheafStorage
import SheafTestSupport
import Testing

/// The store of `format-spec/vectors` contains what the vectors say, byte by byte.
@Suite struct FormatVectorStoreTests {
    private let files: [String: [UInt8]]
    private let contents: FormatVectors

    init() throws {
        files = try FormatVectorFiles().files
        contents = try FormatVectors("contents.txt")
    }

    private func expected(after commit: CommitID) throws -> [String: [[UInt8]]] {
        try FormatVectorFiles.expected(contents, after: commit)
    }

    @Test func `the same commits make the same bytes again`() throws {
        let made = try FormatVectorStore.files()
        #expect(Set(made.keys) == Set(files.keys))
        for (name, bytes) in made { #expect(bytes == files[name], "\(name)") }
    }

    @Test func `the store opens and shows exactly what is written down`() throws {
        let engine = try FormatVectorFiles.open(files)
        let snapshot = engine.snapshot()
        #expect(engine.store.low == (try contents.number("store.low")))
        #expect(engine.store.high == (try contents.number("store.high")))
        #expect(snapshot.commit == (try contents.number("store.commit")))
        #expect(snapshot.commitAt == (try contents.number("store.commit-at")))
        #expect(snapshot.end.rawValue == (try contents.number("store.end")))
        #expect(engine.recovery.usedCheckpoint == (try contents.text("store.checkpoint")))
        #expect(engine.recovery.torn == nil)
        #expect(try FormatVectorFiles.contents(snapshot) == expected(after: 9))
    }

    @Test func `the log alone gives the same state as the checkpoint`() throws {
        var files = files
        files[FormatVectorStore.checkpoint] = nil
        let engine = try FormatVectorFiles.open(files)
        #expect(engine.recovery.usedCheckpoint == nil)
        #expect(engine.snapshot().commit == 9)
        #expect(try FormatVectorFiles.contents(engine.snapshot()) == expected(after: 9))
    }

    @Test func `the state after each commit that is not older than the horizon can be read`()
        throws
    {
        let snapshot = try FormatVectorFiles.open(files).snapshot()
        for commit in 5...9 as ClosedRange<CommitID> {
            let found = try FormatVectorFiles.contents(snapshot, after: commit)
            #expect(try found == expected(after: commit), "commit \(commit)")
        }
    }

    @Test func `every chain is the one that is written down`() throws {
        let snapshot = try FormatVectorFiles.open(files).snapshot()
        let live = FormatVectorFiles.places(snapshot, removed: false)
        let removed = FormatVectorFiles.places(snapshot, removed: true)
        #expect(removed.map(\.0) == [Array("car:4".utf8)])
        for (key, place) in live + removed {
            let name = "chain-\(String(decoding: key, as: UTF8.self))"
            let (links, gone) = try FormatVectorFiles.chain(snapshot, from: place.position)
            for (index, link) in links.enumerated() {
                let link = (link.position.rawValue, link.commit, UInt64(link.kind.rawValue))
                let at = "\(name).\(index + 1)"
                let expected = (
                    try contents.number("\(at).position"), try contents.number("\(at).commit"),
                    try contents.number("\(at).kind")
                )
                #expect(link == expected, "\(at)")
            }
            #expect(!contents.has("\(name).\(links.count + 1).position"), "\(name)")
            let end = contents.has("\(name).gone") ? try contents.number("\(name).gone") : 0
            #expect(gone.rawValue == end, "\(name)")
        }
    }

    @Test func `a store goes on where the vectors end`() throws {
        let volume = SimulatedVolume(files: files)
        let engine = try StoreEngine(opening: volume)
        var batch = WriteBatch()
        try batch.put(Array("car:6".utf8), Array("pink".utf8))
        #expect(try engine.append(batch) == 10)
        try engine.close()
        let sealed = volume.snapshotFiles()["0000000006.log"] ?? []
        // The footer is new; what was there before is there as it was.
        #expect(sealed.count == 360 + SegmentFooter.length)
        #expect(sealed.starts(with: (files["0000000006.log"] ?? []).prefix(360)))
        let again = try StoreEngine(opening: volume)
        #expect(again.snapshot().commit == 10)
        #expect(again.snapshot().end.segment == 7)
    }
}
