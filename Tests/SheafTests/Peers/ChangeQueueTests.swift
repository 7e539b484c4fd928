import Sheaf
import SheafDocument
import SheafEngine
import SheafReplication
import SheafStatements
import SheafStorage
import SheafSync
import SheafTestSupport
import Testing

/// Tests of the changes that wait for a peer, against arrays.
struct ChangeQueueTests {
    // MARK: Changes for a peer with limited rights

    /// The same changes as arrays and dictionaries that are searched.
    private struct Model {
        struct Waiting {
            let key: [UInt8]
            let beforeLength: Int
        }

        var waiting: [Waiting] = []
        var hasMatched: [[UInt8]: Bool] = [:]
        var isOnlyFromPeer: [[UInt8]: Bool] = [:]

        /// Each key counts its bytes and 64 more; a former state counts in addition.
        var length: Int {
            waiting.reduce(0) { $0 + $1.key.count + 64 + $1.beforeLength }
                + hasMatched.keys.reduce(0) { $0 + $1.count + 64 }
        }
    }

    private func expectSame(_ changes: LimitedChanges, _ model: Model, _ step: String) {
        #expect(changes.count == model.waiting.count + model.hasMatched.count, "\(step)")
        #expect(changes.isEmpty == (model.waiting.isEmpty && model.hasMatched.isEmpty), "\(step)")
        #expect(changes.length == model.length, "\(step)")
        #expect(changes.first?.key == model.waiting.first?.key, "\(step)")
        #expect(changes.changed.mapValues(\.hasMatched) == model.hasMatched, "\(step)")
        #expect(changes.changed.mapValues(\.isOnlyFromPeer) == model.isOnlyFromPeer, "\(step)")
    }

    @Test func `changes are counted until the queries are evaluated and a batch begins`() {
        let seed: UInt64 = 3
        var random = SeededRandom(seed: seed, "changes")
        var (changes, model) = (LimitedChanges(), Model())
        for step in 0..<250 {
            let key = [UInt8](repeating: UInt8(random.below(6)), count: 1 + random.below(2))
            switch random.below(10) {
            case 0..<5:
                let isFromPeer = random.chance(1, in: 2)
                let length = random.below(100)
                changes.add(
                    LimitedChanges.Incoming(
                        key: key, address: DocumentAddress(collection: "cars", id: key),
                        before: nil, isFromPeer: isFromPeer, beforeLength: length))
                if model.hasMatched[key] != true {
                    model.waiting.append(Model.Waiting(key: key, beforeLength: length))
                } else if !isFromPeer {
                    model.isOnlyFromPeer[key] = false
                }
            case 5..<7:
                changes.removeFirst()
                if !model.waiting.isEmpty { model.waiting.removeFirst() }
            case 7..<9:
                var change = LimitedChanges.Change()
                #expect(!change.hasMatched && change.isOnlyFromPeer)
                change.hasMatched = random.chance(1, in: 2)
                change.isOnlyFromPeer = random.chance(1, in: 2)
                changes.set(change, for: key)
                model.hasMatched[key] = change.hasMatched
                model.isOnlyFromPeer[key] = change.isOnlyFromPeer
            default:
                guard random.chance(1, in: 3) else { break }
                let taken = changes.drainChanged()
                #expect(taken == model.hasMatched.keys.reduce(0) { $0 + $1.count + 64 })
                (model.hasMatched, model.isOnlyFromPeer) = ([:], [:])
            }
            expectSame(changes, model, "seed \(seed), step \(step)")
        }
    }

    // MARK: Recent commits

    private func insert(_ ids: [String], into store: SceneStore) throws -> UInt64 {
        try store.change(
            ids.map { DocumentChange("cars", .string($0), .insert(["n": 1], onConflict: .merge)) })
        return store.queries.documents.snapshot().log.commit
    }

    @Test func `the commits after each commit are found, as far as they are kept`() throws {
        let store = try SceneStore(SimulatedVolume(seed: 1), LogStoreOptions())
        let documents = store.queries.documents
        let before = try insert(["a"], into: store)
        var recent = RecentCommits(documents)
        #expect(recent.start == before && recent.commits.isEmpty && recent.fresh.isEmpty)
        var numbers: [UInt64] = []
        for ids in [["b"], ["c", "d"], ["h"], ["e"], ["f"]] {
            numbers.append(try insert(ids, into: store))
        }
        recent.update(documents)
        #expect(recent.commits.map(\.number) == numbers)
        #expect(recent.commits.map(\.changes.count) == [1, 2, 1, 1, 1])
        #expect(recent.fresh.map(\.number) == numbers)
        func found(after commit: UInt64) -> [UInt64]? {
            recent.commits(after: commit).map { $0.map(\.number) }
        }
        for commit in before...numbers[4] + 1 {
            #expect(found(after: commit) == numbers.filter { $0 > commit }, "after \(commit)")
        }
        #expect(found(after: before - 1) == nil)
        let later = try insert(["g"], into: store)
        recent.update(documents)
        #expect(recent.fresh.map(\.number) == [later])
        recent.update(documents)
        #expect(recent.fresh.isEmpty && recent.commits.count == 6)
        recent.discard(before: numbers[1])
        #expect(recent.start == numbers[1])
        #expect(recent.commits.map(\.number) == Array(numbers[2...]) + [later])
        #expect(found(after: numbers[1]) == Array(numbers[2...]) + [later])
        #expect(found(after: numbers[1] - 1) == nil)
        recent.discard(before: numbers[0])
        #expect(recent.start == numbers[1] && recent.commits.count == 4)
        recent.discard(before: nil)
        #expect(recent.start == later && recent.commits.isEmpty && recent.fresh.isEmpty)
        #expect(found(after: later) == [] && found(after: later - 1) == nil)
    }

    @Test func `the end of the log after a commit is that of the last one that was seen`() throws {
        let store = try SceneStore(SimulatedVolume(seed: 1), LogStoreOptions())
        let documents = store.queries.documents
        let first = try insert(["a"], into: store)
        var recent = RecentCommits(documents)
        var ends = [(commit: first, end: documents.snapshot().log.end)]
        for number in 0..<6 {
            let commit = try insert(["b\(number)"], into: store)
            guard number % 2 == 0 else { continue }
            recent.update(documents)
            recent.update(documents)
            ends.append((commit: commit, end: documents.snapshot().log.end))
        }
        #expect(recent.end(of: first - 1) == LogPosition.none)
        for commit in first...first + 7 {
            let expected = ends.last { $0.commit <= commit }
            #expect(recent.end(of: commit) == expected?.end, "after \(commit)")
        }
    }

    @Test func `the last commit that collected tombstones is kept`() throws {
        let store = try SceneStore(SimulatedVolume(seed: 1), LogStoreOptions())
        var recent = RecentCommits(store.queries.documents)
        #expect(recent.collectedThrough == 0)
        for commit: UInt64 in [5, 9, 7] { recent.recordCollection(at: commit) }
        #expect(recent.collectedThrough == 9)
    }

    // MARK: Progress

    @Test func `the progress of a first sync counts down to nothing, or only up`() {
        var known = SyncProgress(of: 5)
        #expect(known.documents == 0 && known.remaining == 5 && known.sentNumber == 5)
        known.advance(by: 2)
        #expect(known.documents == 2 && known.remaining == 3 && known.sentNumber == 3)
        // More documents may follow than were counted, so the peer expects one at least.
        known.advance(by: 4)
        #expect(known.documents == 6 && known.remaining == 0 && known.sentNumber == 1)
        var unknown = SyncProgress(of: nil)
        unknown.advance(by: 3)
        #expect(unknown.documents == 3 && unknown.remaining == nil && unknown.sentNumber == 0)
        #expect(Value.progress(nil) == Value.null)
        #expect(Value.progress(known) == ["documents": 6, "remaining": 0])
    }
}
