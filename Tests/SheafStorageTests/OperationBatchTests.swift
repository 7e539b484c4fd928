import SheafBytes
import SheafStorage
import SheafTestSupport
import Testing

/// Batch lookups of operations, which skip the checks of single lookups.
@Suite struct OperationBatchTests {
    private let engine: StoreEngine
    private let batch = OperationBatch(capacity: 64)

    init() throws {
        var options = LogStoreOptions()
        options.segmentLength = 2_000
        options.history = HistoryHorizon(commits: 0, bytes: .max)
        engine = try StoreEngine(opening: SimulatedVolume(seed: 7), options: options)
        try commit { batch throws(StorageError) in
            for number in 0..<40 {
                try batch.put(Self.key(number), Array("payload \(number)".utf8))
            }
        }
        try commit { batch throws(StorageError) in
            for number in [3, 11, 38] { try batch.extend(Self.key(number), [1, 2, 3]) }
        }
        try commit { batch throws(StorageError) in try batch.remove(Self.key(5)) }
    }

    private static func key(_ number: Int) -> [UInt8] { Array("key \(number)".utf8) }

    private func commit(
        _ fill: (inout WriteBatch) throws(StorageError) -> Void
    ) throws {
        var batch = WriteBatch()
        try fill(&batch)
        _ = try engine.append(batch)
        while try engine.flush() {}
    }

    /// Copies everything into base files.
    private func compact() throws {
        engine.compactEverything()
        while try engine.compactionStep() {}
    }

    /// Returns the number of pointers found before the first mismatch.
    private func find(_ pointers: [RecordPointer], in log: LogSnapshot) -> Int {
        pointers.span.withUnsafeBufferPointer { batch.find($0, in: log) }
    }

    private func pointer(_ number: Int, in log: LogSnapshot) throws -> RecordPointer {
        try #require(Self.key(number).span.withUnsafeBytes { log.recordPointer(of: $0) })
    }

    /// Returns the pointers of all puts in log order, and those of the delta records.
    private func pointers(_ log: LogSnapshot) -> (puts: [RecordPointer], deltas: [RecordPointer]) {
        var all: [RecordPointer] = []
        log.tree.forEach(in: log.keys) { _, value in
            if let pointer = RecordPointer(value) { all.append(pointer) }
            return true
        }
        all.sort { $0.position < $1.position }
        return (all.filter { !$0.isDelta }, all.filter(\.isDelta))
    }

    @Test(arguments: [false, true])
    func `puts are found with their keys and payloads`(_ isCompacted: Bool) throws {
        if isCompacted { try compact() }
        let log = engine.snapshot()
        let puts = pointers(log).puts
        #expect(puts.count == 36)
        // The first lookup verifies the records, the second one does not.
        for _ in 0..<2 {
            #expect(find(puts, in: log) == puts.count)
            for (pointer, stored) in zip(puts, batch.stored(puts.count)) {
                let operation = try log.newestOperation(at: pointer)
                #expect(stored.key.elementsEqual(operation.key))
                #expect(stored.payload.elementsEqual(operation.payload))
                #expect(stored.pointer == pointer.position.rawValue)
            }
        }
    }

    @Test(arguments: [false, true])
    func `a delta record ends a batch lookup, even if its pointer lacks the delta flag`(
        _ isCompacted: Bool
    ) throws {
        if isCompacted { try compact() }
        let log = engine.snapshot()
        let (puts, deltas) = pointers(log)
        #expect(deltas.count == 3)
        _ = find(puts, in: log)
        for pointer in deltas {
            #expect(find([puts[0], puts[1], pointer, puts[2]], in: log) == 2)
            #expect(find([pointer, puts[0]], in: log) == 0)
            // This simulates a tree entry that has lost its delta flag.
            let put = RecordPointer(position: pointer.position, length: pointer.length)
            #expect(find([puts[0], put, puts[1]], in: log) == 1)
        }
    }

    @Test(arguments: [false, true])
    func `a pointer that does not match the log ends a batch lookup`(
        _ isCompacted: Bool
    ) throws {
        let removal = try #require(
            Self.key(5).span.withUnsafeBytes { engine.snapshot().removal(of: $0) })
        if isCompacted { try compact() }
        let log = engine.snapshot()
        let puts = pointers(log).puts
        _ = find(puts, in: log)
        if !isCompacted { #expect(find([puts[0], removal], in: log) == 1) }
        for put in puts.dropFirst() {
            let (segment, offset) = (put.position.segment, put.position.offset)
            let wrong = [
                RecordPointer(position: put.position, length: put.length - 1),
                RecordPointer(position: put.position, length: put.length + 1),
                RecordPointer(position: put.position, length: 0),
                RecordPointer(position: put.position, length: 1 << 30),
                RecordPointer(
                    position: LogPosition(segment: segment, offset: offset + 1), length: put.length),
                RecordPointer(
                    position: LogPosition(segment: segment, offset: 1 << 20), length: put.length),
                RecordPointer(
                    position: LogPosition(segment: 9_999, offset: offset), length: put.length),
            ]
            for pointer in wrong {
                #expect(find([puts[0], pointer, put], in: log) == 1, "\(pointer) for \(put)")
                #expect(throws: StorageError.self) { try log.newestOperation(at: pointer) }
            }
        }
    }
}
