import SheafDocument
import SheafEngine
import SheafQuery
import SheafStatements
import SheafStorage

/// An observed statement, and its result as last delivered.
///
/// Used by one thread at a time.
final class ObservedResult {
    let observer: ObserverRegistration
    let statement: Statement
    let arguments: ArgumentValues
    private(set) var observedChanges: ObservedChanges
    /// The incremental view, if the result can be updated from document changes.
    private var view: IncrementalView?
    /// The fingerprint of the rows last delivered, if there is no view to compare with.
    private var fingerprint: ResultFingerprint?
    /// Whether the rows have changed since the last delivery.
    private var isChanged = false
    private var viewAttempts = ViewAttempts()
    /// The error of the last run.
    private(set) var failure: StoreError?
    /// The newest table of files that hold the bytes of rows.
    private var table: SegmentTable?
    /// Older tables with files that hold bytes of rows and are not in `table`.
    private var olderTables: [SegmentTable] = []
    /// The number of field names in the snapshot being processed.
    var knownNameCount = 0
    /// Whether the statement has to be run again.
    var isStale = false
    /// Whether this result is in the list of results to deliver.
    var isListed = false
    /// The last commit whose changes may have been missed before the observer was added.
    let missedThrough: CommitID

    /// Maximum number of older segment tables retained; beyond it, the rows are read again.
    private static let maximumOlderTables = 4

    /// Creates the result of a new observer; `run` must be untimed: its observed changes are kept.
    init(_ newObserver: NewObserver, _ run: QueryRun) {
        observer = newObserver.observer
        statement = newObserver.statement
        arguments = newObserver.arguments
        missedThrough = newObserver.missedThrough
        observedChanges = run.observedOrAll
    }

    /// Replaces the observed changes; the meaning of the statement changed, so it must run again.
    func replaceObservedChanges(_ run: QueryRun) {
        observedChanges = run.observedOrAll
        isStale = true
    }

    /// The view definition, if the statement reads documents of one collection independently.
    var viewDefinition: IncrementalViewDefinition? {
        if case .select(let definition, _) = observedChanges { definition } else { nil }
    }

    /// Whether rows have bytes in files that `table` does not contain.
    func hasLost(_ table: SegmentTable) -> Bool {
        guard view != nil, let own = self.table else { return false }
        return !table.contains(own) || !olderTables.allSatisfy { table.contains($0) }
    }

    // MARK: Changes

    /// Applies the change of a document; returns whether it may change the result.
    ///
    /// `run` creates an untimed run of the statement.
    func apply(_ images: DocumentImages, _ run: (ObservedResult) -> QueryRun) -> Bool {
        guard !isStale else { return true }
        do throws(StoreError) {
            try refresh(run)
            guard let viewDefinition else {
                if case .collections(_, isPlain: true) = observedChanges, images.areEqual {
                    return false
                }
                isStale = true
                return true
            }
            if view != nil {
                switch try view?.apply(images, viewDefinition) {
                case .changed:
                    isChanged = true
                    return true
                case .unknown:
                    isStale = true
                    return true
                case .some(.none), nil: return false
                }
            }
            var isConcerned = false
            for document in [images.before, images.after] {
                if let document, try viewDefinition.matches(document) { isConcerned = true }
            }
            if isConcerned, viewDefinition.isPlain, images.areEqual { return false }
            if isConcerned {
                isStale = true
                isChanged = isChanged || viewDefinition.reportsEachChange
            }
            return isConcerned
        } catch {
            // The next run of the statement reports the error.
            isStale = true
            return true
        }
    }

    /// Compiles the statement again if field names were added, since documents use their numbers.
    private func refresh(_ run: (ObservedResult) -> QueryRun) throws(StoreError) {
        guard let viewDefinition, viewDefinition.nameCount != knownNameCount else { return }
        observedChanges = try run(self).observedChanges()
    }

    // MARK: Results

    /// Returns the result in a snapshot, or its error; nil if it equals the one last delivered.
    ///
    /// If `always`, an equal result is returned, too, but an equal error is not.
    ///
    /// `run` creates runs of the statement: timed ones for results, and untimed ones for observed
    /// changes, which live as long as the observer.
    func outcome(
        _ reader: SnapshotReader, always: Bool, _ run: (_ isTimed: Bool) -> QueryRun
    ) -> ObserverRegistration.Outcome? {
        let hasFailed = failure != nil
        do throws(StoreError) {
            let result = try result(reader, always: always || hasFailed, run)
            failure = nil
            return result.map { .success($0) }
        } catch {
            // The statement runs again on the next snapshot.
            isStale = true
            isChanged = true
            view = nil
            let error = error.located(in: reader.snapshot.log.segments)
            guard error != failure else { return nil }
            failure = error
            return .failure(error)
        }
    }

    private func result(
        _ reader: SnapshotReader, always: Bool, _ run: (_ isTimed: Bool) -> QueryRun
    ) throws(StoreError) -> QueryResult? {
        let table = reader.snapshot.log.segments
        if view != nil, !isStale, olderTables.count < Self.maximumOlderTables {
            retain(table)
            guard always || isChanged else { return nil }
            let edits = view?.drainEdits()
            return view.map { result($0, reader, edits: edits) }
        }
        let old = isChanged ? nil : view
        knownNameCount = reader.names.count
        if let viewDefinition, viewDefinition.nameCount != knownNameCount {
            observedChanges = try run(false).observedChanges()
        }
        let run = run(true)
        guard let live = try newView(run) else {
            let outcome = try run.rows()
            // Comparing very many rows takes longer than finding them.
            let new =
                viewDefinition?.reportsEachChange == true
                ? nil
                : try ResultFingerprint(outcome, reader.names, isOrdered: run.ordersRows)
            defer { fingerprint = new }
            let isSame = !isChanged && new != nil && new == fingerprint
            (view, isStale, isChanged) = (nil, false, false)
            (self.table, olderTables) = (nil, [])
            guard always || !isSame else { return nil }
            return result(outcome, reader)
        }
        let isSame = try old.map { (old) throws(StoreError) in
            try live.hasSameContents(old, reader.names)
        }
        (view, isStale) = (live, false)
        (self.table, olderTables) = (table, [])
        guard always || isSame != true else { return nil }
        return result(live, reader)
    }

    /// Returns the incremental view; nil if there is none or the result recently had too many rows.
    private func newView(_ run: QueryRun) throws(StoreError) -> IncrementalView? {
        guard let viewDefinition, viewDefinition.isIncremental else { return nil }
        guard viewAttempts.begin() else { return nil }
        let live = try IncrementalView(viewDefinition, run)
        if live == nil { viewAttempts.pause() }
        return live
    }

    private func result(
        _ rows: IncrementalView, _ reader: SnapshotReader, edits: [RowEdit]? = nil
    ) -> QueryResult {
        fingerprint = nil
        isChanged = false
        let kept = ResultStorage.BytesOwner.files(table, older: olderTables)
        return QueryResult(
            ResultStorage(rows, columns: viewDefinition?.columns, of: reader, kept), edits: edits)
    }

    private func result(_ rows: QueryRows, _ reader: SnapshotReader) -> QueryResult {
        QueryResult(ResultStorage(rows, of: reader))
    }

    private func retain(_ table: SegmentTable) {
        if let own = self.table, !table.contains(own) { olderTables.append(own) }
        self.table = table
    }
}

/// The number and the hash of the rows of a result.
struct ResultFingerprint: Equatable {
    private let count: Int
    private let hash: Int

    /// Hashes `rows`; unless `isOrdered`, the order does not affect the hash.
    init(_ rows: QueryRows, _ names: NameTable, isOrdered: Bool) throws(StoreError) {
        count = rows.count
        var all = 0
        for item in rows.items {
            var hasher = Hasher()
            if isOrdered { hasher.combine(all) }
            Value.object(try item.object(names)).hashExactly(into: &hasher)
            all = isOrdered ? hasher.finalize() : all &+ hasher.finalize()
        }
        hash = all
    }
}

extension QueryRun {
    /// The observed changes of the statement, or all changes if it cannot be planned.
    ///
    /// Planning fails if an index that the statement requires was dropped; it may succeed later.
    fileprivate var observedOrAll: ObservedChanges { (try? observedChanges()) ?? allChanges }
}
