import SheafBytes
package import SheafDocument
import SheafEngine
package import SheafQuery
package import SheafStatements
package import SheafStorage
import SheafSystem

/// An observer that has not received its first result.
package struct NewObserver: Sendable {
    package let observer: ObserverRegistration
    let statement: Statement
    let arguments: ArgumentValues
    let missedThrough: CommitID

    /// Creates a new observer that may have missed changes up to `missedThrough`.
    package init(
        _ observer: ObserverRegistration, _ statement: Statement, _ arguments: ArgumentValues,
        missedThrough: CommitID
    ) {
        self.observer = observer
        self.statement = statement
        self.arguments = arguments
        self.missedThrough = missedThrough
    }
}

/// The results of all observers: turns new observers, commits and time into deliveries.
///
/// A state machine, used by one thread at a time: it takes no locks and calls no callbacks.
package struct ObserverSchedule {
    /// A result for an observer.
    package struct Delivery {
        package let observer: ObserverRegistration
        package let outcome: Result<QueryResult, StoreError>
    }

    /// The numbers of results by the way in which they were computed.
    package struct Tally {
        /// Results updated from document changes.
        package fileprivate(set) var maintained = 0
        /// Results for which the statement was run.
        package fileprivate(set) var rerun = 0
    }

    package private(set) var tally = Tally()
    private let queries: QueryEngine
    private var index = ObserverIndex()
    private var observedResults: [UInt64: ObservedResult] = [:]
    /// Results that read system collections, whose changes are not part of commits.
    private var systemResults: [ObservedResult] = []
    /// Results that may lack changes published before they were added.
    private var late: [ObservedResult] = []
    /// Results whose statement failed; it runs again on the next snapshot.
    private var failing: [ObservedResult] = []
    /// Results whose statement must run again, since parameters that affect it have changed.
    private var changed: [ObservedResult] = []
    /// The segment table of the snapshot dispatched last.
    private var table: SegmentTable?
    private var nextTick: UInt64?
    /// The parameters of all statements at the last dispatch.
    private var parameters: SharedParameters

    package init(_ queries: QueryEngine) {
        self.queries = queries
        parameters = queries.parameters
    }

    /// The time of the next periodic delivery.
    package var deadline: UInt64? { nextTick }

    // MARK: Events

    /// Applies all durable changes, then adds new observers; returns the new results.
    package mutating func dispatch(adding newObservers: [NewObserver] = []) -> [Delivery] {
        let old = parameters
        parameters = queries.parameters
        let reader = queries.reader(parameters)
        applyParameters(old.values, reader)
        let changes = queries.source.drainFeed(through: reader.snapshot.log.commit)
        if changes == nil {
            changed = Array(observedResults.values)
            for live in changed { live.isStale = true }
        }
        // Only new observers justify the copy, which retains all deliveries again.
        var deliveries = apply(changes ?? [], reader)
        if !newObservers.isEmpty { deliveries += add(newObservers, reader) }
        return deliveries
    }

    /// Adds observers, and returns their first results.
    private mutating func add(_ newObservers: [NewObserver], _ reader: SnapshotReader) -> [Delivery]
    {
        var new: [ObservedResult] = []
        for newObserver in newObservers where !newObserver.observer.isCancelled {
            let run = queries.makeRun(
                newObserver.statement, newObserver.arguments, parameters, on: reader, isTimed: false
            )
            new.append(ObservedResult(newObserver, run))
        }
        for live in new {
            observedResults[live.observer.number] = live
            index.add(live)
            if case .system = live.observedChanges { systemResults.append(live) }
            if live.missedThrough > reader.snapshot.log.commit { late.append(live) }
        }
        return results(new, reader, always: true)
    }

    /// Applies changed parameters: statements whose meaning depends on them must run again.
    private mutating func applyParameters(_ old: SystemParameters, _ reader: SnapshotReader) {
        let new = parameters.values
        if new.systemRefreshMilliseconds != old.systemRefreshMilliseconds { nextTick = nil }
        guard new.meaning != old.meaning else { return }
        for live in observedResults.values {
            index.remove(live)
            live.replaceObservedChanges(
                queries.makeRun(
                    live.statement, live.arguments, parameters, on: reader, isTimed: false))
            index.add(live)
        }
        changed = Array(observedResults.values)
    }

    /// Removes observers by their numbers; ignores unknown ones.
    package mutating func remove(_ numbers: [UInt64]) {
        for number in numbers {
            guard let live = observedResults.removeValue(forKey: number) else { continue }
            index.remove(live)
            systemResults.removeAll { $0 === live }
            late.removeAll { $0 === live }
            failing.removeAll { $0 === live }
        }
        if systemResults.isEmpty { nextTick = nil }
    }

    /// Applies changes up to the snapshot of a reader; returns the new results.
    private mutating func apply(
        _ changes: [CommitFeed.Change], _ reader: SnapshotReader
    ) -> [Delivery] {
        var concerned: [ObservedResult] = []
        func list(_ live: ObservedResult) {
            guard !live.isListed else { return }
            live.isListed = true
            concerned.append(live)
        }
        // The last lookup is reused, because most changes of a commit are in one collection.
        var (collection, resultIndex): (UInt16?, ObserverIndex.ResultIndex?)
        for change in changes {
            let number = change.key.bytes.span.withUnsafeBytes {
                StoreKey.collection(ofDocument: $0)
            }
            if number != collection {
                collection = number
                resultIndex = number.flatMap(reader.snapshot.catalog.collectionName)
                    .flatMap(index.results)
            }
            guard let resultIndex else { continue }
            apply(change, resultIndex, reader, list)
        }
        let commit = reader.snapshot.log.commit
        for live in late where live.missedThrough <= commit {
            live.isStale = true
            list(live)
        }
        late.removeAll { $0.missedThrough <= commit }
        for live in failing { list(live) }
        for live in changed { list(live) }
        changed = []
        invalidateRemovedFiles(reader, list)
        return results(concerned, reader)
    }

    private func apply(
        _ change: CommitFeed.Change, _ resultIndex: ObserverIndex.ResultIndex,
        _ reader: SnapshotReader,
        _ list: (ObservedResult) -> Void
    ) {
        let id = change.key.bytes[StoreKey.documentPrefixLength...]
        guard resultIndex.mayMatch(id: id) else { return }
        // Capturing `self` would copy the schedule for each affected result.
        let (queries, parameters) = (queries, parameters)
        let isReadable = reader.withImages(of: change) { (images) throws(Malformed) in
            try resultIndex.forEachCandidate(images, id: id, reader.names) { live in
                live.knownNameCount = reader.names.count
                let isConcerned = live.apply(images) { live in
                    queries.makeRun(
                        live.statement, live.arguments, parameters, on: reader, isTimed: false)
                }
                if isConcerned { list(live) }
            }
        }
        // A damaged document may affect any result: all statements run again and report the damage.
        guard !isReadable else { return }
        for live in observedResults.values {
            live.isStale = true
            list(live)
        }
    }

    /// Marks results stale whose rows lie in files that compaction has removed.
    ///
    /// As long as their bytes are retained, the files occupy space on the disk.
    private mutating func invalidateRemovedFiles(
        _ reader: SnapshotReader, _ list: (ObservedResult) -> Void
    ) {
        let new = reader.snapshot.log.segments
        defer { table = new }
        guard let table, !new.contains(table) else { return }
        for live in observedResults.values where live.hasLost(new) {
            live.isStale = true
            list(live)
        }
    }

    /// Returns the periodic results of system collections, if they are due.
    package mutating func tick(_ now: UInt64, _ reader: () -> SnapshotReader) -> [Delivery] {
        guard !systemResults.isEmpty else { return [] }
        guard let due = nextTick, due <= now else {
            if nextTick == nil { nextTick = now + interval }
            return []
        }
        nextTick = now + interval
        for live in systemResults { live.isStale = true }
        return results(systemResults, reader(), always: true)
    }

    private var interval: UInt64 {
        UInt64(parameters.values.systemRefreshMilliseconds) * 1_000_000
    }

    // MARK: Results

    private mutating func results(
        _ lives: [ObservedResult], _ reader: SnapshotReader, always: Bool = false
    ) -> [Delivery] {
        var deliveries: [Delivery] = []
        deliveries.reserveCapacity(lives.count)
        let (queries, parameters) = (queries, parameters)
        for live in lives {
            live.isListed = false
            let hadFailed = live.failure != nil
            var hasRun = false
            let start = queries.options.clock.monotonicNanoseconds()
            let outcome = live.outcome(reader, always: always) { isTimed in
                hasRun = hasRun || isTimed
                return queries.makeRun(
                    live.statement, live.arguments, parameters, on: reader, isTimed: isTimed)
            }
            if hasRun { tally.rerun += 1 } else { tally.maintained += 1 }
            let nanoseconds = queries.options.clock.monotonicNanoseconds() &- start
            live.observer.record {
                $0.add(
                    nanoseconds: nanoseconds, rows: (try? outcome?.get())?.items.count,
                    error: live.failure?.message, isIncremental: !hasRun)
            }
            if live.failure != nil, !hadFailed { failing.append(live) }
            if live.failure == nil, hadFailed { failing.removeAll { $0 === live } }
            guard let outcome else { continue }
            deliveries.append(Delivery(observer: live.observer, outcome: outcome))
        }
        return deliveries
    }
}
