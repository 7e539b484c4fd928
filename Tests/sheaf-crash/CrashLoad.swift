import SheafBytes
import SheafStorage
import SheafTestSupport

/// A failed check after a process kill or a power cut.
struct CrashFailure: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) {
        self.description = description
    }
}

/// A load of several writers that count their commits, which determines the expected content.
enum CrashLoad {
    static let writerCount = 4
    private static let slotCount = 40
    /// Every commit with a multiple of this number is large.
    private static let largePeriod = 60
    private static let largeCount = 120

    /// Options under which a short run rolls segments, writes checkpoints and compacts.
    static var options: LogStoreOptions {
        var options = LogStoreOptions()
        options.segmentLength = 32 << 10
        options.recordLength = 4 << 10
        options.checkpointLength = 48 << 10
        options.history = HistoryHorizon(commits: 100, bytes: 256 << 10)
        return options
    }

    /// Returns the changes of commit `count` of `writer`.
    static func batch(_ writer: Int, _ count: Int) throws(StorageError) -> WriteBatch {
        var batch = WriteBatch()
        let slot = key(writer, "slot", count % slotCount)
        if count % 7 == 0 {
            try batch.remove(slot)
        } else {
            try batch.put(slot, payload(writer, count, 0))
        }
        if count % largePeriod == 0 {
            for number in 0..<largeCount {
                try batch.put(key(writer, "large", number), payload(writer, count, number))
            }
        }
        try batch.put(key(writer, "last", 0), Array("\(count)".utf8))
        return batch
    }

    /// Returns the number of commits of `writer` in a store.
    static func count(of writer: Int, in snapshot: LogSnapshot) throws -> Int {
        guard let bytes = try read(key(writer, "last", 0), in: snapshot) else { return 0 }
        guard let count = Int(String(decoding: bytes, as: UTF8.self)) else {
            throw CrashFailure("the count of writer \(writer) is not a number")
        }
        return count
    }

    /// Verifies all commits up to the stored counts, and returns these counts.
    ///
    /// All `acknowledged` commits must be present. A writer may have committed `unreported` more
    /// times without a report.
    static func check(
        _ snapshot: LogSnapshot, acknowledged: [Int], unreported: [Int]
    ) throws -> [Int] {
        var counts: [Int] = []
        var keys = 0
        for writer in 0..<writerCount {
            let count = try count(of: writer, in: snapshot)
            let reported = acknowledged[writer]
            guard (reported...reported + unreported[writer]).contains(count) else {
                throw CrashFailure(
                    "writer \(writer) had \(reported) commits acknowledged, "
                        + "but the store holds \(count)")
            }
            counts.append(count)
            keys += try checkKeys(of: writer, count, snapshot)
        }
        guard snapshot.commit == CommitID(counts.reduce(0, +)) else {
            throw CrashFailure("commit counts \(counts) do not add up to \(snapshot.commit)")
        }
        guard snapshot.count == keys else {
            throw CrashFailure("the store has \(snapshot.count) keys instead of \(keys)")
        }
        return counts
    }

    private static func checkKeys(
        of writer: Int, _ count: Int, _ snapshot: LogSnapshot
    ) throws -> Int {
        guard count > 0 else { return 0 }
        var keys = 1
        for writing in max(1, count - slotCount + 1)...count {
            let expected = writing % 7 == 0 ? nil : payload(writer, writing, 0)
            guard try read(key(writer, "slot", writing % slotCount), in: snapshot) == expected
            else {
                throw CrashFailure("commit \(writing) of writer \(writer) is missing or differs")
            }
            if expected != nil { keys += 1 }
        }
        let large = count - count % largePeriod
        guard large > 0 else { return keys }
        for number in 0..<largeCount {
            let found = try read(key(writer, "large", number), in: snapshot)
            guard found == payload(writer, large, number) else {
                throw CrashFailure("commit \(large) of writer \(writer) is incomplete")
            }
        }
        return keys + largeCount
    }

    private static func read(_ key: [UInt8], in snapshot: LogSnapshot) throws -> [UInt8]? {
        try key.span.withUnsafeBytes { key in try snapshot.payload(of: key).map { Array($0) } }
    }

    private static func key(_ writer: Int, _ name: String, _ number: Int) -> [UInt8] {
        Array("writer \(writer)/\(name)/\(number)".utf8)
    }

    private static func payload(_ writer: Int, _ count: Int, _ number: Int) -> [UInt8] {
        var random = SeededRandom(seed: UInt64(writer << 40 | count << 10 | number), "payload")
        return random.bytes(20 + random.below(200))
    }
}
