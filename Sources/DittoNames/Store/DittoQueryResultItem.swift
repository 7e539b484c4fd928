public import Foundation
import Sheaf
import Synchronization

/// A row of a result, decoded from the memory of the store on access.
public final class DittoQueryResultItem: Sendable {
    let row: QueryResultItem
    private let errorHandler: ErrorHandler
    private let kept = Mutex<Materialized?>(nil)

    init(_ row: QueryResultItem, _ errorHandler: ErrorHandler) {
        self.row = row
        self.errorHandler = errorHandler
    }

    /// The row as a dictionary, cached until `dematerialize()`.
    ///
    /// Numbers are `NSNumber`, so casts succeed for any type that can represent them; null is nil,
    /// bytes are `Data`. A damaged row is empty, and its error is passed to `onUnthrownError` of
    /// the store.
    public var value: [String: Any?] {
        if let known = kept.withLock({ $0 }) { return known.value }
        // A failed read is not cached, so the next access reports the error again.
        let read: Materialized? = errorHandler.returning(nil) {
            Materialized(value: try row.value.dittoValue)
        }
        guard let read else { return [:] }
        kept.withLock { $0 = read }
        return read.value
    }

    /// Whether the dictionary of the row is cached.
    public var isMaterialized: Bool { kept.withLock { $0 != nil } }

    /// Decodes the row into a dictionary, cached until `dematerialize()`.
    public func materialize() {
        _ = value
    }

    /// Releases the dictionary; the next access decodes it again.
    public func dematerialize() {
        kept.withLock { $0 = nil }
    }

    /// Returns the row as CBOR in deterministic encoding (RFC 8949).
    public func cborData() -> Data {
        var writer = CBORWriter()
        writer.write(.object(errorHandler.returning(Object()) { try row.value }))
        return Data(writer.bytes)
    }

    /// Returns the row as JSON; bytes are strings in Base64.
    public func jsonString() -> String {
        errorHandler.returning("{}") { try row.jsonString }
    }
}

/// A dictionary that several threads may read.
// It contains only values and immutable Foundation objects, which the compiler cannot check
// through `Any`.
private struct Materialized: @unchecked Sendable {
    let value: [String: Any?]
}
