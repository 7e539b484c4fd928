import SheafStorage
import SheafTestSupport
import Testing

/// Pointers and positions that contradict the log, and the damage that a read of them reports.
@Suite struct WrongPointerTests {
    private func open(segmentLength: Int) throws -> StoreEngine {
        var options = SmallStore.options(seed: 17)
        options.segmentLength = segmentLength
        options.history = HistoryHorizon(commits: 0, bytes: .max)
        return try StoreEngine(opening: SimulatedVolume(seed: 17), options: options)
    }

    private func commit(_ engine: StoreEngine, _ build: (inout WriteBatch) throws -> Void) throws {
        var batch = WriteBatch()
        try build(&batch)
        _ = try engine.append(batch)
        try engine.flush()
    }

    private func pointer(_ key: [UInt8], in log: LogSnapshot) throws -> RecordPointer {
        try #require(key.withUnsafeBytes { log.recordPointer(of: $0) })
    }

    /// Returns the length of an operation that a call finds, or the damage that it throws.
    private func outcome(_ body: () throws -> Operation?) -> String {
        do {
            return try body().map { "\($0.length) bytes" } ?? "none"
        } catch StorageError.corrupt(let damage) {
            return "\(damage)"
        } catch {
            return "\(error)"
        }
    }

    /// Returns the outcomes of reading the operation of a key, and any operation, at a pointer.
    private func outcomes(
        _ key: [UInt8], _ pointer: RecordPointer, in log: LogSnapshot
    ) -> [String] {
        [
            outcome {
                try key.span.withUnsafeBytes { try log.operation(of: $0, at: pointer) }
            },
            outcome {
                try key.span.withUnsafeBytes { key in
                    try log.operations(of: key, at: pointer).first?.operation
                }
            },
            outcome { try log.newestOperation(at: pointer) },
            outcome { try log.operation(at: pointer).operation },
            outcome { try log.operations(at: pointer).first?.operation },
        ]
    }

    /// Returns the bytes of a put with a key of one byte, up to its payload.
    private static func beginning(payloadLength: UInt32, distance: UInt32) -> [UInt8] {
        var bytes: [UInt8] = [1, 0, 1, 0]
        for value in [payloadLength, 0, 0, distance] {
            bytes += withUnsafeBytes(of: value.littleEndian) { Array($0) }
        }
        return bytes + [5]
    }

    @Test func `a position at which no operation begins is reported as damage`() throws {
        let engine = try open(segmentLength: 1 << 20)
        // The payload contains what could be operations, each 30 bytes after the one before.
        var payload: [UInt8] = []
        for (distance, length) in [(63, 0), (64, 0), (146, 0), (175, 92), (205, 63), (227, 0)]
            as [(UInt32, UInt32)]
        {
            payload += Self.beginning(payloadLength: length, distance: distance)
            payload += [UInt8](repeating: 0, count: 9)
        }
        payload += [UInt8](repeating: 0, count: 20)
        try commit(engine) { try $0.put([1], payload) }
        try commit(engine) { try $0.put([2], [9]) }
        let log = engine.snapshot()
        // The record begins at 128 and has 288 bytes, the next one begins at 416 and has 88.
        #expect(try pointer([1], in: log).position == LogPosition(segment: 1, offset: 192))
        #expect(log.end == LogPosition(segment: 1, offset: 504))
        for (offset, expected) in [
            (213, "0000000001.log:213: there is no operation at this position"),
            (243, "0000000001.log:179: there is no record at this offset"),
            (273, "0000000001.log:273: there is no operation at this position"),
            (303, "113 bytes"),
            (333, "0000000001.log:349: the distance to the start of the record is wrong"),
            (363, "0000000001.log:144: the record length 1 is wrong"),
            (480, "22 bytes"),
            (484, "0000000001.log:484: there is no operation at this position"),
            (485, "0000000001.log:485: the position is past the end of the segment"),
        ] as [(Int, String)] {
            let position = LogPosition(segment: 1, offset: offset)
            // The second read finds records that the first one has verified.
            for _ in 0..<2 {
                #expect(outcome { try log.segments.operation(at: position) } == expected)
            }
            #expect(
                outcome { try log.segments.loggedOperation(at: position)?.operation } == expected)
        }
        let absent = LogPosition(segment: 2, offset: 192)
        let error = "0000000002.log:192: the tree points to a segment that does not exist"
        #expect(outcome { try log.segments.operation(at: absent) } == error)
        #expect(outcome { try log.segments.loggedOperation(at: absent)?.operation } == error)
        try engine.close()
    }

    @Test func `a pointer to another operation is reported as damage`() throws {
        let engine = try open(segmentLength: 1 << 20)
        for key in [1, 2] as [UInt8] { try commit(engine) { try $0.put([key], [key]) } }
        let removed = try pointer([2], in: engine.snapshot())
        try commit(engine) { try $0.remove([2]) }
        try commit(engine) { try $0.extend([1], [8]) }
        let log = engine.snapshot()
        let (put, delta) = (removed, try pointer([1], in: log))
        #expect(put.position.offset == 280 && put.length == 22 && !put.isDelta)
        #expect(delta.position.offset == 456 && delta.length == 22 && delta.isDelta)
        #expect(outcomes([2], put, in: log) == Array(repeating: "22 bytes", count: 5))
        #expect(outcomes([1], delta, in: log) == Array(repeating: "22 bytes", count: 5))
        // The key is known in the first two calls only.
        let (known, unknown) = (
            "the tree points to another key's operation", "the tree points to another operation"
        )
        func reports(_ offset: Int) -> [String] {
            [known, known, unknown, unknown, unknown].map { "0000000001.log:\(offset): \($0)" }
        }
        #expect(
            outcomes([1], put, in: log)
                == Array(reports(280)[..<2]) + Array(repeating: "22 bytes", count: 3))
        for length in [21, 23] {
            let wrong = RecordPointer(position: put.position, length: length)
            #expect(outcomes([2], wrong, in: log) == reports(280))
        }
        let isDelta = RecordPointer(position: put.position, length: 22, isDelta: true)
        #expect(outcomes([2], isDelta, in: log) == reports(280))
        let isPut = RecordPointer(position: delta.position, length: 22)
        #expect(outcomes([1], isPut, in: log) == reports(456))
        let removal = try #require(([2] as [UInt8]).withUnsafeBytes { log.removal(of: $0) })
        #expect(removal.position.offset == 368 && removal.length == 21)
        #expect(Array(outcomes([2], removal, in: log)[2...]) == Array(reports(368)[2...]))
        try engine.close()
    }

    @Test func `a chain that does not lead back within a key is reported as damage`() throws {
        let engine = try open(segmentLength: 1 << 20)
        try commit(engine) { try $0.put([1], [1]) }
        try commit(engine) { try $0.extend([1], [2]) }
        try commit(engine) { try $0.put([2], [3]) }
        let log = engine.snapshot()
        func next(_ key: [UInt8], from offset: Int, before limit: Int) -> [String] {
            var history = key.withUnsafeBytes { key in
                KeyHistory(
                    of: key, from: LogPosition(segment: 1, offset: offset),
                    before: LogPosition(segment: 1, offset: limit), in: log)
            }
            var found: [String] = []
            repeat {
                found.append(outcome { try history.next()?.operation })
            } while found.last
                == "22 bytes"
            return found
        }
        #expect(next([1], from: 280, before: 281) == ["22 bytes", "22 bytes", "none"])
        for limit in [270, 280] {
            #expect(
                next([1], from: 280, before: limit)
                    == ["0000000001.log:\(limit): the chain of a key does not point backward"])
        }
        #expect(
            next([1], from: 368, before: 500)
                == ["0000000001.log:368: the chain of a key reaches another key"])
        #expect(
            next([2], from: 280, before: 500)
                == ["0000000001.log:280: the chain of a key reaches another key"])
        try engine.close()
    }

    @Test func `a pointer to an operation that compaction has dropped is reported as damage`()
        throws
    {
        let engine = try open(segmentLength: 1)
        try commit(engine) { try $0.put([1], [1]) }
        let dropped = try pointer([1], in: engine.snapshot())
        for number in [2, 3] as [UInt8] { try commit(engine) { try $0.put([1], [number]) } }
        engine.compactEverything()
        while try engine.compactionStep() {}
        let log = engine.snapshot()
        #expect(
            log.segments.files.map { $0.name } == ["0000000001-0000000002.base", "0000000003.log"])
        let report =
            "0000000001-0000000002.base:192: "
            + "the tree points to an operation that compaction dropped"
        #expect(outcomes([1], dropped, in: log) == Array(repeating: report, count: 5))
        #expect(outcome { try log.segments.operation(at: dropped.position) } == "none")
        try engine.close()
    }
}
