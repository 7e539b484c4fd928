import SheafBytes
import Synchronization

extension StoreEngine {
    /// The minimum length of log between checkpoints while the store is open, in bytes.
    private static let smallestCheckpointLength = 16 << 20
    /// The length of the slices in which a checkpoint is written and synced.
    ///
    /// Slices keep a commit from waiting for the complete checkpoint.
    private static let sliceLength = 1 << 20
    /// The number of checkpoints kept: the newest and a fallback.
    private static let keptCheckpoints = 2

    /// Returns the length of log after which another checkpoint is due.
    private func dueLength(atClose: Bool) -> Int {
        if let length = options.checkpointLength { return length }
        let live = state.withLock { $0.keyspace.live.total }
        let due = max(Self.smallestCheckpointLength, live / 4)
        // On close a shorter log justifies a checkpoint, but a small change is cheaper to replay.
        return atClose ? due / 32 : due
    }

    /// Whether the log since the newest checkpoint is long enough for another one.
    package func isCheckpointDue(atClose: Bool = false) -> Bool {
        let covered = checkpoints.withLock { $0.coveredLength }
        return snapshot().grownLength - (covered ?? 0) >= dueLength(atClose: atClose)
    }

    /// Writes a checkpoint if one is due.
    package func writeCheckpointIfWorthwhile(
        atClose: Bool = false, onProgress: (Int) -> Void = { _ in }
    ) throws(StorageError) {
        guard isCheckpointDue(atClose: atClose) else { return }
        try writeCheckpoint(onProgress: onProgress)
    }

    /// Writes the newest durable state as a checkpoint; `onProgress` gets the length of each slice.
    package func writeCheckpoint(onProgress: (Int) -> Void = { _ in }) throws(StorageError) {
        let snapshot = snapshot()
        guard snapshot.commit > 0 else { return }
        let temporary = FileName.temporaryName(options.random())
        let name = FileName.name(ofCheckpoint: snapshot.commit)
        // The oldest checkpoint is removed first; one remains until the new one is complete.
        try removeCheckpoints(keeping: Self.keptCheckpoints - 1, besides: name)
        var length = 0
        try translatingErrors { () throws(VolumeError) in
            do throws(VolumeError) {
                let file = try volume.open(temporary, .create)
                defer { file.close() }
                length = try write(snapshot, to: file, onProgress: onProgress)
                try volume.rename(temporary, to: name)
            } catch {
                try? volume.remove(temporary)
                throw error
            }
            try volume.synchronizeNames()
        }
        checkpoints.withLock { state in
            state.names.removeAll { $0 == name }
            state.names.append(name)
            state.coveredLength = snapshot.grownLength
            state.floor = snapshot.end
            state.length = length * state.names.count
        }
    }

    /// Removes the oldest checkpoints except one called `name`, which is about to be replaced.
    private func removeCheckpoints(
        keeping count: Int, besides name: String
    ) throws(StorageError) {
        let outdated = checkpoints.withLock { state in
            let others = state.names.filter { $0 != name }
            let outdated = others.dropLast(count)
            state.names.removeAll { outdated.contains($0) }
            return outdated
        }
        try translatingErrors { () throws(VolumeError) in
            for name in outdated { try volume.remove(name) }
        }
    }

    private func write(
        _ snapshot: LogSnapshot, to file: any VolumeFile, onProgress: (Int) -> Void
    ) throws(VolumeError) -> Int {
        var sink = CheckpointSink(file: file)
        try snapshot.tree.exportPages { page throws(VolumeError) in
            try sink.add(page)
            if sink.buffered >= Self.sliceLength {
                onProgress(try sink.flush())
            }
        }
        let live = LiveBytes(of: snapshot.tree, in: snapshot.segments)
        var table = ByteWriter(capacity: live.entries.count * Checkpoint.liveEntryLength)
        for entry in live.entries {
            table.write(entry.firstSegment)
            table.write(UInt32(0))
            table.write(UInt64(entry.length))
        }
        let pageCount = sink.pageCount
        try table.bytes.span.withUnsafeBytes { bytes throws(VolumeError) in
            try sink.add(bytes)
        }
        _ = try sink.flush()
        var header = [UInt8](repeating: 0, count: Checkpoint.headerLength)
        header.withUnsafeMutableBytes { target in
            typealias Layout = Checkpoint.Layout
            target.store(Checkpoint.magic, at: Layout.magic)
            target.store(Checkpoint.formatVersion, at: Layout.version)
            target.store(UInt32(BTree.pageSize), at: Layout.pageLength)
            target.store(store.low, at: Layout.storeLow)
            target.store(store.high, at: Layout.storeHigh)
            target.store(snapshot.commit, at: Layout.commit)
            target.store(snapshot.end.rawValue, at: Layout.position)
            target.store(snapshot.chain, at: Layout.chain)
            target.store(snapshot.commitAt, at: Layout.commitAt)
            target.store(UInt32(pageCount), at: Layout.pageCount)
            target.store(UInt32(live.entries.count), at: Layout.fileCount)
            target.store(sink.hash.finish(), at: Layout.hash)
            target.store(snapshot.indexMark.commit, at: Layout.indexedThrough)
            let covered = UnsafeRawBufferPointer(target).slice(0..<Layout.checksum)
            target.store(XXH3.hash64(covered), at: Layout.checksum)
        }
        try header.span.withUnsafeBytes { bytes throws(VolumeError) in
            try file.writeFully(bytes, at: 0)
        }
        try file.synchronize()
        return sink.length
    }
}

/// A buffer that combines the pages of a checkpoint into larger writes.
private struct CheckpointSink: ~Copyable {
    let file: any VolumeFile
    var hash = XXH3.Stream()
    private var buffer: [UInt8] = []
    private var offset = Checkpoint.headerLength
    private(set) var pageCount = 0
    private var work = PeriodicYield()

    init(file: any VolumeFile) {
        self.file = file
    }

    var buffered: Int { buffer.count }
    /// The length written so far, including the header.
    var length: Int { offset }

    /// Appends a page to the buffer and the hash.
    mutating func add(_ page: UnsafeRawBufferPointer) throws(VolumeError) {
        work.record(page.count)
        hash.update(page)
        buffer.append(contentsOf: page)
        pageCount += 1
    }

    /// Writes and syncs the buffered pages; returns their length.
    mutating func flush() throws(VolumeError) -> Int {
        try buffer.span.withUnsafeBytes { bytes throws(VolumeError) in
            try file.writeFully(bytes, at: offset)
        }
        try file.synchronize()
        offset += buffer.count
        defer { buffer.removeAll(keepingCapacity: true) }
        return buffer.count
    }
}
