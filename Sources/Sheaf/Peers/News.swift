import SheafDocument
import SheafStorage

/// What commits have changed lately, commit by commit, and the newest durable state.
struct News {
    struct Commit {
        let number: CommitID
        let changes: [CommitFeed.Change]
    }

    private(set) var snapshot: DocumentSnapshot
    /// Commits in their order, each that changed documents, from behind `start` on.
    private(set) var commits: [Commit] = []
    /// All that changed behind this commit is in `commits`.
    private(set) var start: CommitID
    /// What was taken in since anybody looked.
    var fresh: ArraySlice<Commit> { commits[freshStart...] }
    private var freshStart = 0
    /// The state before what was taken in last, where that is not all in `fresh`.
    private(set) var stateBefore: DocumentSnapshot?
    /// Commits, and where the log ended behind them.
    private var ends: [(commit: CommitID, end: LogPosition)] = []
    /// The last commit that has let go of what was left of deleted documents.
    private(set) var reapedThrough: CommitID = 0

    /// Who is so far behind is told what changed without each commit.
    private static let most = 1_024
    private static let mostChanges = 1 << 16
    private static let mostEnds = 1 << 12

    init(_ engine: DocumentEngine) {
        start = engine.wantPeerFeed(true)
        snapshot = engine.snapshot()
        ends = [(snapshot.log.commit, snapshot.log.end)]
    }

    /// Takes in what has become durable.
    mutating func update(_ engine: DocumentEngine) {
        let before = snapshot
        snapshot = engine.snapshot()
        let commit = snapshot.log.commit
        freshStart = commits.count
        var group: [CommitFeed.Change] = []
        let (changes, untold) = engine.takePeerFeed(through: commit)
        if let untold {
            start = max(start, untold)
            stateBefore = before
        }
        for change in changes {
            if let last = group.last, last.commit != change.commit {
                commits.append(Commit(number: last.commit, changes: group))
                group = []
            }
            group.append(change)
        }
        if let last = group.last { commits.append(Commit(number: last.commit, changes: group)) }
        if ends.last?.commit != commit { ends.append((commit, snapshot.log.end)) }
        if ends.count > Self.mostEnds {
            ends = ends.enumerated().filter { $0.offset % 2 == 0 || $0.offset + 64 > ends.count }
                .map(\.element)
        }
    }

    /// Commits from behind one on; nothing where they are not all known by themselves.
    func commits(after commit: CommitID) -> ArraySlice<Commit>? {
        guard commit >= start else { return nil }
        return commits[(commits.firstIndex { $0.number > commit } ?? commits.endIndex)...]
    }

    /// Where in the log everything lies that was written behind a commit, and perhaps more.
    func end(of commit: CommitID) -> LogPosition {
        ends.last { $0.commit <= commit }?.end ?? .none
    }

    /// Notes that tombstones were taken away.
    mutating func noteReaping(at commit: CommitID) { reapedThrough = max(reapedThrough, commit) }

    /// Forgets commits that nobody has to be told of any more.
    mutating func forget(before commit: CommitID?) {
        var count = commits.prefix { $0.number <= commit ?? snapshot.log.commit }.count
        var changes = commits.dropFirst(count).reduce(0) { $0 + $1.changes.count }
        while commits.count - count > Self.most || changes > Self.mostChanges {
            changes -= commits[count].changes.count
            count += 1
        }
        if count > 0 { start = max(start, commits[count - 1].number) }
        commits.removeFirst(count)
        freshStart = commits.count
        stateBefore = nil
    }
}
