public import Foundation
import Sheaf
import Synchronization

/// A row of a result: a cursor, which is read from the bytes of the store when it is asked.
public final class DittoQueryResultItem: Sendable {
    let row: QueryResultItem
    private let complaints: Complaints
    private let kept = Mutex<Materialized?>(nil)

    init(_ row: QueryResultItem, _ complaints: Complaints) {
        self.row = row
        self.complaints = complaints
    }

    /// The row as a dictionary, which is kept until `dematerialize()`.
    ///
    /// Numbers are `NSNumber`, so that casts to any type that they fit succeed; null is nil, bytes
    /// are `Data`. A row whose bytes are damaged is empty, and `onUnthrownError` of the store is told.
    public var value: [String: Any?] {
        if let known = kept.withLock({ $0 }) { return known.value }
        // Nothing is kept of what cannot be read: who asks again is told again.
        let read: Materialized? = complaints.returning(nil) {
            Materialized(value: try row.value.dittoValue)
        }
        guard let read else { return [:] }
        kept.withLock { $0 = read }
        return read.value
    }

    /// Whether the row is kept as a dictionary.
    public var isMaterialized: Bool { kept.withLock { $0 != nil } }

    /// Reads the row into a dictionary, and keeps that until `dematerialize()`.
    public func materialize() {
        _ = value
    }

    /// Lets go of the dictionary; it is made again when somebody asks for it.
    public func dematerialize() {
        kept.withLock { $0 = nil }
    }

    /// The row as CBOR (RFC 8949), in its deterministic form.
    public func cborData() -> Data {
        var writer = CBORWriter()
        writer.write(.object(complaints.returning(Object()) { try row.value }))
        return Data(writer.bytes)
    }

    /// The row as JSON; bytes are texts in base64.
    public func jsonString() -> String {
        complaints.returning("{}") { try row.jsonString }
    }
}

/// A dictionary that several threads may read.
// It is made of values and of objects of Foundation that nobody can change, which the compiler cannot
// see behind `Any`.
private struct Materialized: @unchecked Sendable {
    let value: [String: Any?]
}
