import SheafDocument
import SheafQuery
import SheafStorage

/// Decides who hears what: it is told of new observers, of commits and of time, and returns results.
///
/// One thread works on it; it has no lock, and calls nobody.
struct ObserverSchedule {
    /// A result for somebody.
    struct Delivery {
        let observer: Observer
        let outcome: Observer.Outcome
    }

    private let queries: QueryEngine
    private var index = ObserverIndex()
    private var lives: [UInt64: LiveResult] = [:]
    /// Those who watch what no commit tells of.
    private var systemLives: [LiveResult] = []
    /// Those who may have missed something before they began.
    private var late: [LiveResult] = []
    /// The files of the state that was looked at last.
    private var table: SegmentTable?
    private var nextTick: UInt64?

    init(_ queries: QueryEngine) {
        self.queries = queries
    }

    var isEmpty: Bool { lives.isEmpty }

    /// When somebody wants to be told, whatever happens.
    var deadline: UInt64? { nextTick }

    // MARK: Events

    /// Adds observers, and returns their first results.
    mutating func add(_ new: [LiveResult], _ reader: SnapshotReader) -> [Delivery] {
        for live in new {
            lives[live.observer.number] = live
            index.add(live)
            if case .system = live.watch { systemLives.append(live) }
            if live.missedThrough > reader.snapshot.log.commit { late.append(live) }
        }
        return results(new, reader, always: true)
    }

    /// Forgets observers.
    mutating func remove(_ numbers: [UInt64]) {
        for number in numbers {
            guard let live = lives.removeValue(forKey: number) else { continue }
            index.remove(live)
            systemLives.removeAll { $0 === live }
            late.removeAll { $0 === live }
        }
        if systemLives.isEmpty { nextTick = nil }
    }

    /// Takes in what commits have changed up to the state of a reader; returns what came of it.
    mutating func take(_ changes: [CommitFeed.Change], _ reader: SnapshotReader) -> [Delivery] {
        var concerned: [LiveResult] = []
        func list(_ live: LiveResult) {
            guard !live.isListed else { return }
            live.isListed = true
            concerned.append(live)
        }
        for change in changes { take(change, reader, list) }
        let commit = reader.snapshot.log.commit
        for live in late where live.missedThrough <= commit {
            live.isStale = true
            list(live)
        }
        late.removeAll { $0.missedThrough <= commit }
        noteFiles(reader, list)
        return results(concerned, reader)
    }

    private func take(
        _ change: CommitFeed.Change, _ reader: SnapshotReader, _ list: (LiveResult) -> Void
    ) {
        let directory = reader.snapshot.directory
        guard let number = change.key.span.withUnsafeBytes({ StoreKey.collection(ofDocument: $0) }),
            let collection = directory.collectionName(number), !index.isEmpty(collection)
        else { return }
        let id = change.key[StoreKey.documentPrefixLength...]
        reader.withImages(of: change) { images in
            index.forEachCandidate(collection, images, id: id, reader.names) { live in
                live.knownNames = reader.names.count
                let isConcerned = live.take(images) { live in
                    queries.run(live.statement, live.arguments, queries.parameters, on: reader)
                }
                if isConcerned { list(live) }
            }
        }
    }

    /// Where compaction has taken files away, rows that lie in them are read again: bytes that are
    /// held would keep the room on the disk.
    private mutating func noteFiles(_ reader: SnapshotReader, _ list: (LiveResult) -> Void) {
        let new = reader.snapshot.log.segments
        defer { table = new }
        guard let table, !new.holds(table) else { return }
        for live in lives.values where live.hasLost(new) {
            live.isStale = true
            list(live)
        }
    }

    /// The results of those who are told from time to time, if it is time.
    mutating func tick(_ now: UInt64, _ reader: () -> SnapshotReader) -> [Delivery] {
        guard !systemLives.isEmpty else { return [] }
        guard let due = nextTick, due <= now else {
            if nextTick == nil { nextTick = now + interval }
            return []
        }
        nextTick = now + interval
        for live in systemLives { live.isStale = true }
        return results(systemLives, reader(), always: true)
    }

    private var interval: UInt64 {
        UInt64(queries.parameters.values.systemRefreshMilliseconds) * 1_000_000
    }

    // MARK: Results

    private mutating func results(
        _ lives: [LiveResult], _ reader: SnapshotReader, always: Bool = false
    ) -> [Delivery] {
        var deliveries: [Delivery] = []
        for live in lives {
            live.isListed = false
            do throws(QueryError) {
                let run = queries.run(
                    live.statement, live.arguments, queries.parameters, on: reader)
                let result = try live.result(of: run, reader, always: always)
                if let result {
                    deliveries.append(
                        Delivery(observer: live.observer, outcome: .success(result)))
                }
            } catch {
                live.isStale = true
                deliveries.append(
                    Delivery(observer: live.observer, outcome: .failure(StoreError(error))))
            }
        }
        return deliveries
    }
}
