import SheafBytes
import SheafDocument
import SheafEngine
import SheafQuery
import SheafStorage
import Synchronization

/// The fields that full scans use often, as columns in memory.
///
/// Columns belong to leaves of the tree. A scan reads again only those of leaves that have changed
/// since an earlier one, so commits do not maintain columns.
package final class ColumnCache: Sendable {
    /// A field of a collection.
    fileprivate struct Field: Hashable {
        let keys: [UInt8]
        let names: [UInt32]
    }

    fileprivate struct State {
        var maximumBytes = ColumnCache.defaultBytes
        var scans = ColumnCache.defaultScans
        /// The tables by the first key of their collection.
        var tables: [[UInt8]: ColumnTable] = [:]
        /// The full scans that have used each field; negative while a refused field waits.
        var scanCounts: [Field: Int] = [:]
        var lastUse: UInt64 = 0
        /// The number of changes of the limits, and of releases.
        var generation = 0
    }

    private let state = Mutex(State())

    /// Default of the maximum memory.
    package static let defaultBytes = 64 << 20
    /// Default of the number of scans before a field gets a column.
    package static let defaultScans = 3
    /// Minimum number of documents of a collection with columns.
    package static let minimumDocuments = 1_000
    /// The number of scans after which columns that were too large are tried again.
    private static let refusedScans = 1_000
    /// Maximum number of counted fields; beyond it, all counts start again.
    fileprivate static let maximumFields = 1_024

    /// Sets the maximum memory, and the number of scans before a field gets a column.
    ///
    /// With no scans, small collections get columns as well.
    package func setLimits(bytes: Int, scans: Int) {
        state.withLock { state in
            (state.maximumBytes, state.scans) = (bytes, scans)
            state.generation += 1
            // Columns that were refused may fit now.
            state.scanCounts = state.scanCounts.mapValues { max($0, 0) }
            _ = state.makeRoom(for: 0, besides: nil)
        }
    }

    /// Releases all columns.
    package func removeAll() {
        state.withLock { state in
            state.tables.removeAll()
            state.scanCounts.removeAll()
            state.generation += 1
        }
    }

    /// The memory of all columns.
    package var byteCount: Int { state.withLock { $0.byteCount } }

    /// Whether all fields of a collection have columns.
    func has(_ paths: [FieldPath], of keys: KeyRange) -> Bool {
        let fields = paths.compactMap(\.visibleNumbers)
        return state.withLock { $0.tables[keys.lower]?.has(fields) ?? false }
    }

    /// Counts a scan, and updates and returns its columns; nil if it must read documents.
    func updatedView(of scan: ColumnScan, _ reader: SnapshotReader) throws(StoreError)
        -> ColumnView?
    {
        let (key, log) = (scan.keys.lower, reader.snapshot.log)
        let fields = scan.paths.compactMap(\.visibleNumbers)
        let documents = reader.count(in: scan.keys)
        let found = state.withLock { state -> Found? in
            guard state.countScan(fields, of: key, documents) else { return nil }
            let table = state.tables[key] ?? ColumnTable()
            state.lastUse += 1
            state.tables[key]?.lastUse = state.lastUse
            return Found(
                table: table, view: table.view(fields, log), generation: state.generation,
                isEager: state.scans == 0, maximumBytes: state.maximumBytes)
        }
        guard let found else { return nil }
        if let view = found.view { return view }
        var table = found.table
        // A reader of an older snapshot must not replace newer columns.
        guard !table.isLater(than: log) else { return nil }
        do throws(ColumnTable.Refusal) {
            try table.update(
                scan, fields, reader, isEager: found.isEager, maximumBytes: found.maximumBytes)
        } catch {
            return try refuse(error, fields, of: key)
        }
        state.withLock { state in
            guard state.generation == found.generation,
                state.tables[key]?.isLater(than: log) != true,
                state.makeRoom(for: table.byteCount, besides: key)
            else { return }
            table.lastUse = state.lastUse
            state.tables[key] = table
        }
        return table.view(fields, log)
    }

    /// A table, and what was valid when it was found.
    private struct Found {
        let table: ColumnTable
        let view: ColumnView?
        let generation: Int
        let isEager: Bool
        let maximumBytes: Int
    }

    private func refuse(
        _ refusal: ColumnTable.Refusal, _ fields: [[UInt32]], of key: [UInt8]
    ) throws(StoreError) -> ColumnView? {
        if case .statement(let error) = refusal { throw error }
        state.withLock { state in
            state.tables[key] = nil
            for names in fields {
                var count = 0
                if case .unsuitable = refusal { count = -Self.refusedScans }
                state.scanCounts[Field(keys: key, names: names)] = count
            }
        }
        return nil
    }
}

extension ColumnCache.State {
    fileprivate var byteCount: Int { tables.values.reduce(0) { $0 + $1.byteCount } }

    /// Counts a scan of fields; returns whether they have columns, or get them now.
    fileprivate mutating func countScan(
        _ fields: [[UInt32]], of key: [UInt8], _ documents: Int
    ) -> Bool {
        guard maximumBytes > 0, scans == 0 || documents >= ColumnCache.minimumDocuments else {
            return false
        }
        if scanCounts.count > ColumnCache.maximumFields { scanCounts.removeAll() }
        var isReady = true
        for names in fields {
            let field = ColumnCache.Field(keys: key, names: names)
            let count = scanCounts[field, default: 0]
            scanCounts[field] = count + 1
            if count < scans { isReady = false }
        }
        return isReady
    }

    /// Evicts the least recently used tables until `bytes` fit; returns false if they cannot.
    fileprivate mutating func makeRoom(for bytes: Int, besides key: [UInt8]?) -> Bool {
        while true {
            var used = 0
            var oldest: (key: [UInt8], lastUse: UInt64)?
            for (other, table) in tables where other != key {
                used += table.byteCount
                if oldest.map({ table.lastUse < $0.lastUse }) ?? true {
                    oldest = (other, table.lastUse)
                }
            }
            guard used + bytes > maximumBytes else { return true }
            guard let evicted = oldest?.key else { return false }
            tables[evicted] = nil
            // Two collections that do not fit together would replace each other on each scan.
            for field in scanCounts.keys where field.keys == evicted { scanCounts[field] = 0 }
        }
    }
}
