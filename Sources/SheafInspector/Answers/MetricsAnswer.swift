import SheafDocument
import SheafEngine
import SheafStatements
import SheafStorage
package import SheafStore

/// The answer of `GET /metrics`: numbers as text for Prometheus, version 0.0.4.
package enum MetricsAnswer {
    package static let contentType = "text/plain; version=0.0.4; charset=utf-8"

    /// Returns the metrics of the store.
    nonisolated(nonsending) static func text(_ subject: InspectedStore) async throws -> String {
        try subject.refresh()
        return try await text(of: subject.store)
    }

    /// Returns the metrics of a store whose commits are those of this process.
    package nonisolated(nonsending) static func text(of store: Store) async throws -> String {
        var lines: [String] = []
        for collection in ["metrics", "health", "hub"] {
            guard store.queries.parameters.collections.names.contains(collection) else {
                continue
            }
            let result = try await store.execute(
                DQL(verbatim: "SELECT name, value FROM system:\(collection)"))
            for item in result.items { lines += try Self.lines(try item.value) }
        }
        lines += Self.metric("commit", "\(store.queries.snapshot().log.commit)")
        return lines.map { $0 + "\n" }.joined()
    }

    private static func lines(_ row: Object) throws -> [String] {
        guard case .string(let name)? = row["name"] else { return [] }
        switch row["value"] {
        case .integer(let number): return metric(name, "\(number)")
        case .float(let number): return metric(name, "\(number)")
        case .bool(let isTrue): return metric(name, isTrue ? "1" : "0")
        default: return []
        }
    }

    /// Returns the lines of one metric; characters that names may not have become `_`.
    private static func metric(_ name: String, _ value: String) -> [String] {
        let escaped = String(
            name.unicodeScalars.map { scalar in
                scalar.isASCII && (scalar.properties.isAlphabetic || ("0"..."9").contains(scalar))
                    ? Character(scalar) : "_"
            })
        return ["# TYPE sheaf_\(escaped) gauge", "sheaf_\(escaped) \(value)"]
    }
}
