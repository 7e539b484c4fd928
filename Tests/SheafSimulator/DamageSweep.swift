import SheafBytes
package import SheafStorage
package import SheafTestSupport

/// A sweep that damages a reference store at one position at a time.
///
/// Each damaged store is opened and read completely; it must report the damage or return correct
/// data.
package struct DamageSweep: Sendable {
    /// The result of one case of damage.
    package enum Outcome: String, CaseIterable, Sendable {
        case harmless
        case reportedAtOpening = "reported when opened"
        case reportedAtReading = "reported when read"
        /// The end of the log is lost, as if it had never been written.
        case shorter = "taken for a crash"
    }

    /// The number of cases with each outcome.
    package struct Tally: Sendable {
        package private(set) var counts: [Outcome: Int] = [:]
        package var total: Int { counts.values.reduce(0, +) }

        package init() {}

        package mutating func add(_ outcome: Outcome) {
            counts[outcome, default: 0] += 1
        }

        package mutating func add(_ other: Tally) {
            counts.merge(other.counts, uniquingKeysWith: +)
        }
    }

    package let store: ReferenceStore
    private let seed: UInt64
    /// The offset of each file in the concatenation of all files.
    private let starts: [(name: String, start: Int)]

    /// Creates a sweep; `seed` selects the bit to flip in each byte.
    package init(_ store: ReferenceStore, seed: UInt64) {
        self.store = store
        self.seed = seed
        var start = 0
        starts = store.names.map { name in
            defer { start += store.files[name]?.count ?? 0 }
            return (name, start)
        }
    }

    /// Returns the file and offset of the `index`th byte of the store.
    package func location(of index: Int) -> (file: String, offset: Int) {
        let file = starts.last { $0.start <= index } ?? (name: "", start: 0)
        return (file.name, index - file.start)
    }

    /// Flips one bit of the `index`th byte of the store.
    package func flip(_ index: Int) throws -> Outcome {
        let (file, offset) = location(of: index)
        var random = SeededRandom(seed: seed &+ UInt64(index), "bit")
        let bit = random.below(8)
        let volume = store.volume()
        volume.corrupt(file, .flipBit(at: offset, bit: bit))
        return try describing("bit \(bit) of \(file):\(offset) flipped") {
            let outcome = try judge(volume, file, [offset..<offset + 1])
            if index % 16 == 0 { try expectFinding(volume: store.volume(), file, offset, bit) }
            return outcome
        }
    }

    /// Truncates the file of the `index`th byte of the store at that byte.
    package func truncate(_ index: Int) throws -> Outcome {
        let (file, offset) = location(of: index)
        let size = store.files[file]?.count ?? 0
        let volume = store.volume()
        volume.corrupt(file, .truncate(to: offset))
        return try describing("\(file) truncated to \(offset) bytes") {
            try judge(volume, file, [offset..<size])
        }
    }

    /// Opens a damaged store and reads everything in it.
    ///
    /// An error must name `file`, unless `file` is nil.
    package func judge(
        _ volume: SimulatedVolume, _ file: String?, _ damaged: [Range<Int>]
    ) throws -> Outcome {
        let oldest = file.map { store.oldestCommit(file: $0, damaged: damaged) } ?? store.model.last
        // A prepared segment becomes part of the log once it contains bytes; the error then
        // concerns the missing footer of the segment before it.
        let isUnused = file.map { store.files[$0]?.allSatisfy { $0 == 0 } ?? true } ?? true
        return try checkDamage(volume, isUnused ? nil : file, notBefore: oldest)
    }

    /// Opens a damaged store, which may recover to `oldest` or later, and reads everything in it.
    package func checkDamage(
        _ volume: SimulatedVolume, _ file: String?, notBefore oldest: CommitID
    ) throws -> Outcome {
        let engine: StoreEngine
        do throws(StorageError) {
            engine = try StoreEngine(opening: volume, options: store.options)
        } catch {
            try expectReport(error, of: file)
            return .reportedAtOpening
        }
        let snapshot = engine.snapshot()
        guard snapshot.commit >= oldest, snapshot.commit <= store.model.last else {
            throw Violation(
                "the store is at commit \(snapshot.commit), not within "
                    + "\(oldest)...\(store.model.last)")
        }
        do {
            try store.model.check(snapshot)
            try scan(snapshot)
        } catch let error as StorageError {
            try expectReport(error, of: file)
            return .reportedAtReading
        }
        return snapshot.commit == store.model.last ? .harmless : .shorter
    }

    private func expectReport(_ error: StorageError, of file: String?) throws {
        switch error {
        case .corrupt(let damage), .unsupported(let damage):
            guard file == nil || damage.file == file else {
                throw Violation("the damage is reported in another file: \(error)")
            }
        default:
            throw Violation("unexpected kind of error: \(error)")
        }
    }

    /// Reads every key in ascending order, with its history in the log.
    private func scan(_ snapshot: LogSnapshot) throws {
        var last: [UInt8] = []
        try snapshot.tree.forEach(in: snapshot.keys) { key, _ in
            let key = Array(key)
            guard last.lexicographicallyPrecedes(key) else {
                throw Violation("a scan returned keys out of order")
            }
            last = key
            return true
        }
        try store.model.checkChains(snapshot, kept: 0)
    }

    /// Verifies that the verifier detects a flipped bit of a file.
    private func expectFinding(
        volume: SimulatedVolume, _ file: String, _ offset: Int, _ bit: Int
    ) throws {
        let before = try Verifier.verifyFiles(of: volume).findings
        // The verifier skips files that a base file has replaced.
        guard !before.contains(where: { $0.file == file && $0.reason.contains("replaced") }) else {
            return
        }
        volume.corrupt(file, .flipBit(at: offset, bit: bit))
        guard try Verifier.verifyFiles(of: volume).findings != before else {
            throw Violation("the verifier missed the flipped bit")
        }
    }

    /// Runs one case and adds its description to the violations it throws.
    func describing(_ what: String, _ body: () throws -> Outcome) throws -> Outcome {
        do {
            return try body()
        } catch {
            throw Violation("\(store.ending.rawValue) store of seed \(seed), \(what): \(error)")
        }
    }
}
