package import SheafDocument
import SheafStorage
import SheafSystem
import Synchronization

/// Removal of files that no document references.
extension AttachmentStore {
    /// The result of one collection.
    package struct CollectionReport: Equatable, Sendable {
        package var removed = 0
        /// Number of files that no document references, kept for the grace period.
        package var unreferenced = 0
        package var referenced = 0
    }

    /// Removes files that no document has referenced during a grace period.
    ///
    /// `named` returns those of the given files that a document references. A file is removed if
    /// two collections at least the grace period apart found it unreferenced and it was not
    /// requested in between. The first one writes a mark into the file, which outlives the process.
    package func collect(
        graceMilliseconds grace: UInt64,
        _ named: (Set<AttachmentID>) throws -> Set<AttachmentID>
    ) throws -> CollectionReport {
        var result = CollectionReport()
        // The files are sorted, so that the same injected faults have the same result.
        let ids = try ids.sorted { $0.bytes.lexicographicallyPrecedes($1.bytes) }
        guard !ids.isEmpty else { return result }
        // A file whose mark cannot be read stays, and does not affect others.
        for id in ids { try? loadMark(of: id) }
        let kept = try named(Set(ids))
        let now = max(options.clock.wallMilliseconds(), 1)
        var isChanged = false
        for id in ids {
            guard let entry = try currentState().entries[id] else { continue }
            if kept.contains(id) {
                result.referenced += 1
                // A mark that could not be read may be set, so it is cleared, too.
                if entry.unreferencedSince != 0 {
                    try setMark(0, for: id, replacing: entry.unreferencedSince)
                }
                continue
            }
            guard let mark = entry.unreferencedSince else { continue }
            if mark == 0 || mark > now {
                // A time in the future is from a wrong clock.
                result.unreferenced += 1
                try setMark(now, for: id, replacing: mark)
            } else if now - mark < grace {
                result.unreferenced += 1
            } else if try remove(id, if: { $0.unreferencedSince == mark }) {
                result.removed += 1
                isChanged = true
            }
        }
        // If a power failure brings files back, the next collection finds them.
        if isChanged { try? currentState().volume?.synchronizeNames() }
        return result
    }

    /// Durably clears the mark of a file that was requested.
    package func clearMark(of id: AttachmentID) throws(AttachmentError) {
        guard !options.isReadOnly else { return }
        try loadMark(of: id)
        guard let mark = try currentState().entries[id]?.unreferencedSince, mark != 0 else {
            return
        }
        try setMark(0, for: id, replacing: mark)
    }

    /// Reads the mark of a file, unless it is known.
    private func loadMark(of id: AttachmentID) throws(AttachmentError) {
        guard let entry = try entry(id), entry.unreferencedSince == nil else { return }
        let mark = try readMark(of: id, entry.kind)
        state.withLock { state in
            guard state.entries[id]?.unreferencedSince == nil else { return }
            state.entries[id]?.unreferencedSince = mark
        }
    }

    private func readMark(
        of id: AttachmentID, _ kind: Kind
    ) throws(AttachmentError) -> UInt64 {
        try withFile(of: id, kind, for: .read) { (file) throws(VolumeError) in
            var bytes = [UInt8](repeating: 0, count: AttachmentHeader.Layout.markLength)
            var span = bytes.mutableSpan
            try span.withUnsafeMutableBytes { buffer throws(VolumeError) in
                try file.readFully(into: buffer, at: AttachmentHeader.Layout.mark)
            }
            return AttachmentHeader.time(ofMark: bytes)
        }
    }

    /// Changes the mark of a file, unless it has changed from `mark` meanwhile.
    private func setMark(
        _ time: UInt64, for id: AttachmentID, replacing mark: UInt64?
    ) throws(AttachmentError) {
        let kind = state.withLock { state -> Kind? in
            guard let entry = state.entries[id], entry.unreferencedSince == mark else { return nil }
            state.entries[id]?.unreferencedSince = time
            return state.entries[id]?.kind
        }
        guard let kind else { return }
        do throws(AttachmentError) {
            try writeMark(time, for: id, kind)
        } catch {
            // A set mark that cannot be written is valid while the store is open.
            guard time == 0 else { return }
            state.withLock { state in
                guard state.entries[id]?.unreferencedSince == 0 else { return }
                state.entries[id]?.unreferencedSince = mark
            }
            throw error
        }
    }

    /// Writes a mark; a cleared one is durable on return.
    ///
    /// Otherwise the older mark could return after a power failure.
    private func writeMark(
        _ time: UInt64, for id: AttachmentID, _ kind: Kind
    ) throws(AttachmentError) {
        try withFile(of: id, kind, for: .write) { (file) throws(VolumeError) in
            try AttachmentHeader.mark(time).span.withUnsafeBytes { bytes throws(VolumeError) in
                try file.writeFully(bytes, at: AttachmentHeader.Layout.mark)
            }
            if time == 0 { try file.synchronize() }
        }
    }

    private func withFile<Result>(
        of id: AttachmentID, _ kind: Kind, for access: FileAccess,
        _ body: (any VolumeFile) throws(VolumeError) -> Result
    ) throws(AttachmentError) -> Result {
        let name =
            if case .complete = kind { AttachmentFile.name(ofComplete: id) } else {
                AttachmentFile.name(ofPartial: id)
            }
        guard let volume = try currentState().volume else { throw .missing(id) }
        return try onVolume { () throws(VolumeError) in
            let file = try volume.open(name, access)
            defer { file.close() }
            return try body(file)
        }
    }
}
