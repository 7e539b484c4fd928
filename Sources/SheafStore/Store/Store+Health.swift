import SheafDocument
import SheafEngine
import SheafStatements
import SheafStorage
import SheafSystem

/// The system collections about the state of a store in this process.
extension Store {
    /// Registers `system:observers` and `system:health`.
    static func registerCollections(
        in queries: QueryEngine, _ dispatcher: ObserverDispatcher, _ engine: StoreEngine?
    ) {
        queries.registeredCollections.register("observers") { [weak dispatcher] in
            dispatcher?.rows ?? []
        }
        // The engine of queries has these collections, so it must not be retained.
        queries.registeredCollections.register("health") { [weak queries, weak engine] in
            guard let queries else { return [] }
            return healthRows(queries.snapshot().log, engine)
        }
    }

    private static func healthRows(_ log: LogSnapshot, _ engine: StoreEngine?) -> [Object] {
        let files = log.segments.files
        var numbers: [(String, Value)] = [
            ("commit", integer(log.commit)),
            ("oldest_state", integer(log.compactedThrough)),
            ("log_files", integer(files.count)),
            ("base_files", integer(files.count { $0.header.kind == .base })),
            ("log_bytes", integer(files.reduce(0) { $0 + $1.content.count })),
            ("keys", integer(log.count)),
            ("tree_entries", integer(log.tree.count)),
        ]
        if let memory = ProcessMemory.residentBytes {
            numbers.append(("process_memory_bytes", integer(memory)))
        }
        if let engine {
            let flushes = engine.flushStatistics
            numbers += [
                ("live_bytes", integer(engine.liveByteCount)),
                ("flushes", integer(flushes.count)),
                ("flush_bytes", integer(flushes.byteCount)),
                ("flush_nanoseconds", integer(flushes.nanoseconds)),
                ("flush_last_nanoseconds", integer(flushes.lastNanoseconds)),
                ("flush_longest_nanoseconds", integer(flushes.longestNanoseconds)),
                ("is_writable", integer(engine.failure == nil ? 1 : 0)),
            ]
        }
        return numbers.map { name, value in
            ["_id": .string(name), "name": .string(name), "value": value]
        }
    }

    private static func integer(_ number: some BinaryInteger) -> Value {
        .integer(Int64(clamping: number))
    }
}
