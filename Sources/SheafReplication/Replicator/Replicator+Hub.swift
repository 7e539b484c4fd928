import SheafDocument
package import SheafEngine
import SheafHubLog
import SheafStatements
package import SheafStorage
import SheafSync
import SheafSystem

/// The hub log of a peer that is a hub.
extension Replicator {
    /// Begins to share the documents of the store with the hubs of a log.
    ///
    /// If it throws, no batch of a client is acknowledged, because none is hub-durable.
    package func share(_ configuration: HubFeedConfiguration, at now: UInt64) throws(EngineError) {
        self.now = now
        isHub = true
        heldClients.limit = configuration.limits.pendingBytes
        queries.refuseEvictions()
        var feed = try HubFeed(
            configuration, from: recent.snapshot, scopes, site: queries.documents.site,
            key: identity.peerKey, nonce: configuration.opening ?? randomNumber(),
            queries.options.clock.wallMilliseconds())
        feed.start(at: now)
        self.feed = feed
        performFeed()
        pump()
    }

    /// Processes an event of the log.
    package func receive(_ event: HubEvent, at now: UInt64) {
        self.now = now
        let (queries, recent) = (queries, recent)
        runFeed { (feed) throws(EngineError) in
            switch event {
            case .received(let entries, let shard):
                feed.receive(entries, of: shard, queries, at: now)
            case .stored(let id, let entry): feed.stored(id, as: entry, at: now)
            case .broadcast(let bytes): feed.receive(broadcast: bytes, at: now)
            }
            // Stored messages make room for others.
            try feed.collect(recent, queries, at: now)
        }
        pump()
    }

    /// The state of this hub; nil if this peer is not one, or could not begin.
    package var hubStatus: HubFeedStatus? { feed?.status(at: now) }

    /// Begins or ends to leave the other hubs, which then do not wait for this one.
    package func drain(_ isDraining: Bool) {
        feed?.isDraining = isDraining
        feed?.isBeatDue = true
    }

    /// Whether the store has all that was in the log when this peer began to read it; true without
    /// a log.
    package var hasCaughtUpWithHubs: Bool { feed?.hasCaughtUp ?? !isHub }

    /// The local commit up to which all commits are hub-durable; `.max` without one.
    package var hubDurable: CommitID {
        feed?.hubDurable(at: now) ?? (isHub ? lastHubDurable : .max)
    }

    /// Appends the documents of commits that have become durable.
    func feedPublished() {
        let (queries, recent, now) = (queries, recent, now)
        runFeed { (feed) throws(EngineError) in
            try feed.collect(recent, queries, at: now)
        }
    }

    /// Appends again the messages that are not stored, and sends beats.
    func tickFeed() {
        guard let deadline = feed?.deadline, deadline <= now else { return }
        let (queries, recent, now) = (queries, recent, now)
        feed?.clientCount = connections.count
        runFeed { (feed) throws(EngineError) in
            feed.tick(queries, at: now)
            try feed.replaceLost(recent.snapshot, queries, at: now)
            try feed.collect(recent, queries, at: now)
        }
        mesh.setHubs(feed?.liveHubs(at: now) ?? [:], at: now)
        mesh.continueBroadcasts(at: now)
    }

    /// Sends records of peers to the other hubs.
    func broadcast(_ message: PresenceMessage) {
        feed?.broadcast(.presence(message))
        performFeed()
    }

    /// Handles the outcome of a job that wrote groups of other hubs.
    func handleFeedOutcome(_ outcome: WriteJob.Outcome) {
        feedJobCount -= 1
        if let error = outcome.error, error != .stopped {
            queries.log?.write(.error, "cannot write documents of the hub log: \(error)")
        } else if !outcome.ahead.isEmpty {
            queries.log?.write(
                .error,
                "documents of the hub log wait: their times are too far ahead of this clock, "
                    + "or the clock of another hub is wrong")
        }
        let (queries, now) = (queries, now)
        runFeed { feed in feed.finish(outcome, queries, at: now) }
    }

    private func runFeed(_ event: (inout HubFeed) throws(EngineError) -> Void) {
        guard feed != nil else { return }
        do throws(EngineError) {
            try feed?.run(event)
        } catch {
            queries.log?.write(.error, "cannot share documents with other hubs: \(error)")
        }
        feed?.recordDurable(through: recent.snapshot.log.commit)
        performFeed()
        holdClients()
    }

    /// Withholds credit from all clients while too many of their documents are not hub-durable.
    ///
    /// Nothing else is withheld, and the log does not wait for clients: so all that they have sent
    /// is stored and acknowledged once the engine has caught up.
    func holdClients(after outcome: WriteJob.Outcome? = nil) {
        guard isHub else { return }
        if let outcome, outcome.appliedCount > 0, let commit = outcome.lastCommit {
            heldClients.add(outcome.documentLength, in: commit)
        }
        guard heldClients.update(hubDurable: hubDurable, at: now) else { return }
        let isHeld = heldClients.since != nil
        queries.log?.write(
            isHeld ? .warning : .info,
            isHeld
                ? "clients are held: too many of their documents are not hub-durable"
                : "clients are not held any more",
            ["bytes": "\(heldClients.waitingLength)"])
        for connection in orderedConnections { connection.session.withholdCredit(isHeld) }
    }

    /// Visits the connections whose batches may be acknowledged.
    private func recordAdvance() {
        for connection in orderedConnections where !connection.receiver.written.isEmpty {
            connection.isChanged = true
        }
    }

    private func performFeed() {
        while let effect = feed?.effects.next() {
            switch effect {
            case .log(let effect): emit(.hub(effect))
            case .write(let steps, let site):
                feedJobCount += 1
                emit(
                    .write(
                        WriteJob(
                            connection: HubFeed.connection, steps: steps, peer: site,
                            writable: nil, stop: evaluationStop)))
            case .save(let shards):
                feedJobCount += 1
                var job = WriteJob(
                    connection: HubFeed.connection, steps: [], peer: queries.documents.site,
                    writable: nil, stop: evaluationStop)
                job.storedShards = shards
                emit(.write(job))
            case .pauses(let pauses): _ = queries.documents.addPauses(pauses)
            case .advanced: recordAdvance()
            case .presence(let message): mesh.receive(broadcast: message, at: now)
            case .incident(let incident, let shard, let isOwn):
                queries.log?.write(
                    .error,
                    "the hub log contradicts what \(isOwn ? "this" : "another") hub has read: "
                        + "\(incident)", ["shard": "\(shard)"])
            case .fault(let fault, let shard):
                feed?.faults[fault.name, default: 0] += 1
                queries.log?.write(.debug, "in the hub log: \(fault)", ["shard": "\(shard)"])
            case .unreadableGroup(let group, let reason, let shard):
                queries.log?.write(
                    .error,
                    "this version cannot read documents in the hub log, and reads no later ones: "
                        + "\(reason)",
                    [
                        "author": group.author.site.text,
                        "entry": "\(group.parts.first?.entry ?? 0)", "shard": "\(shard)",
                    ])
            }
        }
    }
}
