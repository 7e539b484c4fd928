import SheafBytes
import Synchronization

/// The state of a reader, which follows the commits that a writer in another process makes durable.
package final class LogFollower: Sendable {
    /// The state after newer commits, or in other files.
    package struct Advance: Sendable {
        /// The new state, without index entries for its new commits.
        package let snapshot: LogSnapshot
        /// The keys that the new commits have written or removed; nil if they are unknown.
        package let changedKeys: [[UInt8]]?
    }

    private struct State: ~Copyable {
        var directory: DirectorySnapshot
        var contents: LogContents
        var keyspace: Keyspace
        var snapshot: LogSnapshot
        /// The end of the last complete commit; the log may continue with an incomplete one.
        var complete: LogStart
        var table: ReaderTable
        /// Whether applying commits has failed, so that the keys must be read again.
        var isBroken = false
    }

    private let volume: any Volume
    private let state: Mutex<State>

    /// Reads the keys of an opened store.
    package init(_ reader: LogReader) throws(StorageError) {
        volume = reader.directory.base
        state = Mutex(try Self.load(reader.directory, reader.contents))
    }

    /// The newest state that was read.
    package var snapshot: LogSnapshot { state.withLock { $0.snapshot } }

    private static func load(
        _ directory: DirectorySnapshot, _ contents: LogContents
    ) throws(StorageError) -> State {
        let found = try Recovery.readKeys(volume: directory)
        var table = ReaderTable()
        let segments = try table.update(contents, directory, readable: found.snapshot.end)
        return State(
            directory: directory, contents: contents, keyspace: found.keys.takeKeyspace(),
            snapshot: found.snapshot.with(segments), complete: found.keys.end.complete,
            table: table)
    }

    /// Reads the commits that have become durable; returns nil if nothing has changed.
    package func advance() throws(StorageError) -> Advance? {
        try state.withLock { state throws(StorageError) in
            let mark = SyncedMark.current(in: volume)
            if let mark, mark == state.directory.mark, !state.isBroken { return nil }
            if let mark, !state.isBroken,
                let (directory, contents) = Self.growing(state.directory, state.contents, to: mark)
            {
                return try Self.apply(directory, contents, to: &state)
            }
            let (directory, contents) = try LogReader.read(volume, after: state.directory)
            if mark == nil, directory.hasSameFiles(as: state.directory), !state.isBroken {
                return nil
            }
            try Self.check(contents, isStoreOf: state)
            guard Self.continues(contents, state) else {
                // Keys whose removal is not in the log any more would otherwise remain.
                let loaded = try Self.load(directory, contents)
                state = loaded
                return Advance(snapshot: state.snapshot, changedKeys: nil)
            }
            return try Self.apply(directory, contents, to: &state)
        }
    }

    /// Throws if the directory has no store any more, or another one.
    ///
    /// An opened store has commits that no crash takes back, so it never becomes empty.
    private static func check(
        _ contents: LogContents, isStoreOf state: borrowing State
    ) throws(StorageError) {
        guard let store = state.contents.store else { return }
        guard let found = contents.store else {
            throw .removed("the files of the opened store were removed from its directory")
        }
        guard found == store else {
            throw .removed(
                "another store has replaced the opened one in its directory; open it again")
        }
    }

    /// Whether the log has every removal after the state that was read.
    private static func continues(
        _ contents: LogContents, _ state: borrowing State
    ) -> Bool {
        !state.isBroken && state.snapshot.commit > 0
            && contents.removalsCompactedThrough < state.complete.position
    }

    /// Returns the files with the new commits of the last segment, if nothing else has changed.
    ///
    /// Most commits end in the segment of their predecessor, whose mapping already covers them, so
    /// this needs no system call.
    private static func growing(
        _ directory: DirectorySnapshot, _ contents: LogContents, to mark: SyncedMark
    ) -> (DirectorySnapshot, LogContents)? {
        guard let directory = directory.growing(to: mark),
            let last = contents.files.last,
            let mapping = directory.logFiles[last.name]?.mapping,
            let contents = contents.growing(mapping, to: mark)
        else { return nil }
        return (directory, contents)
    }

    private static func apply(
        _ directory: DirectorySnapshot, _ contents: LogContents, to state: inout State
    ) throws(StorageError) -> Advance {
        let old = state.snapshot
        state.isBroken = true
        var keyspace = Keyspace()
        swap(&keyspace, &state.keyspace)
        var replayer = Replayer(
            keyspace: keyspace, firstSegments: contents.files.map(\.segments.lowerBound),
            recordsKeys: true)
        var walk = LogWalk(contents.files, from: state.complete)
        let end = try walk.run(&replayer)
        try contents.checkEnd(end)
        let changedKeys = Array(replayer.changedKeys)
        keyspace = replayer.takeKeyspace()
        // Only writers count garbage.
        keyspace.orphans = []
        let segments = try state.table.update(contents, directory, readable: end.position)
        state.snapshot = LogSnapshot(
            tree: keyspace.tree.snapshot(), segments: segments, commit: end.commit,
            commitAt: end.commitAt, end: end.position, indexMark: old.indexMark, chain: end.chain,
            grownLength: old.grownLength)
        state.complete = end.complete
        state.keyspace = consume keyspace
        state.directory = directory
        state.contents = contents
        state.isBroken = false
        return Advance(snapshot: state.snapshot, changedKeys: changedKeys)
    }

    /// Returns the newest state with complete index entries.
    package func indexed(by changes: IndexChanges) -> LogSnapshot {
        state.withLock { state in
            state.keyspace.removeEntries(changes)
            state.keyspace.addIndexEntries(changes)
            state.snapshot = state.snapshot.with(
                indexed: state.keyspace.tree.snapshot(), grownLength: state.snapshot.grownLength)
            return state.snapshot
        }
    }

    /// Starts to watch for new commits; nil if the system cannot, or the store has no mark.
    package func watch() -> (any VolumeWatch)? { volume.watch(FileName.syncedName) }
}

/// The segments of a reader, which are used again while their files do not change.
struct ReaderTable: Sendable {
    private struct Entry: Sendable {
        let mapping: FileMapping
        let segment: Segment
    }

    private var entries: [String: Entry] = [:]

    /// Returns the segments of the files, whose last one is readable up to a position.
    mutating func update(
        _ contents: LogContents, _ directory: DirectorySnapshot, readable end: LogPosition
    ) throws(StorageError) -> SegmentTable {
        var next: [String: Entry] = [:]
        var segments: [Segment] = []
        for file in contents.files {
            let mapping = directory.logFiles[file.name]?.mapping ?? file.mapping
            let entry = try entry(of: file, mapping, readable: end)
            next[file.name] = entry
            segments.append(entry.segment)
        }
        entries = next
        return SegmentTable(segments)
    }

    private func entry(
        of file: LogContents.File, _ mapping: FileMapping, readable end: LogPosition
    ) throws(StorageError) -> Entry {
        if let known = entries[file.name], known.mapping === mapping {
            if let footer = file.footer {
                known.segment.grow(to: footer.contentLength)
                known.segment.seal(with: footer)
            } else {
                known.segment.grow(to: end.offset)
            }
            return known
        }
        guard let footer = file.footer else {
            return Entry(
                mapping: mapping,
                segment: Segment(
                    name: file.name, header: file.header, growingInto: mapping,
                    readable: end.offset))
        }
        do throws(FormatError) {
            return Entry(
                mapping: mapping,
                segment: try Segment(
                    name: file.name, header: file.header, footer: footer, mapping: mapping))
        } catch {
            throw StorageError(error, file: file.name)
        }
    }
}
