import SheafBytes

/// Entries in the order of their numbers.
extension ShardReader {
    /// Reads an entry as the engine returned it, also one that was delivered before.
    package mutating func receive(_ entry: HubLogEntry, at now: UInt64) {
        guard newerVersion == nil else { return }
        guard entry.number > ring.last else {
            receiveKnown(entry)
            return
        }
        if entry.number == ring.last + 1 {
            process(entry.number, entry.bytes, at: now)
            processWaiting(at: now)
        } else {
            keep(entry, at: now)
        }
        highest = max(highest, entry.number)
        updateGap(at: now)
    }

    /// Compares an entry with the known one of its number.
    private mutating func receiveKnown(_ entry: HubLogEntry) {
        let isSame = entry.bytes.span.withUnsafeBytes { ring.isEntry(entry.number, $0) }
        if isSame == true {
            emit(.fault(.repeatedEntry(entry.number)))
        } else if ring.isLost(entry.number) {
            // Hubs that read it in time have other digests, which show the difference.
            emit(.fault(.lateEntry(entry.number)))
        } else {
            beginTruncation(at: entry.number)
        }
    }

    mutating func beginTruncation(at entry: UInt64, otherDigest: UInt64 = 0) {
        emit(.fault(.truncation(entry: entry)))
        begin(
            ShardIncident(
                .truncation, entry: entry, digest: ring.digest(at: entry) ?? 0,
                otherDigest: otherDigest))
    }

    /// Keeps an entry that follows missing ones, if there is room; otherwise it is read again.
    private mutating func keep(_ entry: HubLogEntry, at now: UInt64) {
        if let known = waiting[entry.number] {
            if known.bytes == entry.bytes {
                emit(.fault(.repeatedEntry(entry.number)))
            } else {
                beginTruncation(at: entry.number)
            }
            return
        }
        let rereadFrom = rereadNewGap(before: entry.number)
        let kept = Waiting(bytes: entry.bytes, arrivedAt: now, rereadFrom: rereadFrom)
        guard waitingLength + kept.length <= limits.waitingLength else { return }
        waiting[entry.number] = kept
        waitingLength += kept.length
    }

    /// Reads again the entries between the highest one and a higher one, and returns the first.
    private mutating func rereadNewGap(before number: UInt64) -> UInt64 {
        guard number > highest, number - highest > 1 else { return number }
        let missing = highest + 1...number - 1
        guard missing.limited(to: limits.digests) == missing else { return number }
        // The first gap is read again in any case.
        if gap != nil { emit(.reread(missing)) }
        return missing.lowerBound
    }

    private mutating func processWaiting(at now: UInt64) {
        while ring.last < .max, newerVersion == nil,
            let next = waiting.removeValue(forKey: ring.last + 1)
        {
            waitingLength -= next.length
            process(ring.last + 1, next.bytes, at: now)
        }
    }

    /// Reads the next entry.
    private mutating func process(_ number: UInt64, _ bytes: [UInt8], at now: UInt64) {
        let decoded = decode(bytes)
        if case .failure(.newerVersion(let version)) = decoded {
            stop(at: number, version: version)
            return
        }
        bytes.span.withUnsafeBytes { ring.append($0) }
        mark.progressedAt = now
        compareClaims()
        switch decoded {
        case .failure(let error): emit(.fault(.damage(entry: number, error)))
        case .success(let found):
            accept(found.message, checksum: found.checksum, entry: number, at: now)
        }
    }

    private func decode(
        _ bytes: [UInt8]
    ) -> Result<(message: HubMessage, checksum: UInt64), HubMessageError> {
        do throws(HubMessageError) {
            return .success(
                try bytes.span.withUnsafeBytes { bytes throws(HubMessageError) in
                    try HubMessage.decode(bytes, log: log, shard: shard)
                })
        } catch { return .failure(error) }
    }

    // MARK: - Gaps

    /// The missing entries before the first one that waits, and the time since which all of them
    /// are read again; nil if they were not.
    private var missingEntries: (range: ClosedRange<UInt64>, since: UInt64?)? {
        guard highest > ring.last else { return nil }
        let first = waiting.keys.min()
        let last = first.map { $0 - 1 } ?? highest
        let next = first.flatMap { waiting[$0] }
        let since = next.flatMap { $0.rereadFrom <= ring.last + 1 ? $0.arrivedAt : nil }
        return (ring.last + 1...max(last, ring.last + 1), since)
    }

    /// Begins or ends to wait for missing entries.
    private mutating func updateGap(at now: UInt64) {
        guard newerVersion == nil, highest > ring.last else {
            gap = nil
            return
        }
        guard gap?.last != ring.last, let missing = missingEntries else { return }
        gap = Gap(since: missing.since ?? now, rereadAt: now, last: ring.last)
        emit(.fault(.gap(missing.range)))
        emit(.reread(missing.range.limited(to: limits.digests)))
    }

    mutating func checkGap(at now: UInt64) {
        guard let waited = gap, let missing = missingEntries?.range else { return }
        guard Self.elapsed(waited.since, now) >= limits.needNanoseconds else {
            if Self.elapsed(waited.rereadAt, now) >= limits.rereadNanoseconds {
                gap?.rereadAt = now
                emit(.reread(missing.limited(to: limits.digests)))
            }
            return
        }
        // A number far ahead must not take long, nor be taken for that many lost entries.
        let lost = missing.limited(to: limits.digests)
        for _ in lost {
            ring.append(nil)
            compareClaims()
        }
        mark.progressedAt = now
        emit(.fault(.lostEntries(lost)))
        if lost != missing {
            hasLost = true
            begin(ShardIncident(.loss, entry: lost.upperBound, digest: ring.digest))
        }
        processWaiting(at: now)
        updateGap(at: now)
    }
}

extension ClosedRange<UInt64> {
    /// Returns the first `count` numbers of the range.
    fileprivate func limited(to count: Int) -> ClosedRange {
        let most = UInt64(Swift.max(count, 1) - 1)
        return upperBound - lowerBound > most ? lowerBound...lowerBound + most : self
    }
}
