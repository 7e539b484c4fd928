import SheafDocument
import SheafQuery
import SheafStorage

/// The result of an observed statement, as its observer knows it.
///
/// One thread works on it.
final class LiveResult {
    let observer: Observer
    let statement: Statement
    let arguments: ArgumentValues
    private(set) var watch: Watch
    /// The rows, where changes of single documents say how they change.
    private var rows: LiveRows?
    /// What the rows said that were delivered, where there are no rows to compare with.
    private var fingerprint: ResultFingerprint?
    /// Whether the rows have changed since they were delivered.
    private var isChanged = false
    /// How often the statement is run again before it is tried once more to keep its rows.
    private var runsUntilRows = 0
    /// What went wrong when the statement was run last.
    private(set) var failure: StoreError?
    /// The files in which the bytes of rows are: the newest table, and those that it does not hold.
    private var table: SegmentTable?
    private var olderTables: [SegmentTable] = []
    /// How many names the state has that is looked at.
    var knownNames = 0
    /// Whether the statement has to be run again.
    var isStale = false
    /// Whether it was put on the list of those who have something to say.
    var isListed = false
    /// Up to which commit changes may have been missed when it began.
    let missedThrough: CommitID

    /// A statement that had too many rows is run so often before they are counted again.
    private static let runsWithoutRows = 64
    /// More tables of files are not kept: the rows are read again.
    private static let mostTables = 4

    /// Begins with what a run says that is to be watched, which may go on as long as the observer does.
    init(_ newcomer: Newcomer, _ run: QueryRun) {
        observer = newcomer.observer
        statement = newcomer.statement
        arguments = newcomer.arguments
        missedThrough = newcomer.missedThrough
        watch = run.watchOrAll
    }

    /// Has the statement run again, which may ask something else of documents by now.
    func watchAnew(_ run: QueryRun) {
        watch = run.watchOrAll
        isStale = true
    }

    /// What the statement asks of single documents, if it asks for no more.
    var watched: WatchedSelect? {
        if case .select(let watched, _) = watch { watched } else { nil }
    }

    /// Whether the rows have bytes in files that are not in a table any more.
    func hasLost(_ table: SegmentTable) -> Bool {
        guard rows != nil, let own = self.table else { return false }
        return !table.holds(own) || !olderTables.allSatisfy { table.holds($0) }
    }

    // MARK: Changes

    /// Takes in what became of a document in the state of a run, which is not timed; returns whether that
    /// may change the result.
    func take(_ images: DocumentImages, _ run: (LiveResult) -> QueryRun) -> Bool {
        guard !isStale else { return true }
        do throws(QueryError) {
            try refresh(run)
            guard let watched else {
                if case .collections(_, isPlain: true) = watch, images.sayTheSame { return false }
                isStale = true
                return true
            }
            if rows != nil {
                switch try rows?.take(images, watched) {
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
                if let document, try watched.matches(document) { isConcerned = true }
            }
            if isConcerned, watched.isPlain, images.sayTheSame { return false }
            if isConcerned {
                isStale = true
                isChanged = isChanged || watched.showsEachChange
            }
            return isConcerned
        } catch {
            // Whoever runs the statement again hears what is wrong.
            isStale = true
            return true
        }
    }

    /// Compiles the statement again where names have a number now that had none, and documents have
    /// their fields by it.
    private func refresh(_ run: (LiveResult) -> QueryRun) throws(QueryError) {
        guard let watched, watched.nameCount != knownNames else { return }
        watch = try run(self).watch()
    }

    // MARK: Results

    /// The result in the state of a reader, or what is wrong with it; none where that is what was
    /// delivered last.
    ///
    /// `run` makes runs of the statement: those that are timed for results, and others for what is watched
    /// as long as there is the observer.
    func outcome(
        _ reader: SnapshotReader, always: Bool, _ run: (_ isTimed: Bool) -> QueryRun
    ) -> Observer.Outcome? {
        let hasFailed = failure != nil
        do throws(QueryError) {
            let result = try result(reader, always: always || hasFailed, run)
            failure = nil
            return result.map { .success($0) }
        } catch {
            // It is run once more as soon as there is another state.
            isStale = true
            isChanged = true
            rows = nil
            let error = StoreError(error.naming(fileIn: reader.snapshot.log.segments))
            guard error != failure else { return nil }
            failure = error
            return .failure(error)
        }
    }

    private func result(
        _ reader: SnapshotReader, always: Bool, _ run: (_ isTimed: Bool) -> QueryRun
    ) throws(QueryError) -> QueryResult? {
        let table = reader.snapshot.log.segments
        if rows != nil, !isStale, olderTables.count < Self.mostTables {
            keep(table)
            guard always || isChanged else { return nil }
            let edits = rows?.takeEdits()
            return rows.map { result($0, reader, edits: edits) }
        }
        let old = isChanged ? nil : rows
        knownNames = reader.names.count
        if let watched, watched.nameCount != knownNames { watch = try run(false).watch() }
        let run = run(true)
        guard let live = try liveRows(run) else {
            let outcome = try run.rows()
            // To compare very many rows takes longer than to find them.
            let new =
                watched?.showsEachChange == true
                ? nil
                : try ResultFingerprint(outcome, reader.names, isOrdered: run.ordersRows)
            defer { fingerprint = new }
            let isSame = !isChanged && new != nil && new == fingerprint
            (rows, isStale, isChanged) = (nil, false, false)
            (self.table, olderTables) = (nil, [])
            guard always || !isSame else { return nil }
            return result(outcome, reader)
        }
        let isSame = try old.map { (old) throws(QueryError) in
            try live.say(old, reader.names)
        }
        (rows, isStale) = (live, false)
        (self.table, olderTables) = (table, [])
        guard always || isSame != true else { return nil }
        return result(live, reader)
    }

    /// The rows, if changes of single documents say how they change, and there are not too many.
    private func liveRows(_ run: QueryRun) throws(QueryError) -> LiveRows? {
        guard let watched, watched.isIncremental else { return nil }
        guard runsUntilRows == 0 else {
            runsUntilRows -= 1
            return nil
        }
        let live = try LiveRows(watched, run)
        if live == nil { runsUntilRows = Self.runsWithoutRows }
        return live
    }

    private func result(
        _ rows: LiveRows, _ reader: SnapshotReader, edits: [RowEdit]? = nil
    ) -> QueryResult {
        fingerprint = nil
        isChanged = false
        let kept = ResultStorage.Kept.files(table, older: olderTables)
        return QueryResult(
            ResultStorage(rows, columns: watched?.columns, of: reader, kept), edits: edits)
    }

    private func result(_ rows: QueryRows, _ reader: SnapshotReader) -> QueryResult {
        QueryResult(
            QueryOutcome(rows: rows, reader: reader, mutatedIDs: [], commit: nil),
            commit: .known(reader.snapshot.log.commit))
    }

    private func keep(_ table: SegmentTable) {
        if let own = self.table, !table.holds(own) { olderTables.append(own) }
        self.table = table
    }
}

/// What all rows of a result say, in a few bytes.
struct ResultFingerprint: Equatable {
    private let count: Int
    private let hash: Int

    /// Where rows come in any order, another order says nothing else.
    init(_ rows: QueryRows, _ names: NameTable, isOrdered: Bool) throws(QueryError) {
        count = rows.items.count
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
    /// What has to be looked at.
    ///
    /// Where an index that the statement needs was dropped, it fails, and may be run later.
    fileprivate var watchOrAll: Watch { (try? watch()) ?? watchOfAll }
}
