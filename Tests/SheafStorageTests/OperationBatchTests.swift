import SheafBytes
import SheafStorage
import SheafTestSupport
import Testing

/// Operations that are looked up many at a time, without the checks that one alone goes through.
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

    /// How many of these places in turn were found.
    private func find(_ places: [Place], in log: LogSnapshot) -> Int {
        places.span.withUnsafeBufferPointer { batch.find($0, in: log) }
    }

    private func place(_ number: Int, in log: LogSnapshot) throws -> Place {
        try #require(Self.key(number).span.withUnsafeBytes { log.place(of: $0) })
    }

    /// The places of all puts in the order of the log, and those of the extensions.
    private func places(_ log: LogSnapshot) -> (puts: [Place], extensions: [Place]) {
        var all: [Place] = []
        log.tree.forEach(in: log.keys) { _, value in
            if let place = Place(value) { all.append(place) }
            return true
        }
        all.sort { $0.position < $1.position }
        return (all.filter { !$0.isExtension }, all.filter(\.isExtension))
    }

    @Test(arguments: [false, true])
    func `puts are found with their keys and payloads`(_ isCompacted: Bool) throws {
        if isCompacted { try compact() }
        let log = engine.snapshot()
        let puts = places(log).puts
        #expect(puts.count == 36)
        // The first time records are verified.
        for _ in 0..<2 {
            #expect(find(puts, in: log) == puts.count)
            for (place, stored) in zip(puts, batch.stored(puts.count)) {
                let operation = try log.newestOperation(at: place)
                #expect(stored.key.elementsEqual(operation.key))
                #expect(stored.payload.elementsEqual(operation.payload))
                #expect(stored.place == place.position.rawValue)
            }
        }
    }

    @Test(arguments: [false, true])
    func `extensions end what is found, and what follows them is found again`(
        _ isCompacted: Bool
    ) throws {
        if isCompacted { try compact() }
        let log = engine.snapshot()
        let (puts, extensions) = places(log)
        #expect(extensions.count == 3)
        _ = find(puts, in: log)
        for place in extensions {
            #expect(find([puts[0], puts[1], place, puts[2]], in: log) == 2)
            #expect(find([place, puts[0]], in: log) == 0)
            // As if the tree had forgotten what it is.
            let put = Place(position: place.position, length: place.length)
            #expect(find([puts[0], put, puts[1]], in: log) == 1)
        }
    }

    @Test(arguments: [false, true])
    func `places that are not those of the log are left to who says what is wrong`(
        _ isCompacted: Bool
    ) throws {
        let removal = try #require(
            Self.key(5).span.withUnsafeBytes { engine.snapshot().removal(of: $0) })
        if isCompacted { try compact() }
        let log = engine.snapshot()
        let puts = places(log).puts
        _ = find(puts, in: log)
        if !isCompacted { #expect(find([puts[0], removal], in: log) == 1) }
        for put in puts.dropFirst() {
            let (segment, offset) = (put.position.segment, put.position.offset)
            let wrong = [
                Place(position: put.position, length: put.length - 1),
                Place(position: put.position, length: put.length + 1),
                Place(position: put.position, length: 0),
                Place(position: put.position, length: 1 << 30),
                Place(
                    position: LogPosition(segment: segment, offset: offset + 1), length: put.length),
                Place(position: LogPosition(segment: segment, offset: 1 << 20), length: put.length),
                Place(position: LogPosition(segment: 9_999, offset: offset), length: put.length),
            ]
            for place in wrong {
                #expect(find([puts[0], place, put], in: log) == 1, "\(place) for \(put)")
                #expect(throws: StorageError.self) { try log.newestOperation(at: place) }
            }
        }
    }
}
