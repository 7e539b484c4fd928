import Sheaf
import SheafBytes
import SheafDocument
import SheafEngine
import SheafHubLog
import SheafReplication
import SheafStatements
import SheafStorage
import SheafTestSupport
import Testing

/// Tests of the documents that commits have changed, against a list of all commits.
struct ChangedKeyTests {
    private static let logs = [HubLogID(low: 1, high: 1), HubLogID(low: 2, high: 2)]

    /// A commit of the model.
    private struct Commit {
        let number: UInt64
        let ids: Set<String>
        /// The log from which its documents came; nil for a local commit.
        let log: HubLogID?
    }

    /// A store whose commits are random, and a list of them.
    private final class Simulation {
        let store: SceneStore
        var commits: [Commit] = []
        /// The commit before the first one with documents.
        let first: UInt64
        var recent: RecentCommits
        private var random: SeededRandom

        init(seed: UInt64, _ options: LogStoreOptions = LogStoreOptions()) throws {
            random = SeededRandom(seed: seed, "changed keys")
            store = try SceneStore(SimulatedVolume(seed: seed), options)
            recent = RecentCommits(store.queries.documents)
            first = store.queries.documents.snapshot().log.commit
        }

        var snapshot: DocumentSnapshot { store.queries.documents.snapshot() }

        func key(_ id: String) throws -> [UInt8] {
            let address = DocumentAddress(
                collection: "cars", id: try DocumentID.key(of: .string(id)))
            return try #require(snapshot.key(of: address))
        }

        /// Writes documents of the store, or of a log.
        func write() throws {
            let ids = Set((0...random.below(3)).map { _ in "c\(random.below(6))" })
            let log = random.chance(2, in: 3) ? ChangedKeyTests.logs[random.below(2)] : nil
            let site = Site(rawValue: 99)
            let origin = log.map { _ in
                CommitOrigin(stamp: Stamp(.initial, site), peer: site, commit: 1)
            }
            let isDeletion = random.chance(1, in: 5)
            let engine = store.engine
            let changes = ids.sorted().map { id in
                DocumentChange(
                    "cars", .string(id),
                    isDeletion ? .delete : .insert(["n": 1], onConflict: .merge))
            }
            let known = snapshot.log.commit
            let (number, _) = try store.queries.documents.write(
                from: origin, append: { batch throws(StorageError) in try engine.append(batch) }
            ) { (transaction) throws(EngineError) in
                if let log {
                    let stored = StoredShard(
                        log: log, position: .start, commit: 0, wallMilliseconds: 0)
                    transaction.storedShards = [(number: 0, stored: stored)]
                }
                for change in changes { _ = try transaction.apply(change) }
            }
            try store.flush()
            recent.update(store.queries.documents)
            // A deletion of documents that do not exist makes no commit.
            guard number > known else { return }
            let deleted = isDeletion ? ids.intersection(existing) : ids
            existing = isDeletion ? existing.subtracting(ids) : existing.union(ids)
            commits.append(Commit(number: number, ids: deleted, log: log))
        }

        private var existing: Set<String> = []

        /// The ids of all documents that were written.
        var ids: [String] { commits.reduce(into: Set<String>()) { $0.formUnion($1.ids) }.sorted() }

        /// Returns the commits after one that wrote a document.
        func commits(of id: String, after commit: UInt64) -> [Commit] {
            commits.filter { $0.ids.contains(id) && $0.number > commit }
        }

        /// Returns the documents of commits after one, unless all of them came from a log.
        func unreceived(after commit: UInt64, from log: HubLogID?) -> [String] {
            ids.filter { id in
                commits(of: id, after: commit).contains { found in
                    found.log == nil || (log != nil && found.log != log)
                }
            }
        }
    }

    @Test(arguments: [1, 2] as [UInt64])
    func `the documents of commits are found, without those received from a log`(
        _ seed: UInt64
    ) throws {
        let run = try Simulation(seed: seed)
        for _ in 0..<16 { try run.write() }
        let (snapshot, last) = (run.snapshot, run.snapshot.log.commit)
        for commit in run.first...last {
            let comment = Comment(rawValue: "seed \(seed), after \(commit)")
            for log in [nil, Self.logs[0], Self.logs[1]] {
                let received = run.commits.filter {
                    $0.number > commit && $0.log != nil && (log == nil || $0.log == log)
                }
                #expect(
                    try snapshot.receivedCommits(after: commit, from: log)
                        == Set(received.map(\.number)), comment)
                let expected = try run.unreceived(after: commit, from: log).map { try run.key($0) }
                for end in [LogPosition.none, run.recent.end(of: commit)] {
                    let found = try snapshot.keys(
                        changedAfter: commit, from: end, receivedFrom: log)
                    #expect(found == expected, comment)
                }
            }
            let unstored = try UnstoredDocuments(snapshot, after: commit)
            let expected = run.unreceived(after: commit, from: nil)
            for id in run.ids {
                #expect(try unstored.contains(run.key(id)) == expected.contains(id), comment)
            }
            guard commit > run.first else { continue }
            for end in [commit, min(commit + 3, last)] {
                let inRange = run.commits.filter { $0.number >= commit && $0.number <= end }
                let ids = inRange.reduce(into: Set<String>()) { $0.formUnion($1.ids) }
                #expect(
                    try snapshot.keys(changedBy: commit...end)
                        == Set(ids.map { try run.key($0) }), comment)
            }
        }
    }

    @Test func `for compacted commits, the documents of later ones are found too`() throws {
        var options = LogStoreOptions()
        options.segmentLength = 1_000
        options.history = HistoryHorizon(commits: 4, bytes: .max)
        let run = try Simulation(seed: 3, options)
        for _ in 0..<16 { try run.write() }
        try run.store.compact()
        let (snapshot, last) = (run.snapshot, run.snapshot.log.commit)
        try #require(run.first < snapshot.log.compactedThrough)
        for commit in (run.first + 1)...last {
            let isCompacted = commit <= snapshot.log.compactedThrough
            let ids = run.ids.filter { id in
                let later = run.commits(of: id, after: commit - 1)
                return later.contains { isCompacted || $0.number == commit }
            }
            #expect(
                try snapshot.keys(changedBy: commit...commit)
                    == Set(ids.map { try run.key($0) }), "commit \(commit)")
        }
    }

    @Test func `the commits of a document are found, the newest first or those of this store`()
        throws
    {
        let run = try Simulation(seed: 4)
        for _ in 0..<16 { try run.write() }
        let snapshot = run.snapshot
        let sites = run.store.queries.documents.ownSites
        for id in run.ids {
            let key = try run.key(id)
            let all = run.commits(of: id, after: 0)
            #expect(try snapshot.newestCommit(of: key) == all.last?.number)
            for commit in run.first...snapshot.log.commit {
                let comment = Comment(rawValue: "\(id) after \(commit)")
                let newer = run.commits(of: id, after: commit)
                let earlier = Array(newer.dropLast().map(\.number).reversed())
                for most in [0, 1, earlier.count, 64] {
                    let found = try snapshot.commits(of: key, since: commit, most: most)
                    #expect(found == (earlier.count <= most ? earlier : nil), comment)
                }
                let local = newer.filter { $0.log == nil }.map(\.number)
                #expect(try snapshot.localCommits(of: key, after: commit, sites) == local, comment)
            }
        }
        let unknown = try #require(
            snapshot.key(of: DocumentAddress(collection: "cars", id: [1])))
        #expect(try snapshot.newestCommit(of: unknown) == nil)
        #expect(try snapshot.commits(of: unknown, since: 0, most: 9) == [])
        #expect(try snapshot.localCommits(of: unknown, after: 0, sites) == [])
    }
}
