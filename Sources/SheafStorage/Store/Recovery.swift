import SheafBytes

/// The outcome of opening a store.
package struct RecoveryReport: Sendable {
    /// The name of the checkpoint from which the tree was loaded; nil if none was usable.
    package var usedCheckpoint: String?
    /// The checkpoints that could not be used, with the reasons.
    package var unusableCheckpoints: [String] = []
    /// The number of bytes of records that were replayed.
    package var replayedLength = 0
    /// The invalid bytes that a crash left after the last commit, if any.
    package var torn: StorageError.Damage?
}

/// The state of a store after recovery.
final class Recovered {
    private var state: EngineState?
    let chainHash: UInt64
    let checkpoints: CheckpointState
    let report: RecoveryReport
    let store: StoreID
    /// The initial snapshot of readers.
    let snapshot: LogSnapshot
    /// The checksum of the last record.
    var chain: UInt64 { snapshot.chain }

    init(
        state: consuming EngineState, chainHash: UInt64, checkpoints: CheckpointState,
        report: RecoveryReport
    ) {
        store = state.store
        snapshot = state.published
        self.state = consume state
        self.chainHash = chainHash
        self.checkpoints = checkpoints
        self.report = report
    }

    /// Returns the state; may be called once.
    func takeState() -> EngineState {
        guard let state = state.take() else {
            preconditionFailure("The state is moved out once.")
        }
        return state
    }
}

/// The recovery of a store from its files: the log is authoritative, checkpoints only save time.
struct Recovery {
    private let volume: any Volume
    private let options: LogStoreOptions
    private let contents: LogContents
    private var report = RecoveryReport()

    /// Recovers for writing, which truncates a torn tail and seals the last segment.
    static func run(
        volume: any Volume, options: LogStoreOptions
    ) throws(StorageError) -> Recovered {
        var recovery = Recovery(
            volume: volume, options: options, contents: try LogContents(volume))
        let loaded = try recovery.load()
        return try recovery.repair(loaded)
    }

    /// Recovers for reading: writes nothing and ignores a torn tail.
    static func read(
        volume: any Volume
    ) throws(StorageError) -> (snapshot: LogSnapshot, report: RecoveryReport) {
        let found = try readKeys(volume: volume)
        return (found.snapshot, found.report)
    }

    /// Recovers for reading and also returns the keys.
    static func readKeys(
        volume: any Volume
    ) throws(StorageError) -> (snapshot: LogSnapshot, report: RecoveryReport, keys: Loaded) {
        var recovery = Recovery(
            volume: volume, options: LogStoreOptions(), contents: try LogContents(volume))
        let loaded = try recovery.load()
        let last = loaded.end
        let sealed = recovery.contents.files.last.flatMap { file in
            last.footer.map { (footer: $0, mapping: file.mapping) }
        }
        let table = try recovery.table(sealing: sealed, readable: last.position.offset)
        return (
            LogSnapshot(
                tree: loaded.snapshot(), segments: table, commit: last.commit,
                commitAt: last.commitAt, end: last.position,
                indexMark: loaded.checkpoint?.indexMark ?? .none, chain: last.chain,
                grownLength: last.length),
            recovery.report, loaded
        )
    }

    private init(volume: any Volume, options: LogStoreOptions, contents: LogContents) {
        self.volume = volume
        self.options = options
        self.contents = contents
    }

    /// The keys of the store and the end of its log.
    final class Loaded {
        private var keyspace: Keyspace?
        let end: LogEnd
        let checkpoint: Checkpoint.Summary?

        init(keyspace: consuming Keyspace, end: LogEnd, checkpoint: Checkpoint.Summary?) {
            self.keyspace = consume keyspace
            self.end = end
            self.checkpoint = checkpoint
        }

        /// Returns a snapshot of the tree; must precede `takeKeyspace`.
        func snapshot() -> BTreeSnapshot {
            guard let snapshot = keyspace?.tree.snapshot() else {
                preconditionFailure("The keys were already moved out.")
            }
            return snapshot
        }

        /// Returns the keys; may be called once.
        func takeKeyspace() -> Keyspace {
            guard let keyspace = keyspace.take() else {
                preconditionFailure("The keys are moved out once.")
            }
            return keyspace
        }
    }

    private mutating func load() throws(StorageError) -> Loaded {
        let loaded = try loadKeys()
        try contents.checkEnd(loaded.end)
        return loaded
    }

    private mutating func loadKeys() throws(StorageError) -> Loaded {
        for (_, name) in contents.checkpoints {
            do throws(StorageError) {
                let checkpoint = try Checkpoint.load(
                    name, from: volume, store: contents.store,
                    notBefore: contents.removalsCompactedThrough)
                return try replay(onto: checkpoint)
            } catch .corrupt(let damage) where damage.file == name {
                report.unusableCheckpoints.append(damage.description)
            } catch .unsupported(let damage) where damage.file == name {
                report.unusableCheckpoints.append(damage.description)
            }
        }
        var loader = BulkLoader(firstSegments: firstSegments)
        var walk = LogWalk(contents.files)
        let end = try walk.run(&loader)
        recordEnd(end)
        return Loaded(keyspace: loader.finish(), end: end, checkpoint: nil)
    }

    private mutating func replay(
        onto checkpoint: Checkpoint
    ) throws(StorageError) -> Loaded {
        let summary = checkpoint.summary
        var keyspace = checkpoint.takeKeyspace()
        keyspace.dropRemovals(through: contents.removalsCompactedThrough)
        var replayer = Replayer(keyspace: keyspace, firstSegments: firstSegments)
        var walk = LogWalk(contents.files, from: summary.start)
        let end = try walk.run(&replayer)
        report.usedCheckpoint = summary.name
        recordEnd(end)
        return Loaded(keyspace: replayer.takeKeyspace(), end: end, checkpoint: summary)
    }

    private var firstSegments: [UInt32] { contents.files.map(\.segments.lowerBound) }

    private mutating func recordEnd(_ end: LogEnd) {
        report.replayedLength = end.length
        if let torn = end.torn, let last = contents.files.last {
            report.torn = StorageError.Damage(
                file: last.name, offset: torn.offset, reason: torn.reason)
        }
    }

    private mutating func repair(_ loaded: Loaded) throws(StorageError) -> Recovered {
        let end = loaded.end
        let checkpoint = loaded.checkpoint
        let sealed = try sealLastSegment(end)
        try translatingErrors { () throws(VolumeError) in
            // The bytes and names read may have been only in the page cache. The files that a base
            // file replaces may be removed only after its name is on disk.
            try volume.synchronizeNames()
            let leftovers = contents.unbegun + contents.superseded + contents.temporaries
            for name in leftovers { try volume.remove(name) }
            if !leftovers.isEmpty { try volume.synchronizeNames() }
        }
        let table = try table(sealing: sealed, readable: end.position.offset)
        let store =
            contents.store ?? StoreID(low: options.random(), high: options.random())
        let snapshot = LogSnapshot(
            tree: loaded.snapshot(), segments: table, commit: end.commit,
            commitAt: end.commitAt, end: end.position, indexMark: checkpoint?.indexMark ?? .none,
            chain: end.chain, grownLength: end.length)
        var keyspace = loaded.takeKeyspace()
        let opening = DeferredGarbage(takingOrphansOf: &keyspace, in: snapshot)
        let state = EngineState(
            store: store, keyspace: keyspace,
            tail: EngineState.Tail(segment: table.lastNumber), lastCommit: end.commit,
            lastCommitAt: end.commitAt, end: end.position, indexMark: snapshot.indexMark,
            grownLength: end.length,
            pending: PendingBatch(usualLength: options.bulkSegmentLength),
            spare: PendingBatch(usualLength: options.bulkSegmentLength),
            synced: end.position, published: snapshot, opening: opening)
        return Recovered(
            state: state, chainHash: sealed?.footer.chainHash ?? 0,
            checkpoints: CheckpointState(
                names: contents.checkpoints.map(\.name).reversed(),
                coveredLength: checkpoint == nil ? nil : 0,
                floor: checkpoint?.start.position ?? .none,
                length: (checkpoint?.length ?? 0) * contents.checkpoints.count),
            report: report)
    }

    private func table(
        sealing last: (footer: SegmentFooter, mapping: FileMapping)?, readable: Int
    ) throws(StorageError) -> SegmentTable {
        var table = SegmentTable()
        for (index, file) in contents.files.enumerated() {
            let isLast = index == contents.files.count - 1
            guard let footer = isLast ? last?.footer : file.footer else {
                table = table.appending(
                    Segment(
                        name: file.name, header: file.header, growingInto: file.mapping,
                        readable: readable))
                continue
            }
            do throws(FormatError) {
                table = table.appending(
                    try Segment(
                        name: file.name, header: file.header, footer: footer,
                        mapping: isLast ? last?.mapping ?? file.mapping : file.mapping))
            } catch {
                throw StorageError(error, file: file.name)
            }
        }
        return table
    }

    /// Rewrites the unsynced end of the log and seals the segment.
    ///
    /// After a failed sync the page cache may contain bytes that are not on disk and that another
    /// sync would not write, so they are written again.
    private func sealLastSegment(
        _ end: LogEnd
    ) throws(StorageError) -> (footer: SegmentFooter, mapping: FileMapping)? {
        guard let last = contents.files.last else { return nil }
        guard last.header.kind == .log else {
            return last.footer.map { (footer: $0, mapping: last.mapping) }
        }
        let length = end.position.offset
        let footer = try makeFooter(for: last, end)
        // Bytes already known to be synced are not rewritten.
        let synced = end.footer?.synced ?? end.synced
        let known = synced.segment == last.segments.lowerBound ? min(synced.offset, length) : 0
        let mapping = try translatingErrors { () throws(VolumeError) in
            let file = try volume.open(last.name, .write)
            defer { file.close() }
            if known < length {
                try file.writeFully(last.bytes.slice(known..<length), at: known)
                // A separate sync precedes the footer, so that the footer proves the bytes before
                // it.
                try file.synchronize()
            }
            let encoded = footer.encoded(store: last.header.store)
            try encoded.span.withUnsafeBytes { bytes throws(VolumeError) in
                try file.writeFully(bytes, at: length)
            }
            let size = length + SegmentFooter.length
            if try file.size() != size { try file.truncate(to: size) }
            try file.synchronize()
            // The mapping may have been too short to include the footer.
            return try file.map(length: size, .shared)
        }
        return (footer: footer, mapping: mapping)
    }

    private func makeFooter(
        for last: LogContents.File, _ end: LogEnd
    ) throws(StorageError) -> SegmentFooter {
        let length = end.position.offset
        let synced = LogPosition(segment: last.segments.lowerBound, offset: length)
        if let sealed = end.footer {
            return SegmentFooter(
                contentLength: length, recordCount: sealed.recordCount,
                lastCommit: sealed.lastCommit, lastCommitAt: sealed.lastCommitAt,
                hash: sealed.hash, chainHash: sealed.chainHash, synced: synced)
        }
        let content = last.bytes.slice(0..<length)
        var scanner = RecordScanner(file: content, header: last.header)
        var recordCount: UInt64 = 0
        walk: while true {
            switch scanner.next() {
            case .record:
                recordCount += 1
            case .end(.damage(let error)):
                throw StorageError(error, file: last.name)
            case .end:
                break walk
            }
        }
        guard scanner.offset == length else {
            throw .damaged(last.name, at: scanner.offset, "records are missing before this offset")
        }
        let hash = XXH3.hash64(content)
        return SegmentFooter(
            contentLength: length, recordCount: recordCount, lastCommit: end.commit,
            lastCommitAt: end.commitAt, hash: hash, chainHash: hash, synced: synced)
    }
}
