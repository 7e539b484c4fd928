import SheafBytes
import SheafDocument
import SheafEngine
import SheafHubLog
import SheafStatements
import SheafStorage
import SheafSync

/// Groups: the documents that changed in the store, as they are appended to the log.
extension HubFeed {
    /// A document to append.
    typealias Changed = (address: DocumentAddress, key: [UInt8])

    /// Documents to append, as soon as there is room.
    struct Backlog {
        /// The commit before the first one that changed them, and the last one.
        let base: CommitID
        let commit: CommitID
        /// Whether the documents of a shard are one group, because their commits are known.
        let isAtomic: Bool
        /// Whether a group has some of the documents of the first shard.
        var isDivided = false
        /// Whether loaded snapshots lack the documents, whatever commits changed them.
        var areMissing = false
        var shards: [(shard: UInt16, documents: ArraySlice<Changed>)]
        /// The last message of each shard.
        var ends: [(shard: UInt16, sequence: UInt64)] = []
    }

    /// Begins to read the shards, each of which shows its end by a mark of this hub.
    mutating func start(at now: UInt64) {
        openedAt = now
        var ends: [(shard: UInt16, sequence: UInt64)] = []
        for index in shards.indices {
            let shard = shards[index]
            effects.append(.log(.follow(shard.id, from: shard.reader.read + 1)))
            let mark = shards[index].appendMark(base: shipped, at: now)
            effects.append(.log(.append(mark, to: log)))
            ends.append((shard.number, mark.id.sequence))
        }
        // Another hub may not have what the log or its snapshots have of this store.
        rounds.append(HubRound(base: 0, commit: shipped, ends: ends))
    }

    /// Appends the documents that durable commits have changed, as far as there is room.
    ///
    /// Several commits become one group for each shard, and a commit is never divided: readers
    /// apply a group atomically. Documents that came from the log alone are not appended.
    mutating func collect(
        _ recent: RecentCommits, _ queries: QueryEngine, at now: UInt64
    ) throws(EngineError) {
        passReceived(recent)
        guard hasCaughtUp, readAgainAt.map({ $0 <= now }) ?? true else { return }
        // Commits wait until an error has ended: `shipped` and the backlog stay.
        readAgainAt = now + limits.retryNanoseconds
        while shards.allSatisfy({ $0.appender.hasRoom(limits) }) {
            if backlog == nil { beginAgain(recent.snapshot) }
            while backlog == nil, shipped < recent.snapshot.log.commit { try begin(recent) }
            guard var next = backlog else { break }
            try appendNext(&next, recent.snapshot, queries, at: now)
            backlog = next.shards.isEmpty ? nil : next
            if backlog == nil, !next.ends.isEmpty { add(next) }
        }
        readAgainAt = nil
    }

    /// Passes over commits with documents from the log alone.
    private mutating func passReceived(_ recent: RecentCommits) {
        guard backlog == nil, let commits = recent.commits(after: shipped) else { return }
        let next = commits.first { !isReceived($0) }
        shipped = max(shipped, next.map { $0.number - 1 } ?? recent.snapshot.log.commit)
    }

    /// Begins to append documents that no commit has changed.
    private mutating func beginAgain(_ snapshot: DocumentSnapshot) {
        let found = divided(Array(again), snapshot)
        again = []
        guard !found.isEmpty else { return }
        backlog = Backlog(
            base: shipped, commit: shipped, isAtomic: false, areMissing: true,
            shards: found.map { ($0.shard, $0.documents[...]) })
    }

    private func isReceived(_ commit: RecentCommits.Commit) -> Bool {
        commit.changes.first?.connection == nonce
    }

    /// Finds the documents that the commits after `shipped` have changed.
    private mutating func begin(_ recent: RecentCommits) throws(EngineError) {
        var commit = recent.snapshot.log.commit
        let commits = recent.commits(after: shipped).map { all in
            let first = separable(all)
            if let last = first.last, first.endIndex < all.endIndex { commit = last.number }
            return first
        }
        let keys =
            if let commits {
                keys(changedBy: commits)
            } else {
                try recent.snapshot.keys(
                    changedAfter: shipped, from: recent.end(of: shipped),
                    receivedFrom: isNewOfLog ? log : nil)
            }
        let found = divided(keys, recent.snapshot)
        if !found.isEmpty {
            backlog = Backlog(
                base: shipped, commit: commit, isAtomic: commits != nil,
                shards: found.map { ($0.shard, $0.documents[...]) })
        }
        shipped = commit
    }

    /// Returns the first commits, as many as become one group for each shard.
    ///
    /// A group has the present states of its documents. So it ends only where no later commit has
    /// changed a document of it: readers would see that document without the others of the commit.
    private func separable(_ commits: ArraySlice<RecentCommits.Commit>) -> ArraySlice<
        RecentCommits.Commit
    > {
        guard commits.reduce(0, { $0 + $1.changes.count }) > limits.mergedChanges else {
            return commits
        }
        var last: [DocumentKey: Int] = [:]
        for index in commits.indices where !isReceived(commits[index]) {
            for change in commits[index].changes { last[change.key] = index }
        }
        var (count, end) = (0, commits.startIndex)
        for index in commits.indices {
            count += commits[index].changes.count
            if !isReceived(commits[index]) {
                end = commits[index].changes.reduce(end) { max($0, last[$1.key] ?? $0) }
            }
            if count >= limits.mergedChanges, end <= index { return commits[...index] }
        }
        return commits
    }

    /// Appends the next group.
    private mutating func appendNext(
        _ backlog: inout Backlog, _ snapshot: DocumentSnapshot, _ queries: QueryEngine,
        at now: UInt64
    ) throws(EngineError) {
        guard let number = backlog.shards.first?.shard else { return }
        let all = backlog.shards[0].documents
        var documents = all
        let most =
            backlog.isAtomic ? limits.groupLength : min(limits.written, limits.groupLength)
        let payload = try payload(
            &documents, ofLength: most, of: backlog.areMissing ? 0 : backlog.commit, snapshot,
            queries, allowsNone: !backlog.isAtomic || backlog.isDivided)
        // Readers refuse longer groups, so a commit with more documents is not atomic for them.
        let isWhole = backlog.isAtomic && !backlog.isDivided && documents.isEmpty
        if let payload {
            let part = all[..<documents.startIndex]
            append(payload, backlog, part, isWhole: isWhole, to: number, at: now)
        }
        guard documents.isEmpty else {
            backlog.shards[0].documents = documents
            backlog.isDivided = true
            return
        }
        backlog.shards.removeFirst()
        backlog.isDivided = false
        guard payload != nil else { return }
        backlog.ends.append((number, shards[Int(number)].appender.chain.sequence))
    }

    private static func range(
        _ documents: ArraySlice<Changed>
    ) -> ClosedRange<DocumentAddress>? {
        guard let first = documents.first, let last = documents.last else { return nil }
        return first.address...last.address
    }

    private mutating func append(
        _ payload: [UInt8], _ backlog: Backlog, _ part: ArraySlice<Changed>, isWhole: Bool,
        to number: UInt16, at now: UInt64
    ) {
        let addresses = isWhole ? nil : Self.range(part)
        let progress = shards[Int(number)].progress
        let extent = HubMessage.Extent(base: backlog.base, commit: backlog.commit)
        let messages =
            backlog.areMissing
            ? shards[Int(number)].appender.appendMissing(
                payload, backlog.base, through: backlog.commit, addresses, part, progress, at: now)
            : shards[Int(number)].appender.append(payload, extent, addresses, progress, at: now)
        for message in messages { effects.append(.log(.append(message, to: log))) }
    }

    /// Adds the appended groups of a backlog to those that are not hub-durable.
    private mutating func add(_ backlog: Backlog) {
        rounds.append(
            HubRound(
                base: backlog.base, commit: backlog.commit, ends: backlog.ends,
                areMissing: backlog.areMissing))
        guard rounds.count > limits.rounds else { return }
        var merged: [HubRound] = []
        for (index, round) in rounds.enumerated() {
            if index % 2 == 1, let last = merged.popLast() {
                merged.append(last.merged(with: round))
            } else {
                merged.append(round)
            }
        }
        rounds = merged
    }

    /// Returns the keys of the documents that commits have changed.
    private func keys(changedBy commits: ArraySlice<RecentCommits.Commit>) -> [[UInt8]] {
        var found: Set<DocumentKey> = []
        for commit in commits where !isReceived(commit) {
            for change in commit.changes { found.insert(change.key) }
        }
        return found.map(\.bytes)
    }

    /// Appends messages again that are not stored in time; their ids are the same.
    mutating func repeatUnanswered(at now: UInt64) {
        for index in shards.indices {
            for message in shards[index].appender.overdue(at: now, limits) {
                effects.append(.log(.append(message, to: log)))
            }
        }
    }

    // MARK: Encoding

    /// Divides documents by shard, in the order of the shards and then of their addresses.
    func divided(
        _ keys: [[UInt8]], _ snapshot: DocumentSnapshot
    ) -> [(shard: UInt16, documents: [Changed])] {
        var found: [UInt16: [Changed]] = [:]
        for key in keys {
            guard let address = snapshot.address(of: key),
                scopes.allows(address.collection, toServer: true)
            else { continue }
            found[map.shard(of: address), default: []].append((address, key))
        }
        return found.sorted { $0.key < $1.key }
            .map { ($0.key, $0.value.sorted { $0.address < $1.address }) }
    }

    /// Returns the payload of a group, and removes its documents from the list; nil if the store
    /// has none of them any more.
    mutating func payload(
        _ documents: inout ArraySlice<Changed>, ofLength most: Int, of commit: CommitID,
        _ snapshot: DocumentSnapshot, _ queries: QueryEngine, allowsNone: Bool
    ) throws(EngineError) -> [UInt8]? {
        var names = SentNames()
        names.update(from: snapshot.names)
        let known = pausesVersion
        var group = HubGroupWriter(commit: commit, pauses: unreportedPauses(queries))
        var isEmpty = true
        do throws(EngineError) {
            while isEmpty || group.expandedLength < most,
                let (address, key) = documents.popFirst()
            {
                // The scopes may have changed since the document was found.
                guard scopes.allows(address.collection, toServer: true),
                    let document = try snapshot.document(key), !document.isRemnant
                else { continue }
                let bytes = try onDocument(key) { () throws(Malformed) in
                    try document.read { (bytes) throws(Malformed) in
                        try names.encoded(try EncodedDocument(bytes), &group)
                    }
                }
                let unproven = try document.read { (bytes) throws(EngineError) in
                    try snapshot.unprovenTokens(in: bytes, of: key, queries.documents)
                }
                bytes.withUnsafeBytes { group.add(address, $0, unproven: unproven) }
                isEmpty = false
            }
        } catch {
            pausesVersion = known
            throw error
        }
        guard !isEmpty || allowsNone else {
            pausesVersion = known
            return nil
        }
        return group.finish()
    }

    /// Returns the pauses of sites that the last group did not have.
    private mutating func unreportedPauses(_ queries: QueryEngine) -> [SitePauses] {
        guard let (version, all) = queries.documents.pauses(since: pausesVersion) else { return [] }
        pausesVersion = version
        return Array(all.sorted { $0.site < $1.site }.prefix(HubLimits.pausedSites))
    }
}

extension HubFeed.Backlog {
    /// The documents that shards loaded from snapshots must append first; nil if there are none.
    init?(
        missing loaded: [UInt16: LoadedShard], of snapshot: DocumentSnapshot, at commit: CommitID
    ) {
        shards = []
        for (number, loaded) in loaded.sorted(by: { $0.key < $1.key }) {
            var documents: [HubFeed.Changed] = []
            for address in loaded.missing {
                guard let key = snapshot.key(of: address) else { continue }
                documents.append((address: address, key: key))
            }
            if !documents.isEmpty { shards.append((number, documents[...])) }
        }
        guard !shards.isEmpty else { return nil }
        (base, self.commit, isAtomic, areMissing) = (0, commit, false, true)
    }
}

extension HubGroupWriter: NameTeacher {
    mutating func teach(_ name: [UInt8]) -> Bool { number(name) != nil }
}
