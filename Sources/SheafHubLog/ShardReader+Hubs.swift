package import SheafDocument

/// Beats of other hubs, and what depends on time.
extension ShardReader {
    /// The own mark that shows whether the engine delivers all entries.
    struct MarkWatch {
        /// Sequence of the first own mark that was appended after reading began.
        var own: UInt64?
        var hasReadOwn = false
        /// The time at which it was read.
        var readOwnAt: UInt64 = 0
        /// The time at which an entry was read, or another hub first reported a later one.
        var progressedAt: UInt64 = 0
        /// The time since which entries are missing that another hub has read.
        var staleSince: UInt64?
        /// The highest entry that other hubs had read then.
        var claimed: UInt64 = 0
        /// Sequence of the mark that was appended then.
        var probe: UInt64?
    }

    /// Records that this hub has appended a mark, after it began to read.
    package mutating func appendedMark(_ sequence: UInt64) {
        if mark.own == nil { mark.own = sequence }
        if mark.staleSince != nil, mark.probe == nil { mark.probe = sequence }
    }

    mutating func readOwnMark(_ sequence: UInt64, _ entry: UInt64, at now: UInt64) {
        if !mark.hasReadOwn, let own = mark.own, sequence >= own {
            (mark.hasReadOwn, mark.readOwnAt) = (true, now)
        }
        guard let probe = mark.probe, sequence >= probe else { return }
        if entry <= mark.claimed {
            // Others have read as many entries before the mark was appended.
            beginTruncation(at: entry)
        }
        endStale()
    }

    private mutating func endStale() {
        (mark.staleSince, mark.probe) = (nil, nil)
        end(.staleEngine)
    }

    /// Records a beat of another hub, which may have no progress in the shard.
    package mutating func receiveBeat(of author: HubAuthor, at now: UInt64) {
        guard author != own, newerVersion == nil else { return }
        if others[author] == nil, others.count >= limits.authors,
            let oldest = others.min(by: { $0.value.reportedAt < $1.value.reportedAt })?.key
        {
            others[oldest] = nil
        }
        others[author, default: OtherHub(reportedAt: now)].beatAt = now
        others[author]?.reportedAt = now
    }

    /// Records the progress that another hub reports in a beat.
    package mutating func receive(_ progress: ShardProgress, of author: HubAuthor, at now: UInt64) {
        guard author != own, newerVersion == nil else { return }
        receiveBeat(of: author, at: now)
        let hadClaim = nextClaim != .max
        if progress.read > ring.last {
            others[author]?.add(progress)
            nextClaim = min(nextClaim, progress.read)
            if !hadClaim { mark.progressedAt = now }
        } else {
            compareKnown(progress, of: author)
        }
    }

    /// Compares the progress in a message with the own digests.
    mutating func compare(
        _ progress: ShardProgress, of author: HubAuthor, inEntry entry: UInt64
    ) {
        guard progress.read < entry else {
            // The author had read this entry, or later ones, before it appended the message.
            beginTruncation(at: entry, otherDigest: progress.digest)
            return
        }
        compareKnown(progress, of: author)
    }

    private mutating func compareKnown(_ progress: ShardProgress, of author: HubAuthor) {
        guard let digest = ring.digest(at: progress.read), digest != progress.digest else {
            return
        }
        emit(.fault(.otherDigest(author, entry: progress.read)))
        begin(
            ShardIncident(
                .fork, entry: progress.read, digest: digest, otherDigest: progress.digest))
    }

    /// Compares the digest of the last entry with those that other hubs have reported before.
    mutating func compareClaims() {
        guard ring.last >= nextClaim else { return }
        nextClaim = .max
        for (author, other) in others {
            guard let claim = other.claim else { continue }
            guard claim.read <= ring.last else {
                nextClaim = min(nextClaim, claim.read)
                continue
            }
            compareKnown(claim, of: author)
            let highest = other.highestClaim.flatMap { $0.read > ring.last ? $0 : nil }
            others[author]?.claim = highest
            others[author]?.highestClaim = highest
            if let highest { nextClaim = min(nextClaim, highest.read) }
        }
    }

    private func isLive(_ author: HubAuthor, at now: UInt64) -> Bool {
        others[author]?.beatAt.map { Self.elapsed($0, now) < limits.liveNanoseconds } ?? false
    }

    /// Performs what is due; the owner calls it at least once a second.
    package mutating func tick(at now: UInt64) {
        guard newerVersion == nil else { return }
        checkGap(at: now)
        checkStaleEngine(at: now)
        let open = authors.filter { $0.key != own && $0.value.trackedCount > 0 }
        for (author, reading) in open.sorted(by: { $0.key < $1.key }) {
            checkMissing(author, reading, at: now)
            checkSilence(author, reading, at: now)
        }
    }

    /// Continues without what a silent author did not finish.
    private mutating func checkSilence(
        _ author: HubAuthor, _ reading: AuthorReading, at now: UInt64
    ) {
        // Until the end of the log is read, the next entries may be of any author.
        guard own == nil || mark.hasReadOwn, !reading.isMissingConfirmed else { return }
        let lastMessageAt = max(reading.arrivedAt, others[author]?.beatAt ?? 0, mark.readOwnAt)
        let silence = Self.elapsed(lastMessageAt, now)
        let isSilent = silence >= limits.liveNanoseconds
        authors[author]?.isSilent = isSilent
        if isSilent { endLosing(author) }
        // Its messages remain for a while, in case that they were only late.
        if silence >= limits.incidentNanoseconds, nextClaim == .max {
            forgetUnfinished(of: author)
        }
    }

    private mutating func checkMissing(
        _ author: HubAuthor, _ reading: AuthorReading, at now: UInt64
    ) {
        guard let since = reading.missingSince else { return }
        let waited = Self.elapsed(since, now)
        guard waited >= limits.needNanoseconds else { return }
        let isLive = isLive(author, at: now)
        // A killed author leaves messages in flight, which it has not acknowledged.
        if isLive ? waited >= limits.incidentNanoseconds : reading.isMissingConfirmed {
            authors[author]?.isLosing = true
            begin(ShardIncident(.loss, entry: ring.last, digest: ring.digest))
        }
        let isDue = reading.askedAt.map { Self.elapsed($0, now) >= limits.needNanoseconds } ?? true
        guard isLive, isDue else { return }
        authors[author]?.askedAt = now
        emit(.need(author, reading.missingRanges(limit: HubLimits.neededRanges)))
    }

    private mutating func checkStaleEngine(at now: UInt64) {
        let claims = others.values.compactMap { $0.highestClaim?.read }
        guard let highest = claims.max() else {
            if mark.staleSince != nil { endStale() }
            return
        }
        if let since = mark.staleSince {
            if Self.elapsed(since, now) >= limits.incidentNanoseconds {
                begin(ShardIncident(.staleEngine, entry: ring.last, digest: ring.digest))
            }
        } else if Self.elapsed(mark.progressedAt, now) >= limits.needNanoseconds {
            (mark.staleSince, mark.claimed) = (now, highest)
            emit(.fault(.staleEngine(after: ring.last)))
            emit(.appendMark)
        }
    }
}

extension ShardReader.OtherHub {
    /// Adds a progress beyond the last entry read.
    mutating func add(_ progress: ShardProgress) {
        if claim.map({ progress.read < $0.read }) ?? true { claim = progress }
        if highestClaim.map({ progress.read > $0.read }) ?? true { highestClaim = progress }
    }
}
