package import SheafBytes

/// A path into an id that is an object, resolved in the encoded id.
package struct IDPath: Equatable, Sendable {
    /// The names as encoded components.
    private let names: [[UInt8]]

    package init(_ path: [String]) {
        names = path.map { SortKey.identity(of: .string($0)) }
    }

    /// Returns the value in an encoded id; nil if there is none.
    package func value(in id: UnsafeRawBufferPointer) throws(Malformed) -> Value? {
        guard var reader = try SortKeyReader(id: id, at: names) else { return nil }
        return try reader.value()
    }

    /// Returns the value as an element that refers to the bytes of the encoded id.
    @inline(__always)
    package func element(in id: UnsafeRawBufferPointer) throws(Malformed) -> FieldElement {
        guard var reader = try SortKeyReader(id: id, at: names) else {
            return FieldElement(.missing)
        }
        return try reader.element()
    }
}
