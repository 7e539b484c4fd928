import SheafBytes
import SheafDocument
import SheafEngine
import SheafHubLog
import SheafQuery
import SheafStatements
import SheafStorage
import SheafSync
import SheafSystem

/// Entries of the log, and the groups of other hubs that are written to the store.
extension HubFeed {
    /// Processes entries of a shard, in the order in which the engine delivers them.
    mutating func receive(
        _ entries: [HubLogEntry], of id: HubShard, _ queries: QueryEngine, at now: UInt64
    ) {
        let index = Int(id.number)
        guard id.log == log, shards.indices.contains(index) else { return }
        var (length, lengthAgain) = (0, 0)
        for entry in entries {
            if entry.number <= shards[index].reader.read {
                shards[index].complete(with: entry, at: now)
                lengthAgain += entry.bytes.count
            } else {
                length += entry.bytes.count
            }
            shards[index].reader.receive(entry, at: now)
        }
        shards[index].readLength += UInt64(length)
        // Entries that were read again must not wait for a group that waits for others of them.
        consume(lengthAgain, of: index)
        takeEffects(of: index, length, at: now)
        for author in hubs.keys { hubs[author]?.confirm(id.number, shards[index].reader) }
        write(queries, at: now)
        advance(at: now)
    }

    private mutating func consume(_ length: Int, of index: Int) {
        guard length > 0 else { return }
        effects.append(.log(.consumed(length, shard: shards[index].id)))
    }

    /// Performs the effects of a reader, after it has received entries of a length.
    mutating func takeEffects(of index: Int, _ length: Int = 0, at now: UInt64) {
        let number = shards[index].number
        for effect in shards[index].reader.drainEffects() {
            switch effect {
            case .apply(let group): shards[index].add(group)
            case .own(let id, _, let entry):
                let builtAt = shards[index].appender.builtAt(id)
                if let builtAt { shards[index].recordOwn(appendedAt: builtAt) }
                settle(shards[index].appender.recordRead(id, at: entry), of: index)
            case .fault(let fault): effects.append(.fault(fault, shard: number))
            case .reread(let entries):
                effects.append(.log(.reread(entries, shard: shards[index].id)))
            case .need(let author, let ranges):
                broadcast(.need(shard: number, author, ranges))
            case .incident(let incident):
                effects.append(.incident(incident, shard: number, isOwn: true))
                broadcast(.incident(incident, shard: number))
            case .appendMark:
                effects.append(.log(.append(shards[index].appendMark(at: now), to: log)))
            }
        }
        consume(shards[index].recordRead(length), of: index)
    }

    /// Records that stored groups replace messages of this author.
    mutating func settle(_ replaced: [ClosedRange<UInt64>], of index: Int) {
        for range in replaced { shards[index].reader.recordReplaced(range) }
    }

    // MARK: Writing

    /// Writes the next complete groups of one author in one shard, unless a job is running.
    ///
    /// The shards take turns, and one whose groups could not be written does not delay the others.
    mutating func write(_ queries: QueryEngine, at now: UInt64) {
        guard shards.allSatisfy(\.writing.isEmpty), !isSaving else { return }
        let first = nextWritten
        for index in shards.indices.map({ (first + $0) % shards.count }) {
            guard !shards[index].isBlocked, shards[index].retryAt.map({ $0 <= now }) ?? true else {
                continue
            }
            let missing = shards[index].missingEntries(at: now, every: limits.rereadNanoseconds)
            for entries in missing {
                effects.append(.log(.reread(entries, shard: shards[index].id)))
            }
            guard let group = shards[index].waiting.first, group.isComplete else { continue }
            let steps = beginWriting(of: index, queries, at: now)
            guard steps.isEmpty else {
                nextWritten = (index + 1) % shards.count
                return effects.append(.write(steps, from: group.group.author.site))
            }
        }
    }

    /// Begins to write the first groups of one author, and returns them as batches.
    private mutating func beginWriting(
        of index: Int, _ queries: QueryEngine, at now: UInt64
    ) -> [PreparedStep] {
        var length = 0
        var steps: [PreparedStep] = []
        var position = shards[index].lastPosition
        let author = shards[index].waiting.first?.group.author
        for waiting in shards[index].waiting {
            length += waiting.payloadLength
            guard waiting.group.author == author, waiting.isComplete,
                steps.isEmpty || length <= limits.written
            else { break }
            position = waiting.position ?? position
            guard let step = step(waiting, at: position, of: index, queries, at: now) else {
                // A later version may read it: its documents must not count as stored.
                shards[index].isBlocked = true
                break
            }
            steps.append(step)
        }
        shards[index].beginWriting(steps.count)
        return steps
    }

    /// Returns a group as a batch to write; nil if its documents are invalid.
    private mutating func step(
        _ waiting: WaitingGroup, at position: ShardPosition, of index: Int,
        _ queries: QueryEngine, at now: UInt64
    ) -> PreparedStep? {
        let group = waiting.group
        let number = shards[index].number
        var reader = HubGroupReader(commit: group.extent.commit, shard: number, in: map)
        var names = ReceivedNames()
        var documents = SpillBuffer()
        do {
            for (part, payload) in waiting.payloads.enumerated() {
                let isLast = part == waiting.payloads.count - 1
                let read = try reader.read(payload ?? [], isLast: isLast)
                try names.translate(
                    read, from: reader.names, queries.documents, numbersNames: true,
                    into: &documents)
            }
        } catch {
            // The checksums are those of the author, which writes what this version cannot read.
            effects.append(.unreadableGroup(group, "\(error)", shard: number))
            return nil
        }
        // Known pauses of the author let the store keep writes that it has lost.
        for pauses in reader.pauses { effects.append(.pauses(pauses)) }
        return PreparedStep(
            generation: 0, documents: documents, commit: group.extent.commit, stamp: reader.stamp,
            senderKey: nil, connection: nonce, pauses: [], isCut: false, length: 0,
            storedShard: (number, stored(of: index, at: position, queries, at: now)))
    }

    /// Returns the progress of the store in a shard.
    private func stored(
        of index: Int, at position: ShardPosition, _ queries: QueryEngine, at now: UInt64
    ) -> StoredShard {
        if let kept = shards[index].kept { return kept }
        // The documents that a loaded snapshot lacks are those of other shards.
        let waiting = backlog.flatMap { $0.areMissing ? nil : $0.base }
        let base = shards[index].appender.unstoredBase
        return StoredShard(
            log: log, position: position,
            commit: [base, waiting].compactMap { $0 }.reduce(shipped) { min($0, $1) },
            wallMilliseconds: shards[index].currentMilliseconds(
                at: now, queries.options.clock.wallMilliseconds()))
    }

    /// Handles the outcome of a job; one that failed is repeated.
    mutating func finish(_ outcome: WriteJob.Outcome, _ queries: QueryEngine, at now: UInt64) {
        let hasFailed =
            outcome.error != nil || !outcome.gaps.isEmpty || !outcome.ahead.isEmpty
            || outcome.lostByPeer != nil
        for (number, stored) in outcome.storedShards {
            shards[Int(number)].savedEntry = stored.position.entry
        }
        if isSaving, hasFailed { isSaveDue = true }
        isSaving = false
        for index in shards.indices where !shards[index].writing.isEmpty {
            guard !hasFailed else {
                // Documents ahead of the clock are written once it has reached them.
                if outcome.error != nil { shards[index].recordFailure(at: now) }
                shards[index].undoWriting()
                shards[index].retryAt = now + limits.retryNanoseconds
                continue
            }
            let length = shards[index].endWriting(
                in: outcome.lastCommit ?? queries.documents.store.lastCommit)
            consume(length, of: index)
        }
        write(queries, at: now)
    }

    /// Writes the progress in shards if it has changed without documents, and no job is running.
    mutating func save(_ queries: QueryEngine, at now: UInt64) {
        guard shards.allSatisfy(\.writing.isEmpty), !isSaving,
            now >= lastSave + limits.saveNanoseconds,
            isSaveDue
                || shards.contains(where: { $0.lastPosition.continuation.entry != $0.savedEntry })
        else { return }
        (isSaving, lastSave, isSaveDue) = (true, now, false)
        effects.append(
            .save(
                shards.indices.map { index in
                    let position = shards[index].lastPosition
                    return (shards[index].number, stored(of: index, at: position, queries, at: now))
                }))
    }

    /// Records the positions that have become durable, and shows them to the other hubs.
    mutating func recordDurable(through commit: CommitID) {
        for index in shards.indices where shards[index].recordDurable(through: commit) {
            isBeatDue = true
        }
    }
}
