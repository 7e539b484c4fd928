import SheafDocument
import SheafQuery
import SheafStorage

/// The result of an observed statement, as its observer knows it.
///
/// One thread works on it.
final class LiveResult {
    let observer: Observer
    let statement: Statement
    let arguments: [String: Value]
    private(set) var watch: Watch
    /// The rows, where changes of single documents say how they change.
    private var rows: LiveRows?
    /// What the rows said that were delivered, where there are no rows to compare with.
    private var fingerprint: ResultFingerprint?
    /// The files in which the bytes of rows are.
    private var files: [SegmentTable] = []
    /// How many names the state has that is looked at.
    var knownNames = 0
    /// Whether the statement has to be run again.
    var isStale = false
    /// Whether it was put on the list of those who have something to say.
    var isListed = false
    /// Up to which commit changes may have been missed when it began.
    var missedThrough: CommitID = 0

    /// More tables of files are not kept: the rows are read again.
    private static let mostTables = 4

    init(
        _ observer: Observer, _ statement: Statement, _ arguments: [String: Value], _ watch: Watch
    ) {
        self.observer = observer
        self.statement = statement
        self.arguments = arguments
        self.watch = watch
    }

    /// What the statement asks of single documents, if it asks for no more.
    var watched: WatchedSelect? {
        if case .select(let watched, _) = watch { watched } else { nil }
    }

    /// Whether the rows have bytes in files that are not in a table any more.
    func hasLost(_ table: SegmentTable) -> Bool {
        rows != nil && !files.allSatisfy { table.holds($0) }
    }

    // MARK: Changes

    /// Takes in what became of a document in the state of a run; returns whether that may change the
    /// result.
    func take(_ images: DocumentImages, _ run: (LiveResult) -> QueryRun) -> Bool {
        guard !isStale else { return true }
        do throws(QueryError) {
            try refresh(run)
            guard let watched else {
                isStale = true
                return true
            }
            if rows != nil {
                switch try rows?.take(images, watched) {
                case .changed: return true
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
            if isConcerned { isStale = true }
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

    /// The result in the state of a reader; none where it is what was delivered last.
    func result(
        of run: QueryRun, _ reader: SnapshotReader, always: Bool = false
    ) throws(QueryError) -> QueryResult? {
        let table = reader.snapshot.log.segments
        if let rows, !isStale, files.count <= Self.mostTables {
            keep(table)
            return result(rows, reader)
        }
        isStale = false
        knownNames = reader.names.count
        if let watched, watched.nameCount != knownNames { watch = try run.watch() }
        files = [table]
        guard let watched, watched.isIncremental, let live = try LiveRows(watched, run) else {
            rows = nil
            let outcome = try run.rows()
            let new = try ResultFingerprint(outcome, reader.names)
            defer { fingerprint = new }
            guard always || new != fingerprint else { return nil }
            return result(outcome, reader)
        }
        rows = live
        let new = try ResultFingerprint(
            QueryRows(items: live.rows.map(\.item), columns: watched.columns), reader.names)
        defer { fingerprint = new }
        guard always || new != fingerprint else { return nil }
        return result(live, reader)
    }

    private func result(_ rows: LiveRows, _ reader: SnapshotReader) -> QueryResult {
        fingerprint = nil
        return result(
            QueryRows(items: rows.rows.map(\.item), columns: watched?.columns), reader)
    }

    private func result(_ rows: QueryRows, _ reader: SnapshotReader) -> QueryResult {
        let outcome = QueryOutcome(rows: rows, reader: reader, mutatedIDs: [], commit: nil)
        return QueryResult(
            ResultStorage(
                outcome, commit: CommitCell(reader.snapshot.log.commit), files: files))
    }

    private func keep(_ table: SegmentTable) {
        if let last = files.last, table.holds(last) {
            files[files.count - 1] = table
        } else {
            files.append(table)
        }
    }
}

/// What all rows of a result say, in a few bytes.
struct ResultFingerprint: Equatable {
    private let count: Int
    private let hash: Int

    init(_ rows: QueryRows, _ names: NameTable) throws(QueryError) {
        count = rows.items.count
        var hasher = Hasher()
        for item in rows.items {
            // Texts, since values of different types can be equal.
            hasher.combine(Value.object(try item.object(names)).json)
        }
        hash = hasher.finalize()
    }
}
