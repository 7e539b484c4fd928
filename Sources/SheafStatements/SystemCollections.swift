import SheafBytes
package import SheafDocument
package import SheafEngine
package import SheafQuery
import SheafStorage
package import SheafSystem

/// The system collections of a store.
package final class SystemCollections: VirtualCollections {
    private let parameters: SystemParameters
    private let requests: RequestLog?
    private let registered: RegisteredCollections?
    private let statements: SharedStatements?
    private let clock: Clock

    package init(
        _ parameters: SystemParameters, _ requests: RequestLog? = nil,
        _ registered: RegisteredCollections? = nil,
        _ statements: SharedStatements? = nil, clock: Clock
    ) {
        self.statements = statements
        self.registered = registered
        self.parameters = parameters
        self.requests = requests
        self.clock = clock
    }

    package var names: [String] {
        let own = [
            "active_requests", "collections", "conflicts", "dql_vars", "dual", "fields", "history",
            "indexes", "log", "metrics", "request_history", "shared_statements", "system_info",
        ]
        return (own + (registered?.names ?? [])).sorted()
    }

    /// Returns a copy with other parameters.
    func with(_ parameters: SystemParameters) -> SystemCollections {
        SystemCollections(parameters, requests, registered, statements, clock: clock)
    }

    package func forEachRow(
        of name: String, in snapshot: DocumentSnapshot, _ bounds: RowBounds,
        _ body: (Object) throws(StoreError) -> Bool
    ) throws(StoreError) {
        switch name {
        case "history": return try HistoryRows(snapshot, bounds).forEach(body)
        case "log": return try HistoryRows(snapshot, bounds).forEachCommit(body)
        case "conflicts": return try ConflictRows(snapshot, bounds).forEach(body)
        default: break
        }
        for row in try rows(of: name, in: snapshot, bounds) ?? [] {
            guard try body(row) else { return }
        }
    }

    private func rows(
        of name: String, in snapshot: DocumentSnapshot, _ bounds: RowBounds
    ) throws(StoreError) -> [Object]? {
        switch name {
        case "dual": [Object()]
        case "indexes": Self.indexes(snapshot)
        case "collections": try collections(snapshot)
        case "fields": try FieldRows(snapshot, bounds).rows()
        case "system_info": information(snapshot)
        case "active_requests":
            requests?.running() ?? []
        case "request_history": requests?.history(parameters.requestHistorySize) ?? []
        case "dql_vars": parameters.rows
        case "shared_statements": statements?.rows ?? []
        case "metrics": Self.metrics(requests)
        default: registered?.rows(of: name)
        }
    }

    private static func indexes(_ snapshot: DocumentSnapshot) -> [Object] {
        snapshot.catalog.collections.flatMap { collection in
            snapshot.knownIndexes(of: collection).map { index in
                let fields = index.fields.map { field in
                    Value.object([
                        "direction": field.isDescending ? "desc" : "asc",
                        "key": .array(field.path.map(Value.string)),
                    ])
                }
                return [
                    "_id": .string("\(collection).\(index.name)"),
                    "collection": .string(collection), "fields": .array(fields),
                ]
            }
        }
    }

    private func collections(_ snapshot: DocumentSnapshot) throws(StoreError) -> [Object] {
        let reader = SnapshotReader(snapshot, virtual: self)
        var rows: [Object] = []
        for (number, name) in snapshot.catalog.collections.enumerated() {
            let keys = StoreKey.documents(of: UInt16(number))
            let count =
                if let tombstones = snapshot.tombstones(of: name) {
                    snapshot.count(in: keys) - snapshot.count(in: tombstones)
                } else {
                    try Self.countDocuments(in: keys, with: reader)
                }
            rows.append([
                "_id": .string(name), "name": .string(name), "documents": .integer(Int64(count)),
                "bytes": .integer(Int64(clamping: snapshot.log.newestLength(in: keys))),
            ])
        }
        return rows
    }

    /// Counts the existing documents by reading each of them.
    private static func countDocuments(
        in keys: KeyRange, with reader: SnapshotReader
    ) throws(StoreError) -> Int {
        var count = 0
        var tally = ScanTally()
        try reader.scan(keys, .any, skipping: 0, filter: nil, &tally) {
            (documents) throws(StoreError) in
            count += documents.count
            return nil
        }
        return count
    }

    private func information(_ snapshot: DocumentSnapshot) -> [Object] {
        let now = Value.integer(Int64(clamping: clock.wallMilliseconds()))
        let collections = snapshot.catalog.collections
        let indexCount = collections.reduce(0) { $0 + snapshot.knownIndexes(of: $1).count }
        var facts: [(String, String, Value)] = [
            ("store", "commit_id", .integer(Int64(clamping: snapshot.log.commit))),
            ("store", "collection_count", .integer(Int64(collections.count))),
            ("store", "index_count", .integer(Int64(indexCount))),
        ]
        for field in parameters.all { facts.append(("parameters", field.name, field.value)) }
        return facts.map { namespace, key, value in
            [
                "_id": .string("\(namespace).\(key)"), "key": .string(key),
                "namespace": .string(namespace), "value": value, "timestamp": now,
            ]
        }
    }

    private static func metrics(_ requests: RequestLog?) -> [Object] {
        (requests?.metrics() ?? []).map { metric in
            [
                "_id": .string(metric.name), "name": .string(metric.name),
                "value": .integer(metric.value),
            ]
        }
    }
}
