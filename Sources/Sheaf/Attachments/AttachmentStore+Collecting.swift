import SheafStorage
import Synchronization

/// What nobody names goes, after a while.
extension AttachmentStore {
    /// What a look through all files has found.
    package struct Collection: Equatable, Sendable {
        package var removed = 0
        /// Files that no document names, and that stay for a while.
        package var unnamed = 0
        package var named = 0
    }

    /// Removes files that no document has named for so many milliseconds; `named` says which of
    /// some files a document names.
    ///
    /// A file goes when two looks at least so far apart have both not found it named, and nobody has
    /// wanted it between them. The first look is noted in the file itself, and so outlives the process.
    package func collect(
        graceMilliseconds grace: UInt64,
        _ named: (Set<AttachmentID>) throws -> Set<AttachmentID>
    ) throws -> Collection {
        var result = Collection()
        // In an order: with the same faults the same comes of it.
        let ids = try ids.sorted { $0.bytes.lexicographicallyPrecedes($1.bytes) }
        guard !ids.isEmpty else { return result }
        // A file whose mark cannot be read stays, and does not keep others.
        for id in ids { try? loadMark(of: id) }
        let kept = try named(Set(ids))
        let now = max(options.clock.wallMilliseconds(), 1)
        var isChanged = false
        for id in ids {
            guard let entry = try known().entries[id] else { continue }
            if kept.contains(id) {
                result.named += 1
                // One that cannot be read may be an old one.
                if entry.unnamedSince != 0 {
                    try note(0, for: id, insteadOf: entry.unnamedSince)
                }
                continue
            }
            guard let mark = entry.unnamedSince else { continue }
            if mark == 0 || mark > now {
                // A time that is still to come was told by a clock that was wrong.
                result.unnamed += 1
                try note(now, for: id, insteadOf: mark)
            } else if now - mark < grace {
                result.unnamed += 1
            } else if try remove(id, if: { $0.unnamedSince == mark }) {
                result.removed += 1
                isChanged = true
            }
        }
        // What comes back with a power cut is found once more.
        if isChanged { try? known().volume?.synchronizeNames() }
        return result
    }

    /// Notes that somebody wants a file, for longer than the process lives.
    func want(_ id: AttachmentID) throws(AttachmentError) {
        guard !options.isReadOnly else { return }
        try loadMark(of: id)
        guard let mark = try known().entries[id]?.unnamedSince, mark != 0 else { return }
        try note(0, for: id, insteadOf: mark)
    }

    /// Reads since when nothing names a file, where that is not known.
    private func loadMark(of id: AttachmentID) throws(AttachmentError) {
        guard let entry = try entry(id), entry.unnamedSince == nil else { return }
        let mark = try readMark(of: id, entry.kind)
        state.withLock { state in
            guard state.entries[id]?.unnamedSince == nil else { return }
            state.entries[id]?.unnamedSince = mark
        }
    }

    private func readMark(
        of id: AttachmentID, _ kind: Kind
    ) throws(AttachmentError) -> UInt64 {
        try withFile(of: id, kind, for: .read) { (file) throws(VolumeError) in
            var bytes = [UInt8](repeating: 0, count: AttachmentHead.Layout.markLength)
            var span = bytes.mutableSpan
            try span.withUnsafeMutableBytes { buffer throws(VolumeError) in
                try file.readFully(into: buffer, at: AttachmentHead.Layout.mark)
            }
            return AttachmentHead.time(ofMark: bytes)
        }
    }

    /// Notes since when nothing names a file, unless somebody has wanted it meanwhile.
    private func note(
        _ time: UInt64, for id: AttachmentID, insteadOf mark: UInt64?
    ) throws(AttachmentError) {
        let kind = state.withLock { state -> Kind? in
            guard let entry = state.entries[id], entry.unnamedSince == mark else { return nil }
            state.entries[id]?.unnamedSince = time
            return state.entries[id]?.kind
        }
        guard let kind else { return }
        do throws(AttachmentError) {
            try write(time, for: id, kind)
        } catch {
            // That nobody names it is true for as long as the store is open, if it cannot be written.
            guard time == 0 else { return }
            state.withLock { state in
                guard state.entries[id]?.unnamedSince == 0 else { return }
                state.entries[id]?.unnamedSince = mark
            }
            throw error
        }
    }

    /// Writes a mark; that somebody wants the file has to outlive a power cut, or an older mark would
    /// come back.
    private func write(
        _ time: UInt64, for id: AttachmentID, _ kind: Kind
    ) throws(AttachmentError) {
        try withFile(of: id, kind, for: .write) { (file) throws(VolumeError) in
            try AttachmentHead.mark(time).span.withUnsafeBytes { bytes throws(VolumeError) in
                try file.writeFully(bytes, at: AttachmentHead.Layout.mark)
            }
            if time == 0 { try file.synchronize() }
        }
    }

    private func withFile<Result>(
        of id: AttachmentID, _ kind: Kind, for access: FileAccess,
        _ body: (any VolumeFile) throws(VolumeError) -> Result
    ) throws(AttachmentError) -> Result {
        let name =
            if case .whole = kind { AttachmentFile.name(ofWhole: id) } else {
                AttachmentFile.name(ofPart: id)
            }
        guard let volume = try known().volume else { throw .missing(id) }
        return try onVolume { () throws(VolumeError) in
            let file = try volume.open(name, access)
            defer { file.close() }
            return try body(file)
        }
    }
}
