import SheafBytes
import SheafDocument
package import SheafQuery
import SheafStorage
import SheafSync

/// What this peer wants of others.
extension SyncHost {
    /// What this peer subscribes to.
    struct Wishes {
        var queries: [SubscriptionQuery] = []
        /// The same as they are sent.
        var wire: [SubscribedQuery] = []
        var matcher: SubscriptionMatcher?
        /// Counts what makes what was said of cursors before untrue: subscriptions that are wider, and
        /// documents that were taken away here.
        var epoch: UInt64 = 0
        /// Number of those increments that evictions caused.
        var evictionCount: UInt64 = 0
        /// How far this peer has what others have, by their keys.
        var cursors: [[UInt8]: (cursor: Cursor, epoch: UInt64)] = [:]
    }

    /// What is asked on one connection.
    struct Asking {
        var generation: UInt64 = 0
        var epoch: UInt64 = 0
        /// What came of a step whose rest is still to come.
        var staged = DocumentPile()
        var stagedStamp: Stamp?
        /// Steps that wait until those before them are written.
        var waiting: [PreparedStep] = []
        var isWriting = false
        /// How much memory those take that are being written.
        var writingLength = 0
        /// What is durable here is to be acknowledged: their commit, and the one here.
        var written: [(commit: UInt64, here: CommitID)] = []
        /// All that the other side has told up to this commit of its is here.
        var reached: UInt64 = 0
        /// Whether the other side has told, since it was asked, all that it had then.
        var hasCaughtUp = false
        var announced = Announced()
        /// What is to be looked at again when a comparison is done.
        var rankCheck: RankCheck?
        /// When it is the turn of what is to be asked.
        var due: Due?
        /// How many times as many documents are compared as queries with LIMIT have.
        var rankFactor = 1
        /// What is needed whole before anything else of the other side can be written.
        var missing: Set<DocumentAddress> = []
        /// Documents that were set aside and are asked for again.
        var askedAgain: Set<DocumentAddress> = []
        /// Whether all is compared for those that there was no room for.
        var comparesSetAside = false
        /// Whether a check of the set aside documents was skipped on this connection.
        var missesCheck = false
        /// How many set aside documents the other side was told of.
        var reportedSetAside: UInt64 = 0
        /// What the other side wanted when documents were compared last that the own grant may forbid.
        var reviewed: Set<SubscribedQuery> = []
        /// The commit of the list that was compared last.
        var listed = CommitID.max
        /// Whether refusals of documents were reported to the other side.
        var hasReported = false
        /// Documents that differ and that the own grant does not let this side send, with the commits that wrote them.
        var disputed: [DocumentAddress: [CommitID]] = [:]
        /// Those of them that the other side has not sent, the first one last, until its queries are evaluated on them.
        var unsettled: [(key: DocumentAddress, value: [CommitID])] = []
        /// Documents of which the other side has sent a state that lacks a write of this store; each with the local
        /// commit that must be durable before the document is reviewed.
        var lacking: [DocumentAddress: CommitID] = [:]
    }

    /// Subscribes to something else from now on.
    package func subscribe(_ queries: [SubscriptionQuery]) throws(QueryError) {
        var tally = SubscriptionTally()
        for query in queries { try tally.add(query) }
        // What another query covers is not sent: it would cost the other side, and bring nothing.
        let queries = SubscriptionQuery.effective(queries)
        let wire = queries.map(\.wire)
        guard wire != wishes.wire else { return }
        let known = Set(wishes.wire)
        let isWider = !wire.allSatisfy { known.contains($0) }
        wishes.wire = wire
        wishes.queries = queries
        wishes.matcher = SubscriptionMatcher(queries, self.queries, stop: evaluationStop)
        if isWider { wishes.epoch += 1 }
        for link in allLinks where link.session.isOpen { ask(link) }
    }

    /// Documents were taken away here: where they match, they are wanted again.
    func noteEvictions() {
        var isConcerned = false
        var evicted: [Evicted] = []
        for commit in news.fresh {
            // Also where it has come again since: that may be an older state, or a new one.
            for change in commit.changes where change.isTakenAway {
                guard let before = change.before else { continue }
                if !refusals.isEmpty, let address = news.snapshot.address(of: change.key.bytes) {
                    refusals.remove(address)
                }
                // What was deleted here, and is forgotten, others may still have.
                if before.isTombstone { news.noteReaping(at: commit.number) }
                if let address = news.snapshot.address(of: change.key.bytes),
                    wishes.matcher?.asks(for: address.collection) ?? false
                {
                    isConcerned = true
                    evicted.append(
                        Evicted(key: change.key.bytes, address: address, before: before))
                }
            }
        }
        guard isConcerned else { return }
        wishes.epoch += 1
        wishes.evictionCount += 1
        for link in allLinks where link.session.isOpen && concern(evicted, link) { ask(link) }
    }

    /// Asks for what this peer subscribes to: now, or when it is its turn.
    func ask(_ link: Link, whole: [DocumentAddress] = []) {
        guard link.session.isOpen else { return }
        // Who wants nothing, and wanted nothing, need not say so.
        guard !wishes.queries.isEmpty || link.asking.generation > 0 else { return }
        link.asking.generation += 1
        // A peer with limited rights is asked for other documents only by what it may read.
        let epoch = link.isLimited ? wishes.epoch &- wishes.evictionCount : wishes.epoch
        if link.asking.epoch != epoch { link.asking.rankFactor = 1 }
        link.asking.epoch = epoch
        // What is not written any more has been paid for all the same.
        link.session.grant(link.asking.waiting.reduce(0) { $0 + $1.length })
        link.asking.waiting = []
        // What came for an older subscription says nothing of this one; its first step says it anew.
        link.asking.written = []
        (link.asking.staged, link.asking.stagedStamp) = (DocumentPile(), nil)
        link.asking.announced = Announced()
        link.asking.rankCheck = nil
        link.asking.hasCaughtUp = false
        (link.asking.askedAgain, link.asking.comparesSetAside) = ([], false)
        subscribe(link, whole: whole)
        handle(link)
    }

    func sendSubscription(_ link: Link, whole: [DocumentAddress]) {
        guard let hello = link.session.remote, link.session.isOpen else { return }
        // What is kept to this peer is not wanted of others.
        let shared = wishes.queries.filter { scopes.isShared($0.collection) }.map(\.wire)
        var cursor: Cursor?
        if let known = wishes.cursors[hello.peerKey], known.epoch == wishes.epoch,
            known.cursor.log == hello.log, !link.isLimited
        {
            // What cannot be named in one frame is found by comparing.
            if Subscribe.fits(whole: whole) { cursor = known.cursor }
        }
        link.asking.reached = cursor?.commit ?? 0
        link.session.subscribe(
            Subscribe(
                generation: link.asking.generation, shared,
                at: link.isLimited ? reserveStepNumber(link) : news.snapshot.log.commit,
                from: cursor,
                whole: cursor == nil ? [] : whole))
    }

    func listOwn(_ link: Link, _ generation: UInt64) {
        guard generation == link.asking.generation, var matcher = wishes.matcher else { return }
        askAgainForAllSetAside(link)
        // A restart can come within a step.
        (link.asking.staged, link.asking.stagedStamp) = (DocumentPile(), nil)
        // Until it is done, what was known of the other side is not enough.
        if let key = link.session.remote?.peerKey { wishes.cursors[key] = nil }
        let snapshot = shown(news.snapshot, to: link)
        // An error on a document that a limited peer may not read would end the connection.
        if link.isLimited {
            matcher = SubscriptionMatcher(
                wishes.queries, queries, meter: .unlimited(stop: evaluationStop),
                where: rankFilter(link, in: snapshot, isOwn: true))
        }
        do throws(EngineError) {
            let rankings = try beginRankCheck(link, matcher, in: snapshot)
            link.asking.listed = news.snapshot.log.commit
            link.session.compare(
                with: try versions(
                    matching: matcher, rankings, in: snapshot, isOwn: true, on: link),
                most: lengths.wanted, reportsDifferences: link.sendable != nil)
        } catch {
            failReading(link, error)
        }
    }

    /// Has a step written, behind those that came before it, once all of it is there.
    func apply(_ step: ShippedStep, from link: Link) {
        guard step.generation == link.asking.generation else {
            link.session.grant(step.length)
            return
        }
        noteCompared(step, on: link)
        if link.asking.staged.isEmpty { link.asking.stagedStamp = step.commits.first?.stamp }
        do throws(EngineError) {
            try makeRoom(for: step.documentLength, on: link)
            try prepare(step, on: link, onto: &link.asking.staged)
            try makeRoom(for: 0, on: link)
        } catch {
            return fail(link, error)
        }
        guard !step.isContinued else { return }
        if link.asking.staged.isEmpty, link.asking.waiting.isEmpty, !link.asking.isWriting {
            // What says nothing but how far the other side is needs nobody to write it; but what came over a
            // connection before this one may have to reach the disk yet.
            return noteWritten(
                .nothing(step, on: link.number, behind: queries.documents.store.lastCommit))
        }
        link.asking.waiting.append(
            PreparedStep(
                generation: step.generation, documents: link.asking.staged, commit: step.commit,
                stamp: link.asking.stagedStamp,
                bringer: link.writable == nil ? nil : link.session.remote?.peerKey,
                connection: link.drawn,
                // A forgotten write that the pauses detect would reveal a hidden document.
                pauses: link.readable == nil ? link.pauses : [],
                isCut: step.isCut, length: step.length))
        (link.asking.staged, link.asking.stagedStamp) = (DocumentPile(), nil)
        write(link)
    }

    /// Moves what came to the disk where it would take too much memory with what comes.
    private func makeRoom(for coming: Int, on link: Link) throws(EngineError) {
        let waiting = link.asking.waiting.reduce(link.asking.writingLength) {
            $0 + $1.documents.lengthInMemory
        }
        let staged = link.asking.staged.lengthInMemory
        guard staged > 0, waiting + staged + coming > lengths.inMemory else { return }
        try onStorage { () throws(StorageError) in
            try link.asking.staged.moveToDisk(queries.documents.store)
        }
    }

    private func write(_ link: Link) {
        guard !link.asking.isWriting, !link.asking.waiting.isEmpty, link.session.isOpen
        else { return }
        link.asking.isWriting = true
        link.asking.writingLength = link.asking.waiting.reduce(0) {
            $0 + $1.documents.lengthInMemory
        }
        link.session.holdSteps(true)
        fillBudget(of: link)
        emit(
            .write(
                WriteJob(
                    link: link.number, steps: link.asking.waiting, peer: link.site,
                    limitedPeer: link.isLimited ? link.session.remote?.peerKey : nil,
                    writable: link.writable, readable: link.readRule, shadows: shadows(of: link),
                    brought: limitedPeers[link.session.remote?.peerKey ?? []]?.brought
                        ?? BroughtDocuments(),
                    awaited: setAside.addresses,
                    disputed: refusals.addresses(of: link.session.remote?.peerKey ?? [])
                        .union(link.asking.disputed.keys),
                    budget: link.writable == nil ? nil : meter(of: link), stop: evaluationStop)))
        link.asking.waiting = []
    }

    /// Takes in what became of a job.
    package func noteWritten(_ outcome: WriteJob.Outcome) {
        outcome.chargeBudget()
        noteUnmoved(outcome)
        note(outcome.forgotten)
        if outcome.lacksOwnWrites {
            mayReportSite = true
            reportNewSite()
        }
        guard !outcome.isOfProof else { return noteProven(outcome) }
        // Also where the connection has ended meanwhile: the documents are written.
        noteBrought(outcome)
        guard let link = links[outcome.link] else { return }
        (link.asking.isWriting, link.asking.writingLength) = (false, 0)
        link.session.grant(outcome.length)
        link.session.holdSteps(false)
        statistics.documentsReceived += UInt64(outcome.documentCount)
        statistics.documentsTaken += UInt64(outcome.takenCount)
        refuse(outcome, from: link)
        noteHidden(outcome, from: link)
        if outcome.lacksOwnWrites { noteLackingOwnWrites(knownBy: link) }
        if let time = outcome.forgottenByPeer { return reportForgotten(time, to: link) }
        correct(outcome.known, behind: outcome.lastCommit, on: link)
        let isCurrent = outcome.generation == link.asking.generation
        if isCurrent, let applied = outcome.applied {
            if link.asking.announced.messages.isEmpty {
                link.asking.written.append((applied.commit, applied.here))
                noteReached(applied.commit, on: link)
            } else {
                noteWrittenBehindAnnounced(applied.commit, here: applied.here, on: link)
            }
            link.asking.hasCaughtUp = true
            link.asking.missing = []
            if outcome.isNew { change(link) { $0.updates += 1 } }
            if outcome.hasRepetition { noteRepetition(on: link) }
        }
        let isComplete = isCurrent && outcome.applied != nil
        noteSetAside(outcome, isComplete: isComplete, on: link)
        settleDisputed(outcome, isComplete: isComplete, on: link)
        noteLacking(outcome, on: link)
        if let error = outcome.error { return fail(link, error) }
        if isCurrent, !outcome.gaps.isEmpty {
            // What was sent whole before would be a delta again, and not fit.
            link.asking.missing.formUnion(outcome.gaps)
            return ask(link, whole: link.asking.missing.sorted(by: <))
        }
        write(link)
        acknowledge(link)
        checkAnnounced(link)
        tellWhatIsNew(link)
        handle(link)
    }

    /// Notes that all is here that the other side has told up to a commit of its.
    func noteReached(_ commit: UInt64, on link: Link) {
        link.asking.reached = commit
        guard let hello = link.session.remote, link.asking.epoch == wishes.epoch, !link.isLimited
        else { return }
        wishes.cursors[hello.peerKey] = (Cursor(log: hello.log, commit: commit), wishes.epoch)
    }

    /// Ends a connection because a step cannot be written; a limited peer is sent no lengths and no values, which may
    /// be those of stored documents.
    private func fail(_ link: Link, _ error: EngineError) {
        if link.isLimited {
            queries.log?.write(
                .warning, "a step of a peer with limited rights cannot be written: \(error)")
        }
        func text(_ short: String) -> String { link.isLimited ? short : "\(error)" }
        switch error {
        case .received, .id, .invalidCollection:
            fail(link, .protocolBroken, text("a step has a document that is not valid"))
        case .clock: fail(link, .refused, text("a step has a time that is not valid"))
        case .limit: fail(link, .limit, text("a step, or a document of it, is too long"))
        case .evaluation(let error) where error.reason == .cancelled:
            fail(link, .done, "the peer stops")
        case .evaluation(let error) where error.reason == .limit:
            fail(
                link, .limit,
                "the rule for what this peer may write cannot be evaluated: \(error.message)")
        default: fail(link, .failed, "the store cannot write")
        }
    }

    /// Acknowledges what is durable.
    func acknowledge(_ link: Link) {
        let durable = news.snapshot.log.commit
        let count = link.asking.written.prefix { $0.here <= durable }.count
        guard count > 0 else { return }
        let commit = link.asking.written[count - 1].commit
        link.asking.written.removeFirst(count)
        link.session.acknowledge(commit: commit, of: link.asking.generation)
        checkAnnounced(link)
        checkRanks(link, through: commit)
    }
}

extension SyncHost.Link {
    /// Whether documents differ for which this side can decide whether the other side refuses them.
    var hasUnsettled: Bool { telling != nil && !asking.unsettled.isEmpty }
}
