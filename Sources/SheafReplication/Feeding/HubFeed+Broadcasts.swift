import SheafBytes
import SheafDocument
import SheafHubLog
import SheafStatements
import SheafStorage
import SheafSystem

/// Beats, which show other hubs the entries that each one has read and stored.
extension HubFeed {
    /// Handles a broadcast of another hub; one that does not decode is counted, and ignored.
    mutating func receive(broadcast bytes: [UInt8], at now: UInt64) {
        let log = log
        let decoded = bytes.span.withUnsafeBytes { try? HubBroadcast(decoding: $0, log: log) }
        guard let broadcast = decoded else {
            let isOfOtherLog = bytes.span.withUnsafeBytes {
                HubBroadcast.areOfOtherLog($0, than: log)
            }
            if !isOfOtherLog { faults["malformed_broadcast", default: 0] += 1 }
            return
        }
        // Late beats of an earlier opening of this hub have its key.
        guard broadcast.hub != key else { return }
        switch broadcast.contents {
        case .beat(let beat): receive(beat, of: broadcast.author, broadcast.hub, at: now)
        case .need(let shard, let author, let ranges):
            if author == self.author { lost.append(LostMessages(shard: shard, ranges: ranges)) }
        case .incident(let incident, let shard):
            effects.append(.incident(incident, shard: shard, isOwn: false))
        case .presence(let message): effects.append(.presence(message))
        }
    }

    private mutating func receive(
        _ beat: HubBroadcast.Beat, of author: HubAuthor, _ key: [UInt8], at now: UInt64
    ) {
        // A hub that was opened waits two seconds for the beats of others.
        if hubs[author] == nil { isBeatDue = true }
        var hub =
            hubs[author] ?? OtherHub(key: key, lastBeat: now, isDraining: beat.isDraining)
        (hub.lastBeat, hub.isDraining, hub.shards) = (now, beat.isDraining, [:])
        for index in shards.indices { shards[index].reader.receiveBeat(of: author, at: now) }
        for read in beat.shards where shards.indices.contains(Int(read.shard)) {
            let index = Int(read.shard)
            hub.shards[read.shard] = read.progress
            shards[index].reader.receive(read.progress, of: author, at: now)
            takeEffects(of: index, at: now)
            hub.confirm(read.shard, shards[index].reader)
        }
        hubs[author] = hub
        // A hub that was opened again does not go on with its former opening.
        hubs = hubs.filter { $0.key == author || $0.value.key != key }
        forgetHubs(at: now)
        advance(at: now)
    }

    /// Removes the hubs that are not live if there are more than `HubLimits.authors`; each opening
    /// of a store is another one.
    private mutating func forgetHubs(at now: UInt64) {
        guard hubs.count > HubLimits.authors else { return }
        hubs = hubs.filter { $0.value.isLive(at: now, limits) }
    }

    /// The openings of the other live hubs, by key.
    func liveHubs(at now: UInt64) -> [[UInt8]: UInt64] {
        let live = hubs.filter { $0.value.isLive(at: now, limits) }
        return Dictionary(live.map { ($0.value.key, $0.key.opening) }) { max($0, $1) }
    }

    /// Sends a broadcast to the other hubs.
    mutating func broadcast(_ contents: HubBroadcast.Contents) {
        let broadcast = HubBroadcast(log: log, hub: key, author: author, contents)
        effects.append(.log(.broadcast(broadcast.bytes)))
    }

    // MARK: Time

    /// When `tick` is due next.
    var deadline: UInt64 {
        let beat =
            isBeatDue
            ? lastBeat + limits.fastBeatNanoseconds : lastBeat + limits.beatNanoseconds
        let answers = shards.compactMap { shard in
            shard.appender.pending.lazy.filter { !$0.isStored }.map(\.appendedAt).min()
        }
        .map { $0 + limits.answerNanoseconds }
        // Commits wait for a hub until it counts as gone.
        let ends =
            rounds.isEmpty
            ? []
            : (hubs.values.map { $0.lastBeat + limits.liveNanoseconds }
                + [openedAt + limits.listenNanoseconds]).filter { $0 > lastTick }
        let retries = (shards.map(\.retryAt) + [readAgainAt]).compactMap { $0 }
        let requests = shards.compactMap(\.requestedAt).map { $0 + limits.rereadNanoseconds }
        let repeated = (retries + requests).filter { $0 > lastTick }
        let losses = shards.compactMap { $0.appender.nextLoss(after: lastTick, limits) }
        return ([beat] + answers + ends + repeated + losses).min() ?? beat
    }

    mutating func tick(_ queries: QueryEngine, at now: UInt64) {
        lastTick = now
        repeatUnanswered(at: now)
        for shard in shards.indices {
            shards[shard].reader.tick(at: now)
            takeEffects(of: shard, at: now)
            showEnd(of: shard, at: now)
        }
        write(queries, at: now)
        save(queries, at: now)
        advance(at: now)
        let interval = isBeatDue ? limits.fastBeatNanoseconds : limits.beatNanoseconds
        guard now >= lastBeat + interval else { return }
        sendBeat(at: now, queries.options.clock.wallMilliseconds())
    }

    /// Appends a mark if nothing else was appended for long: when it is read, the store has all
    /// entries before it.
    ///
    /// A hub whose first mark the engine has lost finds the end by the next one.
    private mutating func showEnd(of shard: Int, at now: UInt64) {
        let interval =
            shards[shard].hasCaughtUp ? limits.markNanoseconds : limits.liveNanoseconds
        guard let last = shards[shard].appender.lastBuiltAt, now >= last + interval,
            shards[shard].appender.hasRoom(limits)
        else { return }
        effects.append(.log(.append(shards[shard].appendMark(at: now), to: log)))
    }

    /// Whether clients may use this hub.
    var isReady: Bool {
        hasCaughtUp && shards.allSatisfy { !$0.isBlocked && $0.reader.newerVersion == nil }
    }

    private mutating func sendBeat(at now: UInt64, _ milliseconds: UInt64) {
        (lastBeat, isBeatDue) = (now, false)
        let beat = HubBroadcast.Beat(
            isDraining: isDraining, isReady: isReady && servesClients,
            versions: versions, wallMilliseconds: milliseconds,
            clientCount: UInt64(clientCount), addresses: [],
            shards: shards.filter { $0.isFollowing(at: now, limits) }.map {
                HubBroadcast.ReadShard(shard: $0.number, progress: $0.progress)
            })
        broadcast(.beat(beat))
    }
}
