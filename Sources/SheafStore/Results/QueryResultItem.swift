public import SheafDocument
import SheafQuery
package import SheafStatements

/// A row of a result.
///
/// Each access reads the bytes of the store. `materialize` decodes the row once and retains it
/// until `dematerialize`.
// Throwing members are not inlined and have untyped errors: in asynchronous functions of clients,
// inlined ones and ones with typed errors crash the compiler.
public struct QueryResultItem: Sendable {
    package let storage: ResultStorage
    package let index: Int

    init(_ storage: ResultStorage, _ index: Int) {
        self.storage = storage
        self.index = index
    }

    /// The row, decoded.
    public var value: Object {
        @inline(never) get throws { try object() }
    }

    @inline(never)
    private func object() throws(StoreError) -> Object {
        try storage.object(index)
    }

    /// One field of the row, without decoding the others; nil if it is missing.
    ///
    ///     let color = try item["color"]
    ///     let street = try item["address", "street"]
    public subscript(path: String...) -> Value? {
        @inline(never) get throws { try field(path) }
    }

    /// One field of the row, without decoding the others; nil if it is missing.
    public subscript(name: String) -> Value? {
        @inline(never) get throws {
            if let known = storage.materializedRow(index) { return known[name] }
            return try storage.value(index, of: name)
        }
    }

    /// Returns the value at a path; nil if it is missing.
    func field(_ path: [String]) throws(StoreError) -> Value? {
        if let known = storage.materializedRow(index) { return Self.value(at: path, in: known) }
        return try storage.value(index, at: path)
    }

    private static func value(at path: [String], in object: Object) -> Value? {
        var value: Value? = .object(object)
        for name in path {
            guard case .object(let object)? = value else { return nil }
            value = object[name]
        }
        return value
    }

    /// The row as JSON.
    ///
    /// Integers and floats stay distinct, bytes are in base64, and NaN and infinities are null.
    public var jsonString: String {
        @inline(never) get throws { Value.object(try object()).json }
    }

    /// Decodes the row as `type`.
    ///
    ///     struct Car: Decodable { let _id: String, color: String }
    ///     let car = try item.decode(Car.self)
    ///
    /// `coding` is the form in which the row contains dates, decimals and durations.
    public func decode<T: Decodable>(
        _ type: T.Type = T.self, coding: ValueCoding = ValueCoding()
    ) throws -> T {
        try storage.decode(index, type, coding)
    }

    /// Whether the decoded row is retained.
    public var isMaterialized: Bool { storage.materializedRow(index) != nil }

    /// Decodes the row, and retains it until `dematerialize` or the end of the result.
    @inline(never)
    public func materialize() throws {
        _ = try storage.materialize(index)
    }

    /// Releases the decoded row; further accesses decode it again.
    public func dematerialize() {
        storage.dematerialize(index)
    }
}
