import SheafBytes
import SheafDocument
package import SheafQuery
import SheafStorage
import SheafSync

/// What this peer wants of others.
extension SyncHost {
    /// What this peer subscribes to.
    struct Wishes {
        var queries: [SubscribedQuery] = []
        var matcher: SubscriptionMatcher?
        /// Counts what makes what was said of cursors before untrue: subscriptions that are wider, and
        /// documents that were taken away here.
        var epoch: UInt64 = 0
        /// How far this peer has what others have, by their keys.
        var cursors: [[UInt8]: (cursor: Cursor, epoch: UInt64)] = [:]
    }

    /// What is asked on one connection.
    struct Asking {
        var generation: UInt64 = 0
        var epoch: UInt64 = 0
        /// Steps that wait until those before them are written.
        var waiting: [ShippedStep] = []
        var isWriting = false
        /// What is durable here is to be acknowledged: their commit, and the one here.
        var written: [(commit: UInt64, here: CommitID)] = []
        var acknowledged: UInt64 = 0
    }

    /// Subscribes to something else from now on.
    package func subscribe(_ queries: [SubscriptionQuery]) throws(QueryError) {
        var wire: [SubscribedQuery] = []
        for query in queries {
            let query = try query.wire
            if !wire.contains(query) { wire.append(query) }
        }
        let isWider = !wire.allSatisfy { wishes.queries.contains($0) }
        guard wire != wishes.queries else { return }
        wishes.queries = wire
        wishes.matcher = SubscriptionMatcher(queries, self.queries)
        if isWider { wishes.epoch += 1 }
        for link in allLinks where link.session.isOpen { ask(link) }
    }

    /// Documents were taken away here: where they match, they are wanted again.
    func noteEvictions() {
        var isConcerned = false
        for commit in news.fresh {
            for change in commit.changes where change.origin == nil {
                guard let before = change.before, isGone(change.key.bytes) else { continue }
                if before.isTombstone {
                    news.noteReaping(at: commit.number)
                } else if let address = news.snapshot.address(of: change.key.bytes),
                    wishes.matcher?.asks(for: address.collection) ?? false
                {
                    isConcerned = true
                }
            }
        }
        guard isConcerned else { return }
        wishes.epoch += 1
        for link in allLinks where link.session.isOpen { ask(link) }
    }

    private func isGone(_ key: [UInt8]) -> Bool {
        key.span.withUnsafeBytes { news.snapshot.log.place(of: $0) } == nil
    }

    /// Asks for what this peer subscribes to.
    func ask(_ link: Link, whole: [DocumentAddress] = []) {
        guard let hello = link.session.remote, link.session.isOpen else { return }
        // Who wants nothing, and wanted nothing, need not say so.
        guard !wishes.queries.isEmpty || link.asking.generation > 0 else { return }
        var cursor: Cursor?
        if let known = wishes.cursors[hello.peerKey], known.epoch == wishes.epoch,
            known.cursor.log == hello.log
        {
            cursor = known.cursor
        }
        link.asking.generation += 1
        link.asking.epoch = wishes.epoch
        link.asking.waiting = []
        link.session.subscribe(
            Subscribe(
                generation: link.asking.generation, wishes.queries,
                at: news.snapshot.log.commit, from: cursor,
                whole: cursor == nil ? [] : whole))
        handle(link)
    }

    func listOwn(_ link: Link, _ generation: UInt64) {
        guard generation == link.asking.generation, let matcher = wishes.matcher else { return }
        do throws(EngineError) {
            link.session.compare(with: try news.snapshot.versions(matching: matcher))
        } catch {
            fail(link, .failed, "\(error)")
        }
    }

    /// Has a step written, behind those that came before it.
    func apply(_ step: ShippedStep, from link: Link) {
        guard step.generation == link.asking.generation else {
            link.session.grant(step.length)
            return
        }
        link.asking.waiting.append(step)
        write(link)
    }

    private func write(_ link: Link) {
        guard !link.asking.isWriting, !link.asking.waiting.isEmpty, let hello = link.session.remote
        else { return }
        link.asking.isWriting = true
        emit(.write(WriteJob(link: link.number, steps: link.asking.waiting, peer: hello.site)))
        link.asking.waiting = []
    }

    /// Takes in what became of a job.
    package func noteWritten(_ outcome: WriteJob.Outcome) {
        guard let link = links[outcome.link], let hello = link.session.remote else { return }
        link.asking.isWriting = false
        link.session.grant(outcome.length)
        correct(outcome.known, on: link)
        if outcome.generation == link.asking.generation, let applied = outcome.applied {
            link.asking.written.append((applied.commit, applied.here))
            if link.asking.epoch == wishes.epoch {
                let cursor = Cursor(log: hello.log, commit: applied.commit)
                wishes.cursors[hello.peerKey] = (cursor, wishes.epoch)
            }
            change(link) { $0.updates += 1 }
        }
        if let error = outcome.error { return fail(link, error) }
        if outcome.generation == link.asking.generation, !outcome.gaps.isEmpty {
            return ask(link, whole: outcome.gaps)
        }
        write(link)
        acknowledge(link)
        tell(link)
        handle(link)
    }

    private func fail(_ link: Link, _ error: EngineError) {
        switch error {
        case .received, .id, .invalidCollection: fail(link, .protocolBroken, "\(error)")
        case .clock: fail(link, .refused, "\(error)")
        case .limit: fail(link, .limit, "\(error)")
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
    }
}
