import SheafBytes
package import SheafDocument
package import SheafEngine
package import SheafHubLog
import SheafQuery
import SheafStatements
import SheafStorage
import SheafSync

/// The documents that a hub appends to the hub log, and those that it reads from the log.
///
/// A machine beside the connections, without effects of its own: what changed in the store becomes
/// messages, and complete groups of other hubs become batches to write. `Replicator+Hub` passes its
/// events and performs its effects.
struct HubFeed {
    /// An action that the replicator performs after an event.
    enum Effect {
        /// Requests something of the log.
        case log(HubEffect)
        /// Writes received groups; `finish` gets the outcome.
        case write([PreparedStep], from: Site)
        /// Writes the progress in shards; `finish` gets the outcome.
        case save([(number: UInt16, stored: StoredShard)])
        /// The pauses of a site, which precede documents.
        case pauses(SitePauses)
        /// The shard contradicts what this hub or another one has read.
        case incident(ShardIncident, shard: UInt16, isOwn: Bool)
        /// A deviation in the log without consequences.
        case fault(ShardFault, shard: UInt16)
        /// This hub cannot read the documents of a group, and reads no later ones of the shard.
        case unreadableGroup(ShardGroup, String, shard: UInt16)
        /// More commits may be acknowledged.
        case advanced
        /// Another hub has sent records of peers.
        case presence(PresenceMessage)
    }

    /// The number that write jobs and commits of the feed have in place of a connection's.
    static let connection = UInt64.max

    /// The identity of the log, and this author in it.
    let log: HubLogID
    let author: HubAuthor
    /// The key of this peer.
    let key: [UInt8]
    /// The random number that commits of the feed have in place of a connection's.
    let nonce: UInt64
    let map: ShardMap
    let limits: HubFeedLimits
    /// The collections that are not shared with servers are not appended.
    private(set) var scopes: SyncScopes
    /// The versions of messages that the program reads.
    let versions: ClosedRange<UInt8>
    var shards: [FedShard]
    /// The commit up to which the documents of this store are in groups.
    var shipped: CommitID
    /// Whether the store was not one of this log, so that it has documents of another one.
    let isNewOfLog: Bool
    /// Appended groups that are not hub-durable, in the order of their commits.
    var rounds: [HubRound] = []
    /// The other hubs, by author.
    var hubs: [HubAuthor: OtherHub] = [:]
    /// The shard whose groups are written next, if they are complete.
    var nextWritten = 0
    /// Documents to append as soon as there is room; nil if there are none.
    var backlog: Backlog?
    /// The keys of documents to append again, although no commit has changed them.
    var again: Set<[UInt8]> = []
    /// When documents that could not be read are read again; nil if there are none.
    var readAgainAt: UInt64?
    /// The version of the pauses that were last appended.
    var pausesVersion: DocumentEngine.PausesVersion?
    /// When this hub began to listen to others.
    var openedAt: UInt64 = 0
    /// The time of the last beat, and whether more is stored since.
    var lastBeat: UInt64 = 0
    var isBeatDue = true
    /// Whether this hub is draining: others no longer wait for it.
    var isDraining = false
    /// Whether clients should use this hub, as far as the program that runs it knows.
    var servesClients = true
    /// Number of faults by `ShardFault.name`, and of malformed broadcasts.
    var faults: [String: UInt64] = [:]
    /// Messages of this author that other hubs lack.
    var lost: [LostMessages] = []
    /// The time of the last tick.
    var lastTick: UInt64 = 0
    /// Whether a job writes the progress in shards, and the time of the last one.
    var isSaving = false
    var lastSave: UInt64 = 0
    /// Whether the progress must be written although no entries were read.
    var isSaveDue = false
    /// The number of connected peers, for other hubs.
    var clientCount = 0
    var effects = EffectQueue<Effect>()

    /// Creates a feed that continues at the positions in the store.
    init(
        _ configuration: HubFeedConfiguration, from snapshot: DocumentSnapshot,
        _ scopes: SyncScopes, site: Site, key: [UInt8], nonce: UInt64,
        _ wallMilliseconds: UInt64
    ) throws(EngineError) {
        self.scopes = scopes
        log = configuration.log
        author = HubAuthor(site: site, opening: nonce)
        (self.nonce, self.key) = (nonce, key)
        map = configuration.map
        (limits, versions) = (configuration.limits, configuration.versions)
        shards = []
        var stored = snapshot.log.commit
        for number in 0..<UInt16(clamping: configuration.map.shardCount) {
            if let loaded = configuration.loaded[number] {
                shards.append(
                    FedShard(
                        number, of: configuration.log, author, loaded, configuration.limits.reader))
                stored = min(stored, loaded.commit)
                continue
            }
            let known = try snapshot.storedShard(number)
            let isSame = known?.log == configuration.log
            // A copy of the store may lack commits that its original had.
            let commit = isSame ? min(known?.commit ?? 0, snapshot.log.commit) : 0
            shards.append(
                FedShard(
                    number, of: configuration.log, author,
                    at: isSame ? known?.position ?? .start : .start, storedThrough: commit,
                    currentAt: isSame ? known?.wallMilliseconds ?? 0 : wallMilliseconds,
                    configuration.limits.reader))
            stored = min(stored, commit)
        }
        shipped = stored
        isNewOfLog = stored == 0 && configuration.loaded.isEmpty
        backlog = Backlog(missing: configuration.loaded, of: snapshot, at: stored)
        // Nothing is missing any more if the store has none of the documents.
        for index in shards.indices where shards[index].kept != nil {
            guard backlog?.shards.contains(where: { $0.shard == shards[index].number }) != true
            else { continue }
            (shards[index].kept, isSaveDue) = (nil, true)
        }
    }

    /// Runs an event.
    mutating func run(_ event: (inout HubFeed) throws(EngineError) -> Void) throws(EngineError) {
        try event(&self)
    }

    /// The local commit up to which all commits are hub-durable.
    func hubDurable(at now: UInt64) -> CommitID {
        rounds.first { !isHubDurable($0, at: now) }?.base ?? backlog?.base ?? shipped
    }

    /// Applies changed sharing scopes.
    mutating func apply(_ new: SyncScopes) {
        let isWider = new.isWiderForServers(than: scopes)
        scopes = new
        guard isWider else { return }
        // The commits before may have documents that are shared only now.
        (shipped, isSaveDue) = (0, true)
        // Documents that a loaded snapshot lacks may be in no later commit.
        if backlog?.areMissing != true { backlog = nil }
    }

    /// Whether the store has all that was in the log when this hub began to read it.
    var hasCaughtUp: Bool { shards.allSatisfy(\.hasCaughtUp) }
}

/// The documents of some commits, in the groups of one or more shards.
struct HubRound {
    /// The commit before the first one, and the last one.
    let base: CommitID
    let commit: CommitID
    /// The last sequence of each group.
    let ends: [(shard: UInt16, sequence: UInt64)]
    /// Whether it has the documents that loaded snapshots lack.
    var areMissing = false

    /// Returns a round for the documents of this one and of the next one.
    func merged(with next: HubRound) -> HubRound {
        let earlier = ends.filter { end in !next.ends.contains { $0.shard == end.shard } }
        return HubRound(
            base: base, commit: next.commit, ends: earlier + next.ends,
            areMissing: areMissing || next.areMissing)
    }
}

/// Messages of this author that another hub lacks.
struct LostMessages {
    let shard: UInt16
    let ranges: [ClosedRange<UInt64>]
}

/// Another hub, as its beats show it.
package struct OtherHub {
    package let key: [UInt8]
    /// When its last beat arrived.
    package var lastBeat: UInt64
    package var isDraining: Bool
    /// The entries up to which it has read and stored each shard, as last reported.
    package var shards: [UInt16: ShardProgress] = [:]
    /// The first report after the last compared one, whose digest is compared once this hub has
    /// read as far.
    ///
    /// A hub that lags reaches no newest report while entries arrive, but each earlier one.
    private var unread: [UInt16: ShardProgress] = [:]
    /// The entries that it has stored, in shards where this hub has computed the same digest.
    package private(set) var confirmed: [UInt16: UInt64] = [:]

    package init(key: [UInt8], lastBeat: UInt64, isDraining: Bool) {
        (self.key, self.lastBeat, self.isDraining) = (key, lastBeat, isDraining)
    }

    /// Whether commits wait for it.
    package func isLive(at now: UInt64, _ limits: HubFeedLimits) -> Bool {
        !isDraining && now < lastBeat + limits.liveNanoseconds
    }

    /// Compares its digests of a shard, as far as this hub has read the shard.
    package mutating func confirm(_ number: UInt16, _ reader: ShardReader) {
        if let progress = unread[number] {
            guard progress.read <= reader.read else { return }
            unread[number] = nil
            compare(progress, of: number, reader)
        }
        guard let progress = shards[number] else { return }
        guard progress.read <= reader.read else {
            unread[number] = progress
            return
        }
        compare(progress, of: number, reader)
    }

    private mutating func compare(
        _ progress: ShardProgress, of number: UInt16, _ reader: ShardReader
    ) {
        guard progress.stored > confirmed[number] ?? 0,
            reader.digest(at: progress.read) == progress.digest
        else { return }
        confirmed[number] = progress.stored
    }
}

/// How much a feed keeps in flight, and how long it waits.
package struct HubFeedLimits: Sendable {
    /// Number of messages that are appended to a shard and not stored.
    package var messagesInFlight = 16
    /// Number of their bytes.
    package var bytesInFlight = 4 << 20
    /// Number of document bytes of a job that writes groups, and of a group without a commit.
    package var written = 4 << 20
    /// Number of changes of commits that become one group, if the documents of several of them
    /// need not be in one.
    package var mergedChanges = 4_096
    /// Number of bytes of documents of clients that are not hub-durable; beyond it, clients get
    /// no credit.
    package var pendingBytes = 64 << 20
    /// Expanded length of a group; documents beyond it are in other groups.
    package var groupLength = 256 << 20
    /// Expanded length of a group that replaces lost messages; more than `groupLength`, since its
    /// documents may have become longer.
    package var replacedLength = HubLimits.groupLength - (64 << 20)
    /// Number of rounds that are not hub-durable; beyond it, they are merged.
    package var rounds = 4_096
    /// After this time without a beat, a hub is not live.
    package var liveNanoseconds: UInt64 = 10_000_000_000
    /// Time after the opening before this hub may count as the only one.
    package var listenNanoseconds: UInt64 = 2_000_000_000
    /// Time between two beats.
    package var beatNanoseconds: UInt64 = 1_000_000_000
    /// Least time between two beats, if more is stored.
    package var fastBeatNanoseconds: UInt64 = 5_000_000
    /// After this time, a message that is not stored is appended again.
    package var answerNanoseconds: UInt64 = 3_000_000_000
    /// After this time, a message that the engine has lost is replaced, and not again before it.
    package var needNanoseconds: UInt64 = 5_000_000_000
    /// Time between two requests for the same entries.
    package var rereadNanoseconds: UInt64 = 1_000_000_000
    /// Time after which documents that could not be written, or read, are tried again.
    package var retryNanoseconds: UInt64 = 1_000_000_000
    /// The limits of the readers of shards.
    package var reader = ShardReader.Limits()
    /// Time without another message after which a mark shows that the store has all entries.
    package var markNanoseconds: UInt64 = 3_600_000_000_000
    /// Least time between two commits that have only the progress in shards.
    package var saveNanoseconds: UInt64 = 1_000_000_000

    package init() {}
}

/// The hub log that a peer shares with others.
package struct HubFeedConfiguration: Sendable {
    package let log: HubLogID
    package let map: ShardMap
    package var limits = HubFeedLimits()
    /// The versions of messages that the program reads, for other hubs.
    package var versions = HubMessage.version...HubMessage.version
    /// The random number of the opening; nil to draw one.
    package var opening: UInt64?
    /// The shards whose documents were loaded from a snapshot.
    package var loaded: [UInt16: LoadedShard] = [:]

    package init(log: HubLogID, map: ShardMap) {
        self.log = log
        self.map = map
    }
}

extension DocumentSnapshot {
    /// Returns the progress of the store in a shard; nil if it has none.
    package func storedShard(_ number: UInt16) throws(EngineError) -> StoredShard? {
        let key = StoreKey.storedShard(number).bytes
        let payload = try onStorage { () throws(StorageError) in
            try key.span.withUnsafeBytes { (key) throws(StorageError) in
                try log.payload(of: key).map { Array($0) }
            }
        }
        guard let payload else { return nil }
        return try onDocument(key) { () throws(Malformed) in
            try payload.span.withUnsafeBytes { (bytes) throws(Malformed) in
                try StoredShard(decoding: bytes)
            }
        }
    }
}
