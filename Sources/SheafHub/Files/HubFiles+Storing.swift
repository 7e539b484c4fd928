import SheafAttachments
import SheafDocument
import SheafHubLog
import SheafReplication
import SheafSystem

/// Files that are put into the object store, after this hub has fetched them from its clients.
extension HubFiles {
    /// Maximum number of files that are sought at a time.
    private static let maximumSought = 64
    /// Maximum number of files that are looked for in one step.
    private static let maximumChecked = 64
    /// Time for which a file is sought after an attempt, at most.
    private static let searchMilliseconds: UInt64 = 60_000
    /// Time after which a file is tried again, if too many others are sought.
    private static let waitMilliseconds: UInt64 = 5_000

    /// Puts at most one part of one file, so that clients that fetch files do not wait.
    mutating func storeFiles(at now: UInt64) throws(SnapshotFailure) -> [Event] {
        var events: [Event] = []
        let due = unstored.filter { id, file in
            file.pace.isDue(at: now) || sought.contains(id) && isHere(id)
        }
        // Short files are not stuck after long ones, nor new ones after those that no peer has.
        let ids = due.sorted {
            let (a, b) = ($0.value, $1.value)
            guard (a.part, a.soughtAt) == (b.part, b.soughtAt) else {
                return (a.part, a.soughtAt) < (b.part, b.soughtAt)
            }
            return $0.key.bytes.lexicographicallyPrecedes($1.key.bytes)
        }
        if ids.count > Self.maximumChecked { isBusy = true }
        for id in ids.prefix(Self.maximumChecked).map(\.key) {
            guard !stop.isSet else { throw .stopped }
            do throws(SnapshotFailure) {
                switch try store(id, at: now) {
                case .nothing: continue
                case .part: isBusy = true
                case .file:
                    events.append(.put(id))
                    isBusy = true
                }
                break
            } catch {
                events += try record(error, of: id)
                unstored[id]?.pace.postpone(at: now)
                unstored[id]?.soughtUntil = 0
            }
        }
        try seek(at: now)
        return events
    }

    /// An object that was put into the store.
    private enum Progress { case nothing, part, file }

    /// Puts a part of a file, or seeks the file.
    private mutating func store(
        _ id: AttachmentID, at now: UInt64
    ) throws(SnapshotFailure) -> Progress {
        guard let file = unstored[id] else { return .nothing }
        if file.part == 0, !file.isIncomplete, file.damaged.isEmpty,
            try FileObject.load(id, from: objects, settings) != nil
        {
            unstored[id] = nil
            return .nothing
        }
        guard isHere(id) else {
            search(id, at: now)
            return .nothing
        }
        return try put(id)
    }

    func isHere(_ id: AttachmentID) -> Bool { (try? peer.attachments.has(id)) ?? false }

    private mutating func put(_ id: AttachmentID) throws(SnapshotFailure) -> Progress {
        let stored = try onFiles { () throws(AttachmentError) in try peer.attachments.file(id) }
        guard let stored, let damaged = unstored[id]?.damaged else { return .nothing }
        defer { stored.close() }
        for name in damaged {
            // A damaged object is removed only here, where the right bytes replace it.
            try remove(name)
            unstored[id]?.damaged.remove(name)
            unstored[id]?.part = 0
        }
        let part = unstored[id]?.part ?? 0
        let file = FileObject(id, stored.list, settings)
        guard part < file.partCount else {
            try put(HubObjectName.file(id), file.head)
            unstored[id] = nil
            return .file
        }
        var bytes: [UInt8] = []
        for chunk in file.chunks(of: part) {
            bytes += try onFiles { () throws(AttachmentError) in try stored.read(chunk) }
        }
        try put(HubObjectName.file(id, part: part), bytes)
        unstored[id]?.part += 1
        return .part
    }

    private func put(_ name: String, _ bytes: [UInt8]) throws(SnapshotFailure) {
        try onLog { () throws(HubLogError) in try objects.put(name, bytes) }
        pace.wait(bytes.count)
    }

    // MARK: Fetching from clients

    /// Seeks a file for a while, unless too many are sought; those that arrive are sought on.
    private mutating func search(_ id: AttachmentID, at now: UInt64) {
        guard var file = unstored[id] else { return }
        guard sought.contains(id) || sought.count < Self.maximumSought || endSearch(at: now) else {
            unstored[id]?.pace = Self.pace(startingAt: now + Self.waitMilliseconds)
            return
        }
        let incoming = (try? peer.attachments.incoming(id)) ?? nil
        let length = incoming?.receivedLength ?? 0
        if length > file.length { file.pace = Self.pace(startingAt: now) }
        file.length = length
        file.pace.postpone(at: now)
        file.soughtAt = now
        file.soughtUntil = min(file.pace.next, now + Self.searchMilliseconds)
        sought.insert(id)
        unstored[id] = file
    }

    /// Ends the longest search of those without a received byte; returns whether there is one.
    ///
    /// Each is sought for a while before it makes room for others.
    private mutating func endSearch(at now: UInt64) -> Bool {
        let searches = sought.compactMap { id -> (id: AttachmentID, since: UInt64)? in
            guard let file = unstored[id] else { return (id, 0) }
            let isEmpty = ((try? peer.attachments.incoming(id)) ?? nil)?.receivedLength ?? 0 == 0
            guard isEmpty, file.soughtAt + Self.waitMilliseconds <= now else { return nil }
            return (id, file.soughtAt)
        }
        guard let longest = searches.min(by: { $0.since < $1.since }) else { return false }
        unstored[longest.id]?.soughtUntil = 0
        sought.remove(longest.id)
        return true
    }

    private mutating func seek(at now: UInt64) throws(SnapshotFailure) {
        let ids = sought.filter { id in
            unstored[id].map { $0.soughtUntil > now } ?? false && !isHere(id)
        }
        guard !ids.isEmpty || !sought.isEmpty else { return }
        sought = ids
        try peer.ask { $0.seekForHub(ids) }
    }
}
