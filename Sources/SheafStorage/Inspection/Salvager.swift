import SheafBytes

/// A tool that copies the valid part of a damaged store into a new store.
///
/// Every valid record counts, regardless of damage around it. Of each key the newest operation is
/// kept. If that is a delta whose base is lost, the newest put is kept instead. The damaged store
/// is not changed.
package struct Salvager: ~Copyable {
    /// The approximate maximum length and number of operations of a batch.
    private static let batchLength = 1 << 20
    private static let batchCount = 4_096

    private let source: any Volume
    private let directory: StoreDirectory
    /// All files from which operations are read; locations contain indices into this array.
    private var files: [StoreDirectory.File] = []
    private var sweep: SalvageSweep

    /// Salvages the store at `path` into a new store at `target`.
    package static func salvage(
        at path: String, into target: String, store: StoreID? = nil
    ) throws(StorageError) -> SalvageReport {
        let source = try ReadOnlyVolume.open(at: path)
        do throws(VolumeError) {
            let existing = try PosixVolume(path: target, creatingDirectory: false)
            guard try existing.names().isEmpty else { throw VolumeError(.create, target, .exists) }
        } catch {
            if error.code == .exists { throw .notEmpty(path: target) }
            guard !PosixPath.isRegularFile(target) else {
                throw .refused(
                    "\(target.shortened(to: ErrorText.limit)) is not a directory; name one that "
                        + "does not exist")
            }
            guard error.code == .noSuchFile else { throw StorageError(error) }
        }
        return try salvage(source, store: store, options: LogStoreOptions()) {
            () throws(StorageError) in
            // The target is created after the source is identified: a failure leaves no directory.
            try translatingErrors { () throws(VolumeError) in
                try PosixVolume(path: target, creatingDirectory: true)
            }
        }
    }

    /// Salvages the store in `source` into `target`, which must be empty.
    package static func salvage(
        _ source: any Volume, into target: any Volume, store: StoreID? = nil,
        options: LogStoreOptions = LogStoreOptions()
    ) throws(StorageError) -> SalvageReport {
        let names = try translatingErrors { () throws(VolumeError) in try target.names() }
        guard names.isEmpty else { throw .notEmpty(path: target.path) }
        return try salvage(source, store: store, options: options) { target }
    }

    private static func salvage(
        _ source: any Volume, store: StoreID?, options: LogStoreOptions,
        into target: () throws(StorageError) -> any Volume
    ) throws(StorageError) -> SalvageReport {
        let source = try DirectorySnapshot.capture(source, holdingFiles: true)
        let directory = try StoreDirectory(source)
        let found = if let store { store } else { try directory.identity(in: source) }
        var salvager = Salvager(source, directory, found)
        salvager.gather()
        try salvager.write(to: try target(), options: options)
        return salvager.sweep.report
    }

    private init(_ source: any Volume, _ directory: StoreDirectory, _ store: StoreID) {
        self.source = source
        self.directory = directory
        sweep = SalvageSweep(store: store)
        sweep.report.store = store
    }

    /// Scans all files.
    private mutating func gather() {
        for finding in directory.findings { sweep.report.notes.append(finding.description) }
        for file in directory.unbegun {
            sweep.report.notes.append("\(file.name): the segment was never begun")
        }
        let sorted = directory.files.sorted { Self.segments(of: $0) < Self.segments(of: $1) }
        var next: UInt64 = 1
        for (index, file) in sorted.enumerated() {
            let segments = Self.segments(of: file)
            if segments.first > next {
                sweep.miss(UInt32(next)...UInt32(segments.first - 1))
            }
            next = max(next, segments.last + 1)
            files.append(file)
            sweep.collect(file, number: files.count - 1, isLast: index == sorted.count - 1)
        }
        sweep.finish()
        countMissingCommits()
        // Replaced files are read only if a base file is damaged or missing; otherwise they would
        // restore removed keys.
        guard sweep.report.hasLostCompactedOperations || !sweep.report.missingSegments.isEmpty
        else {
            return
        }
        for file in directory.superseded {
            var other = SalvageSweep(store: sweep.store)
            files.append(file)
            other.collect(file, number: files.count - 1, isLast: false)
            sweep.adopt(other)
            sweep.report.notes.append(
                "\(file.name): read although a base file replaced it, "
                    + "because a base file is damaged or missing")
        }
    }

    /// Counts the commits missing at the end that are known to have been durable.
    private mutating func countMissingCommits() {
        let found = DurableCommit.newest(
            namedBy: directory.checkpoints + directory.closedMarks, in: source, store: sweep.store)
        guard let found, found.commit > sweep.report.lastCommit else { return }
        sweep.report.lostCommitCount += found.commit - sweep.report.lastCommit
        sweep.report.notes.append(
            "\(found.file) names commit \(found.commit), but the last one found is "
                + "\(sweep.report.lastCommit)")
    }

    /// Returns the segments of a file according to its header, or else its name.
    private static func segments(
        of file: StoreDirectory.File
    ) -> (first: UInt64, last: UInt64) {
        let segments = (try? file.header.get())?.segments ?? file.segments
        return (UInt64(segments.lowerBound), UInt64(segments.upperBound))
    }

    /// Writes the newest payloads of each key.
    private mutating func write(
        to target: any Volume, options: LogStoreOptions
    ) throws(StorageError) {
        let witness = try witness()
        if let witness { countLosses(witness) }
        let engine = try StoreEngine(opening: target, options: options)
        do throws(StorageError) {
            try copy(to: engine, witness)
            try engine.writeCheckpoint()
        } catch {
            try? engine.close()
            throw error
        }
        try engine.close()
    }

    private mutating func copy(
        to engine: StoreEngine, _ witness: Witness?
    ) throws(StorageError) {
        var batch = WriteBatch()
        var length = 0
        var (keys, bytes, commits) = (0, 0, 0)
        var chains = SalvageChains(files, store: sweep.store)
        var lostDeltas = 0
        try sweep.index.forEach { key, location throws(StorageError) in
            guard witness?.isRemoved(key, at: location.position) != true else { return }
            let state = state(of: key, from: location, &chains, &lostDeltas)
            keys += state.isEmpty ? 0 : 1
            for operation in state {
                if operation.kind == .put {
                    try batch.put(key, operation.payload)
                } else {
                    try batch.appendDelta(key, operation.payload)
                }
                bytes += operation.payload.count
                length += operation.length
                guard length >= Self.batchLength || batch.count >= Self.batchCount else { continue }
                _ = try engine.append(batch)
                try engine.flush()
                commits += 1
                batch.removeAll()
                length = 0
            }
        }
        if batch.count > 0 {
            _ = try engine.append(batch)
            try engine.flush()
            commits += 1
        }
        sweep.report.lostDeltaCount = lostDeltas
        sweep.report.keptKeyCount = keys
        sweep.report.keptPayloadBytes = bytes
        sweep.report.writtenCommitCount = commits
    }

    /// Returns the operations to keep of a key, oldest first: a put followed by deltas.
    private func state(
        of key: UnsafeRawBufferPointer, from newest: SalvageIndex.Location,
        _ chains: inout SalvageChains, _ lostDeltas: inout Int
    ) -> [Operation] {
        guard let head = operation(at: newest), head.kind != .remove else { return [] }
        let (found, isComplete) = chains.chain(of: head, at: newest.position)
        if isComplete { return found.reversed() }
        lostDeltas += found.count
        guard let foundation = sweep.index.foundation(of: key),
            let older = operation(at: foundation), older.kind == .put
        else { return [] }
        return [older]
    }

    private func operation(at location: SalvageIndex.Location) -> Operation? {
        try? Operation(decoding: files[location.file].bytes, at: location.offset)
    }

    /// A checkpoint from which lost keys and removals are determined.
    private struct Witness {
        let name: String
        let tree: BTreeSnapshot
        let end: LogPosition

        /// Whether a lost removal followed the operation at `position`.
        func isRemoved(_ key: UnsafeRawBufferPointer, at position: LogPosition) -> Bool {
            position < end && tree.find(key) == nil
        }
    }

    /// Returns the newest valid checkpoint.
    private func witness() throws(StorageError) -> Witness? {
        let removals = directory.removalsCompactedThrough
        for (_, name) in directory.checkpoints {
            let checkpoint: Checkpoint
            do throws(StorageError) {
                checkpoint = try Checkpoint.load(
                    name, from: source, store: sweep.store, notBefore: removals)
            } catch {
                guard !error.isAboutProcess else { throw error }
                continue
            }
            var keyspace = checkpoint.takeKeyspace()
            return Witness(
                name: name, tree: keyspace.tree.snapshot(),
                end: checkpoint.summary.start.position)
        }
        return nil
    }

    private mutating func countLosses(_ witness: Witness) {
        sweep.report.witness = witness.name
        var (lost, outdated) = (0, 0)
        witness.tree.forEach(in: Keyspace.present) { key, value in
            guard let found = sweep.index.location(of: key) else {
                lost += 1
                return true
            }
            if found.position.rawValue < value.low { outdated += 1 }
            return true
        }
        sweep.report.lostKeyCount = lost
        sweep.report.outdatedKeyCount = outdated
    }
}
