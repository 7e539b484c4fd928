import SheafDocument
import SheafEngine
import SheafQuery
import SheafStorage

/// The data of the event of a commit.
enum CommitEvent {
    /// Maximum number of changes of an event.
    private static let maximumCount = 100

    /// Returns the data of a commit up to that of a snapshot, with its changes if `hasChanges`.
    static func data(
        of commit: LoggedCommit, in snapshot: DocumentSnapshot, hasChanges: Bool
    ) throws(EngineError) -> Object {
        let origin = try snapshot.origin(of: commit)
        var site = origin?.stamp.site
        var changes: [Value] = []
        var isTruncated = false
        try snapshot.forEachChange(of: commit, reading: { $0 }) { (change) throws(EngineError) in
            // A local commit has no origin; the stamps of its documents have its site.
            if site == nil { site = change.stamp?.site }
            guard hasChanges else { return site == nil }
            isTruncated = changes.count == maximumCount
            guard !isTruncated else { return site == nil }
            changes.append(.object(value(of: change)))
            return true
        }
        var data: Object = [
            "commit": .integer(Int64(clamping: commit.id)),
            "time": commit.time.map { .integer(Int64(clamping: $0)) } ?? .null,
            "site": site.map { .string($0.text) } ?? .null,
            "isLocal": origin != nil ? false : commit.isCompacted ? .null : true,
        ]
        guard hasChanges else { return data }
        data["changes"] = .array(changes)
        data["isTruncated"] = .bool(isTruncated)
        return data
    }

    private static func value(of change: LoggedChange) -> Object {
        [
            "collection": .string(change.collection), "document": JSONBytes.visible(change.id),
            "action": .string(change.action.rawValue),
            "fields": .array(change.fields.map { .string(PathText.of($0)) }),
        ]
    }
}
