public import SheafDocument
import SheafQuery

/// A row of a result.
///
/// It is read from the bytes of the store each time that somebody asks for something. `materialize`
/// decodes it once and keeps it, until `dematerialize`.
// What throws is not inlined, and its errors have no type: within asynchronous functions of others both
// have crashed the compiler.
public struct QueryResultItem: Sendable {
    package let storage: ResultStorage
    package let index: Int

    init(_ storage: ResultStorage, _ index: Int) {
        self.storage = storage
        self.index = index
    }

    /// The row, decoded.
    public var value: Object {
        @inline(never) get throws { try storage.object(index) }
    }

    /// One field of the row, without decoding the others; nil where it is missing.
    ///
    ///     let color = try item["color"]
    ///     let street = try item["address", "street"]
    public subscript(path: String...) -> Value? {
        @inline(never) get throws { try field(path) }
    }

    /// One field of the row, without decoding the others; nil where it is missing.
    public subscript(name: String) -> Value? {
        @inline(never) get throws {
            if let known = storage.known(index) { return known[name] }
            return try storage.value(index, of: name)
        }
    }

    func field(_ path: [String]) throws(StoreError) -> Value? {
        if let known = storage.known(index) { return Self.value(at: path, in: known) }
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

    /// The row as JSON; integers and floats stay apart, bytes are texts in base64, and floats that JSON
    /// has no number for (NaN and the infinities) are null.
    public var jsonString: String {
        @inline(never) get throws { Value.object(try storage.object(index)).json }
    }

    /// The row as a type of yours.
    ///
    ///     struct Car: Decodable { let _id: String, color: String }
    ///     let car = try item.decode(Car.self)
    public func decode<T: Decodable>(_ type: T.Type = T.self) throws -> T {
        try ValueDecoder().decode(type, from: .object(try storage.object(index)))
    }

    /// Whether the row is kept decoded.
    public var isMaterialized: Bool { storage.known(index) != nil }

    /// Decodes the row, and keeps that until `dematerialize` or the end of the result.
    @inline(never)
    public func materialize() throws {
        _ = try storage.materialize(index)
    }

    /// Lets go of the decoded row; it is decoded again when somebody asks for it.
    public func dematerialize() {
        storage.dematerialize(index)
    }
}
