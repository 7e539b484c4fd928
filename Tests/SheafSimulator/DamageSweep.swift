import SheafBytes
package import SheafStorage
package import SheafTestSupport

/// Damages a reference store in one place after another, opens it, reads all of it, and expects to
/// be told of the damage or to be given right answers.
package struct DamageSweep: Sendable {
    /// What came of one damage.
    package enum Outcome: String, CaseIterable, Sendable {
        case harmless
        case reportedAtOpening = "reported when opened"
        case reportedAtReading = "reported when read"
        /// The end of the log is gone, and looks as if it had never been written.
        case shorter = "taken for a crash"
    }

    /// How often each outcome came up.
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
    /// The first byte of each file in a count of all bytes.
    private let starts: [(name: String, start: Int)]

    /// Prepares to damage `store`.
    package init(_ store: ReferenceStore, seed: UInt64) {
        self.store = store
        self.seed = seed
        var start = 0
        starts = store.names.map { name in
            defer { start += store.files[name]?.count ?? 0 }
            return (name, start)
        }
    }

    /// The file and the offset in it of the `index`th byte of the store.
    package func place(of index: Int) -> (file: String, offset: Int) {
        let file = starts.last { $0.start <= index } ?? (name: "", start: 0)
        return (file.name, index - file.start)
    }

    /// Flips one bit of the `index`th byte of the store.
    package func flip(_ index: Int) throws -> Outcome {
        let (file, offset) = place(of: index)
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

    /// Cuts the file of the `index`th byte of the store before that byte.
    package func truncate(_ index: Int) throws -> Outcome {
        let (file, offset) = place(of: index)
        let size = store.files[file]?.count ?? 0
        let volume = store.volume()
        volume.corrupt(file, .truncate(to: offset))
        return try describing("\(file) cut to \(offset) bytes") {
            try judge(volume, file, [offset..<size])
        }
    }

    /// Opens a damaged store and reads everything in it.
    ///
    /// What is reported must be reported of `file`, unless no file is given.
    package func judge(
        _ volume: SimulatedVolume, _ file: String?, _ damaged: [Range<Int>]
    ) throws -> Outcome {
        let oldest = file.map { store.oldestCommit(file: $0, damaged: damaged) } ?? store.model.last
        // A file that was prepared and not begun belongs to the log once something stands in it,
        // and the file before it then lacks its end.
        let isUnused = file.map { store.files[$0]?.allSatisfy { $0 == 0 } ?? true } ?? true
        return try judge(volume, isUnused ? nil : file, notBefore: oldest)
    }

    /// Opens a damaged store that may be found at `oldest` or later, and reads everything in it.
    package func judge(
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
                throw Violation("the damage is reported elsewhere: \(error)")
            }
        default:
            throw Violation("the damage is reported as \(error)")
        }
    }

    /// Reads every key in order, with all that the log still tells about it.
    private func scan(_ snapshot: LogSnapshot) throws {
        var last: [UInt8] = []
        try snapshot.tree.forEach(in: snapshot.keys) { key, _ in
            let key = Array(key)
            guard last.lexicographicallyPrecedes(key) else {
                throw Violation("the keys of a scan are not in order")
            }
            last = key
            return true
        }
        try store.model.checkChains(snapshot, kept: 0)
    }

    /// Expects the verifier to see every flipped bit of a file that holds the log.
    private func expectFinding(
        volume: SimulatedVolume, _ file: String, _ offset: Int, _ bit: Int
    ) throws {
        let before = try Verifier.verifyUnlocked(volume).findings
        // Nobody reads a file again that a base file has replaced.
        guard !before.contains(where: { $0.file == file && $0.reason.contains("replaced") }) else {
            return
        }
        volume.corrupt(file, .flipBit(at: offset, bit: bit))
        guard try Verifier.verifyUnlocked(volume).findings != before else {
            throw Violation("the verifier does not see it")
        }
    }

    /// Runs one case, and names it in what it throws.
    func describing(_ what: String, _ body: () throws -> Outcome) throws -> Outcome {
        do {
            return try body()
        } catch {
            throw Violation("\(store.ending.rawValue) store of seed \(seed), \(what): \(error)")
        }
    }
}
