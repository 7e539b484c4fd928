import SheafDocument

/// Messages of authors, in the order of entries.
extension ShardReader {
    mutating func accept(
        _ message: HubMessage, checksum: UInt64, entry: UInt64, at now: UInt64
    ) {
        compare(message.progress, of: message.author, inEntry: entry)
        prepareAuthor(of: message)
        let limit = limits.laterMessages
        var verdict = note(message, checksum, entry, limit, at: now)
        if verdict == .full {
            giveUpFirst(of: message.author, at: entry)
            verdict = note(message, checksum, entry, .max, at: now)
        }
        switch verdict {
        case .repetition:
            emit(
                .fault(
                    .repetition(message.author, sequence: message.sequence, entry: entry)))
            return
        case .fork:
            beginFork(message, entry)
            return
        case .contradictory: beginFork(message, entry)
        case .new, .full: break
        }
        if let reading = authors[message.author], !reading.isKnown(message.sequence - 1) {
            emit(.fault(.early(message.author, sequence: message.sequence, entry: entry)))
        }
        if message.author == own {
            let id = HubMessageID(
                author: message.author, shard: shard, sequence: message.sequence,
                checksum: checksum)
            emit(.own(id, message.kind, entry: entry))
            if message.kind == .mark { readOwnMark(message.sequence, entry, at: now) }
        } else {
            assemble(message, checksum, entry)
        }
        limitTracked(message.author, at: entry)
        updateMissing(message.author, at: now)
    }

    /// Counts own messages as read that a stored group of this hub replaces.
    package mutating func recordReplaced(_ sequences: ClosedRange<UInt64>) {
        guard let own, authors[own] != nil else { return }
        // Without room for the range, the position remains before the lost messages.
        _ = change(own) { $0.replace(sequences) }
        endMissing(own)
    }

    /// Applies a change to an author, and counts what it keeps.
    private mutating func change<Result>(
        _ author: HubAuthor, _ body: (inout AuthorReading) -> Result
    ) -> Result {
        var reading = authors.removeValue(forKey: author) ?? AuthorReading(sequence: 0, checksum: 0)
        trackedCount -= reading.trackedCount
        stagedLength -= reading.groups.payloadLength
        let result = body(&reading)
        trackedCount += reading.trackedCount
        stagedLength += reading.groups.payloadLength
        authors[author] = reading
        return result
    }

    private mutating func beginFork(_ message: HubMessage, _ entry: UInt64) {
        emit(.fault(.fork(message.author, sequence: message.sequence, entry: entry)))
        begin(ShardIncident(.fork, entry: entry, digest: ring.digest(at: entry) ?? 0))
    }

    /// Makes room for an author that is not known.
    private mutating func prepareAuthor(of message: HubMessage) {
        guard authors[message.author] == nil else { return }
        guard authors.count >= limits.authors else { return }
        // Without the others, nothing shows how many messages of this one were read.
        let idle = authors.filter {
            ($0.value.trackedCount == 0 || $0.value.isSilent) && $0.key != own
        }
        let candidates = idle.isEmpty ? authors.filter { $0.key != own } : idle
        if let oldest = candidates.min(by: { $0.value.lastEntry < $1.value.lastEntry })?.key {
            discardGroups(of: oldest)
            if authors[oldest]?.isLosing ?? false { hasLost = true }
            change(oldest) { $0 = AuthorReading(sequence: 0, checksum: 0) }
            authors[oldest] = nil
        }
        authors[message.author] = AuthorReading(
            sequence: message.sequence - 1, checksum: message.previous)
    }

    private mutating func note(
        _ message: HubMessage, _ checksum: UInt64, _ entry: UInt64, _ limit: Int, at now: UInt64
    ) -> AuthorReading.Verdict {
        change(message.author) { reading in
            reading.lastEntry = entry
            reading.arrivedAt = now
            reading.isSilent = false
            return reading.note(message, checksum: checksum, entry: entry, limit: limit)
        }
    }

    /// Continues without the first missing messages of an author; returns false if there are none.
    @discardableResult
    private mutating func giveUpFirst(of author: HubAuthor, at entry: UInt64) -> Bool {
        guard let lost = change(author, { $0.giveUpFirst() }) else { return false }
        emit(.fault(.lostMessages(author, lost)))
        hasLost = true
        begin(ShardIncident(.loss, entry: entry, digest: ring.digest(at: entry) ?? 0))
        discardGroups(of: author, around: lost)
        return true
    }

    private mutating func updateMissing(_ author: HubAuthor, at now: UInt64) {
        guard let reading = authors[author] else { return }
        guard reading.isMissingMessages else {
            if reading.missingSince != nil { endMissing(author) }
            return
        }
        guard reading.missingSince == nil || reading.missingAfter != reading.sequence else {
            return
        }
        authors[author]?.missingSince = now
        authors[author]?.missingAfter = reading.sequence
    }

    private mutating func endMissing(_ author: HubAuthor) {
        authors[author]?.missingSince = nil
        authors[author]?.askedAt = nil
        endLosing(author)
    }

    /// Ends the incident of the missing messages of an author, unless others are missing.
    mutating func endLosing(_ author: HubAuthor) {
        guard authors[author]?.isLosing ?? false else { return }
        authors[author]?.isLosing = false
        if !hasLost, !authors.values.contains(where: \.isLosing) { end(.loss) }
    }

    /// Forgets what an author did not finish, which it has not acknowledged.
    mutating func forgetUnfinished(of author: HubAuthor) {
        guard let reading = authors[author], reading.trackedCount > 0 else { return }
        for range in reading.missingRanges(limit: HubLimits.neededRanges) {
            emit(.fault(.unstoredMessages(author, range)))
        }
        for range in change(author, { $0.forgetUnfinished() }) {
            emit(.fault(.unfinishedGroup(author, range)))
        }
        endMissing(author)
    }

    // MARK: - Groups

    private mutating func assemble(_ message: HubMessage, _ checksum: UInt64, _ entry: UInt64) {
        let room = limits.stagedLength - stagedLength
        let part: GroupAssembly.Part? =
            message.kind == .mark
            ? nil
            : GroupAssembly.Part(
                message, checksum: checksum, entry: entry,
                keepsPayload: message.payload.count <= room)
        let outcome = change(message.author) { reading in
            reading.groups.add(
                part, at: message.sequence,
                isKnown: (
                    reading.isKnown(message.sequence - 1), reading.isKnown(message.sequence &+ 1)
                ))
        }
        for range in outcome.malformed {
            emit(.fault(.malformedGroup(message.author, range)))
            hasLost = true
            begin(ShardIncident(.loss, entry: entry, digest: ring.digest(at: entry) ?? 0))
        }
        if let complete = outcome.complete { apply(complete, of: message.author) }
    }

    /// Forgets unfinished messages of silent authors beyond the limit; if that is not enough, gives
    /// up those of `author`.
    private mutating func limitTracked(_ author: HubAuthor, at entry: UInt64) {
        guard trackedCount > limits.trackedMessages else { return }
        for silent in authors.filter(\.value.isSilent).keys.sorted() {
            forgetUnfinished(of: silent)
        }
        guard trackedCount > limits.trackedMessages else { return }
        while giveUpFirst(of: author, at: entry) {}
        discardGroups(of: author)
        hasLost = true
        begin(ShardIncident(.loss, entry: entry, digest: ring.digest(at: entry) ?? 0))
    }

    private mutating func apply(
        _ complete: (first: UInt64, parts: [GroupAssembly.Part]), of author: HubAuthor
    ) {
        guard let first = complete.parts.first else { return }
        let replaces = first.flags.contains(.replaces)
        let parts = complete.parts.enumerated().map { index, part in
            ShardGroup.Part(
                entry: part.entry, sequence: complete.first + UInt64(index),
                checksum: part.checksum, payload: part.payload)
        }
        emit(
            .apply(
                ShardGroup(
                    author: author, extent: first.extent, replaces: replaces, parts: parts)))
        guard replaces, first.extent.base > 0 else { return }
        let range = first.extent.base...first.extent.commit
        // Giving up the first missing messages may make no room if other messages follow them.
        while !change(author, { $0.replace(range) }), giveUpFirst(of: author, at: ring.last) {}
        discardGroups(of: author, around: range)
    }

    /// Discards the open groups that continue in a range of messages that never arrive.
    private mutating func discardGroups(of author: HubAuthor, around range: ClosedRange<UInt64>) {
        for range in change(author, { $0.groups.discard(around: range) }) {
            emit(.fault(.unfinishedGroup(author, range)))
        }
    }

    mutating func discardGroups(of author: HubAuthor) {
        guard authors[author]?.groups.count ?? 0 > 0 else { return }
        for range in change(author, { $0.groups.discardAll() }) {
            emit(.fault(.unfinishedGroup(author, range)))
        }
    }
}
