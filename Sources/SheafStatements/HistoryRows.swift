import SheafDocument
import SheafEngine
import SheafQuery
import SheafStorage

/// The rows of `system:history` and `system:log`, read from the log.
struct HistoryRows {
    private let snapshot: DocumentSnapshot
    private let bounds: RowBounds
    /// The commits that changed the only document of the bounds; nil without one.
    private var chain: Set<CommitID>?

    init(_ snapshot: DocumentSnapshot, _ bounds: RowBounds) throws(StoreError) {
        self.snapshot = snapshot
        self.bounds = bounds
        guard let collection = bounds.collection, let document = bounds.document else { return }
        do throws(EngineError) {
            chain = try Self.commits(of: document, in: collection, snapshot)
        } catch {
            throw StoreError(error)
        }
    }

    /// Returns the commits that changed a document, which then are the only ones to decode.
    private static func commits(
        of document: Value, in collection: String, _ snapshot: DocumentSnapshot
    ) throws(EngineError) -> Set<CommitID> {
        // A value that is not a valid id identifies no document.
        guard (try? DocumentID.key(of: document)) != nil,
            let key = try snapshot.key(collection: collection, id: document)
        else { return [] }
        var commits: Set<CommitID> = []
        var history = key.withUnsafeBytes { snapshot.log.history(of: $0) }
        do throws(StorageError) {
            while let logged = try history.next() { commits.insert(logged.commit) }
        } catch {
            throw .storage(error)
        }
        return commits
    }

    /// Visits the changes of documents, commit by commit, until `body` returns false.
    func forEach(_ body: (Object) throws(StoreError) -> Bool) throws(StoreError) {
        try visit { (commit) throws(StoreError) in
            let origin = try origin(of: commit)
            var (number, goesOn) = (0, true)
            try snapshot.forEachChange(of: commit, reading: { StoreError($0) }) {
                (change) throws(StoreError) in
                number += 1
                guard isWanted(change) else { return true }
                goesOn = try body(Self.row(change, number, of: commit, origin))
                return goesOn
            }
            return goesOn
        }
    }

    /// Visits the commits until `body` returns false.
    func forEachCommit(_ body: (Object) throws(StoreError) -> Bool) throws(StoreError) {
        try visit { (commit) throws(StoreError) in
            let origin = try origin(of: commit)
            let count: Int
            let site: Site?
            do throws(EngineError) {
                count = try snapshot.changeCount(of: commit)
                site =
                    if let origin { origin.stamp.site } else {
                        try snapshot.site(ofLocal: commit)
                    }
            } catch {
                throw StoreError(error)
            }
            return try body([
                "_id": .integer(Int64(clamping: commit.id)),
                "commit": .integer(Int64(clamping: commit.id)),
                "time": Self.value(commit.time),
                "bytes": .integer(Int64(clamping: commit.byteCount)),
                "operations": .integer(Int64(clamping: commit.operationCount)),
                "documents": .integer(Int64(count)),
                "site": Self.text(site),
                "isLocal": Self.isLocal(commit, origin),
                "isCompacted": .bool(commit.isCompacted),
            ])
        }
    }

    private func visit(_ body: (LoggedCommit) throws(StoreError) -> Bool) throws(StoreError) {
        if let chain, chain.isEmpty { return }
        let lower = max(bounds.commits.lowerBound, chain?.min() ?? 0)
        let upper = min(bounds.commits.upperBound, chain?.max() ?? .max)
        guard lower <= upper, upper > 0 else { return }
        try snapshot.log.forEachCommit(
            in: lower...upper, isReversed: bounds.isDescending, reading: { StoreError($0) }
        ) { (commit) throws(StoreError) in
            guard chain?.contains(commit.id) ?? true else { return true }
            return try body(commit)
        }
    }

    private func isWanted(_ change: LoggedChange) -> Bool {
        if let collection = bounds.collection, collection != change.collection { return false }
        if let document = bounds.document, document != change.id { return false }
        return true
    }

    private static func row(
        _ change: LoggedChange, _ number: Int, of commit: LoggedCommit, _ origin: CommitOrigin?
    ) -> Object {
        [
            "_id": .string("\(commit.id).\(number)"),
            "commit": .integer(Int64(clamping: commit.id)), "time": value(commit.time),
            "site": text(change.stamp?.site ?? origin?.stamp.site),
            "writtenAt": value(change.stamp?.time.milliseconds),
            "isLocal": isLocal(commit, origin), "collection": .string(change.collection),
            "document": change.id, "action": .string(change.action.rawValue),
            "fields": .array(change.fields.map { .string(PathText.of($0)) }),
        ]
    }

    private func origin(of commit: LoggedCommit) throws(StoreError) -> CommitOrigin? {
        do throws(EngineError) { return try snapshot.origin(of: commit) } catch {
            throw StoreError(error)
        }
    }

    /// Returns whether the store wrote a commit itself; null if compaction may have removed the
    /// origin.
    private static func isLocal(_ commit: LoggedCommit, _ origin: CommitOrigin?) -> Value {
        guard origin == nil else { return false }
        return commit.isCompacted ? .null : true
    }

    private static func value(_ time: UInt64?) -> Value {
        time.map { .integer(Int64(clamping: $0)) } ?? .null
    }

    private static func text(_ site: Site?) -> Value {
        site.map { .string($0.text) } ?? .null
    }
}
