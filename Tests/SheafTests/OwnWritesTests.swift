import SheafBytes
import SheafDocument
import SheafEngine
import SheafStorage
import SheafTestSupport
import Testing

/// Tests of the periods in which a site has written, and of records of its unproven tokens.
@Suite struct OwnWritesTests {
    private func time(_ number: UInt64) -> HybridTime { HybridTime(rawValue: number) }

    private func pause(_ after: UInt64, _ before: UInt64) throws -> WritePause {
        try #require(WritePause(after: time(after), before: time(before)))
    }

    private func lacking(_ writes: OwnWrites) -> [UInt64] {
        (0..<60 as Range<UInt64>).filter { writes.lacks(time($0)) }
    }

    @Test func `writes between an opening and the first write after it are missing`() throws {
        let earlier = [try pause(10, 14), try pause(20, 23)]
        let missing: [UInt64] = [11, 12, 13, 21, 22]
        var writes = OwnWrites(opened: time(40), earlier: earlier)
        let open = missing + Array(41..<60)
        #expect(lacking(writes) == open)
        #expect(writes.endedPauses == earlier)
        let now = earlier + [try pause(40, 55)]
        #expect(writes.pauses(until: time(55)) == now)
        writes.recordCommit(time(50))
        writes.recordCommit(time(45))
        // Only the first write after the opening ends the pause.
        #expect(writes.first == time(50))
        let closed = missing + Array(41..<50)
        #expect(lacking(writes) == closed)
        let ended = earlier + [try pause(40, 50)]
        #expect(writes.endedPauses == ended)
        #expect(writes.pauses(until: time(55)) == ended)
        for (missing, end) in [(11, 10), (13, 10), (14, 40), (21, 20), (45, 40), (5, 40)]
            as [(UInt64, UInt64)]
        {
            #expect(writes.end(before: time(missing)) == time(end), "\(missing)")
        }
        #expect(!writes.isOfNewSite)
    }

    @Test func `a site that was drawn after the opening lacks no write`() throws {
        var writes = OwnWrites.ofNewSite
        #expect(writes.isOfNewSite && lacking(writes) == [] && writes.endedPauses == [])
        #expect(writes.pauses(until: time(50)) == [])
        writes.recordCommit(time(20))
        #expect(writes.isOfNewSite && writes.first == .initial)
        // A site of an empty store is in the log, and may have been used by a lost write.
        let opened = OwnWrites(opened: .initial)
        let all = [UInt64](1..<60)
        #expect(!opened.isOfNewSite && lacking(opened) == all)
        #expect(opened.endedPauses == [])
        let pauses = [try pause(0, 9)]
        #expect(opened.pauses(until: time(9)) == pauses)
        // No time lies between an opening and the write that follows it at once.
        var next = OwnWrites(opened: time(10))
        next.recordCommit(time(11))
        #expect(next.endedPauses == [] && lacking(next) == [])
    }

    @Test func `a move of writes precedes the commits before its own`() {
        var record = SiteMoveRecord(site: Site(rawValue: 1), pauses: [])
        // Without a commit the move is not made yet.
        #expect(record.precedes(0) && record.precedes(.max))
        record.commit = 5
        #expect(record.precedes(4) && !record.precedes(5) && !record.precedes(6))
    }

    // MARK: Unproven tokens

    private func key(_ number: UInt8) -> [UInt8] {
        UnprovenTokens.key(
            [UInt8](repeating: number, count: 32), inDocument: [UInt8](repeating: 1, count: 32))
    }

    /// Returns a store with an entry for each number.
    private func store(_ numbers: [UInt8]) throws -> StoreEngine {
        let store = try StoreEngine(opening: SimulatedVolume(seed: 1))
        var batch = WriteBatch()
        for number in numbers { try batch.put(key(number), [number]) }
        if !numbers.isEmpty { _ = try store.append(batch) }
        try store.flush()
        return store
    }

    @Test func `entries of tokens are those of the log with the changes of later commits`() throws {
        let store = try store([1, 2])
        let snapshot = store.snapshot()
        var tokens = UnprovenTokens(mayHaveEntries: false)
        #expect(!tokens.mayHaveEntries && tokens.changes.isEmpty)
        var transaction = tokens.beginTransaction(after: snapshot.commit)
        try transaction.remove(key(1), in: snapshot)
        // An entry that does not exist is not removed.
        try transaction.remove(key(3), in: snapshot)
        #expect(Set(transaction.changes.keys) == [key(1)])
        tokens.markWritten(transaction, by: 2)
        #expect(!tokens.mayHaveEntries)
        transaction = tokens.beginTransaction(after: 1)
        #expect(transaction.changes.isEmpty)
        transaction.put(key(4), [40])
        tokens.markWritten(transaction, by: 3)
        #expect(tokens.mayHaveEntries)
        func payloads(_ tokens: UnprovenTokens) throws -> [[UInt8]?] {
            try [1, 2, 3, 4].map { try tokens.payload(of: key($0), in: snapshot) }
        }
        let found = try payloads(tokens)
        #expect(found == [nil, [2], nil, [40]])
        // A transaction drops the changes that its snapshot has.
        for (commit, expected) in [
            (1, [nil, [2], nil, [40]]), (2, [[1], [2], nil, [40]]), (3, [[1], [2], nil, nil]),
        ] as [(CommitID, [[UInt8]?])] {
            transaction = tokens.beginTransaction(after: commit)
            let found = try payloads(transaction)
            #expect(found == expected, "\(commit)")
        }
        #expect(tokens.mayHaveEntries)
    }

    @Test func `changes of entries are written to the log`() throws {
        let store = try store([1, 2, 3])
        var tokens = UnprovenTokens(mayHaveEntries: true)
        var batch = WriteBatch()
        try tokens.write(into: &batch)
        #expect(batch.count == 0)
        for number in [9, 4, 7] as [UInt8] { tokens.put(key(number), [number, 0]) }
        for number in [3, 1] as [UInt8] { try tokens.remove(key(number), in: store.snapshot()) }
        try tokens.write(into: &batch)
        #expect(batch.count == 5)
        _ = try store.append(batch)
        try store.flush()
        let snapshot = store.snapshot()
        var found: [[UInt8]] = []
        snapshot.tree.forEach(in: StoreKey.unprovenTokens) { key, _ in
            found.append(Array(key))
            return true
        }
        let expected = [2, 4, 7, 9].map { key($0) }
        #expect(found == expected)
        let fresh = UnprovenTokens()
        #expect(try fresh.payload(of: key(7), in: snapshot) == [7, 0])
        #expect(try fresh.payload(of: key(1), in: snapshot) == nil)
    }

    @Test func `an entry has the key of a peer, or nothing`() throws {
        for length in [0, 32] {
            let bytes = [UInt8](repeating: 1, count: length)
            try bytes.withUnsafeBytes { try UnprovenTokens.check($0) }
        }
        for length in [1, 31, 33, 64] {
            let refusal = Malformed.invalid("an unproven token of \(length) bytes", at: 0)
            #expect(throws: refusal) {
                try [UInt8](repeating: 1, count: length).withUnsafeBytes {
                    try UnprovenTokens.check($0)
                }
            }
        }
    }
}
