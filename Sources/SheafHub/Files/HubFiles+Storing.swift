import SheafAttachments
import SheafDocument
import SheafHubLog
import SheafReplication
import SheafSystem

/// Files that are put into the object store, after this hub has fetched them from its clients.
extension HubFiles {
    /// Maximum number of files that are sought at a time.
    package static let maximumSought = 64
    /// Maximum number of files that are looked for in one step.
    private static let maximumChecked = 64
    /// The same beside a file that is put.
    private static let checkedBesides = 8
    /// Time for which a file is sought after an attempt, at most.
    package static let searchMilliseconds: UInt64 = 60_000
    /// Time after which a file is tried again, if too many others are sought.
    package static let waitMilliseconds: UInt64 = 5_000

    /// Puts at most one part of one file, so that clients that fetch files do not wait.
    mutating func storeFiles(at now: UInt64) throws(SnapshotFailure) -> [Event] {
        var events: [Event] = []
        let local = localFiles
        // Short files are not stuck after long ones.
        let here = sorted(
            local.filter { unstored[$0]?.pace.isDue(at: now) ?? false || !isFailed($0) }
        ) {
            UInt64(clamping: $0.part)
        }
        for id in here.prefix(Self.maximumChecked) {
            let progress = try attempt(id, at: now, &events)
            if progress == .file { events.append(.put(id)) }
            guard progress == .nothing else { break }
        }
        // New files are not stuck after those that no peer has.
        let missing = unstored.filter { $0.value.pace.isDue(at: now) && !local.contains($0.key) }
        let due = sorted(missing.keys, by: \.soughtAt)
        let limit = here.isEmpty ? Self.maximumChecked : Self.checkedBesides
        var count = 0
        // A search that has made room for another one is not due any more.
        for id in due where count < limit && unstored[id]?.pace.isDue(at: now) ?? false {
            count += 1
            _ = try attempt(id, at: now, &events)
        }
        isBusy = isBusy || !here.isEmpty || due.count > limit
        try seek(at: now)
        return events
    }

    /// An object that was put into the store.
    private enum Progress { case nothing, part, file }

    private func sorted(
        _ ids: some Sequence<AttachmentID>, by rank: (UnstoredFile) -> UInt64
    ) -> [AttachmentID] {
        let ranked = ids.map { (id: $0, rank: unstored[$0].map(rank) ?? 0) }
        return ranked.sorted { a, b in
            a.rank != b.rank ? a.rank < b.rank : a.id.bytes.lexicographicallyPrecedes(b.id.bytes)
        }.map(\.id)
    }

    private mutating func attempt(
        _ id: AttachmentID, at now: UInt64, _ events: inout [Event]
    ) throws(SnapshotFailure) -> Progress {
        guard !stop.isSet else { throw .stopped }
        do throws(SnapshotFailure) { return try store(id, at: now) } catch {
            events += try record(error, of: id)
            unstored[id]?.pace.postpone(at: now)
            unstored[id]?.soughtUntil = 0
            return .nothing
        }
    }

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
        let searches = sought.filter { id in
            guard let file = unstored[id] else { return true }
            let isEmpty = ((try? peer.attachments.incoming(id)) ?? nil)?.receivedLength ?? 0 == 0
            return isEmpty && file.soughtAt + Self.waitMilliseconds <= now
        }
        guard let longest = sorted(searches, by: \.soughtAt).first else { return false }
        unstored[longest]?.soughtUntil = 0
        if unstored[longest]?.pace.isDue(at: now) ?? false {
            unstored[longest]?.pace = Self.pace(startingAt: now + Self.waitMilliseconds)
        }
        sought.remove(longest)
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
