package import SheafDocument

/// A document visited by a scan or a lookup.
package struct ScannedDocument {
    package let fields: EncodedObject
    /// The encoded id of the document.
    package let id: UnsafeRawBufferPointer
    /// Record pointer of the document, unique within the snapshot.
    package let position: UInt64
    /// Whether the bytes remain valid until the store is closed.
    package let isLasting: Bool

    package init(
        _ fields: EncodedObject, id: UnsafeRawBufferPointer, position: UInt64, isLasting: Bool
    ) {
        self.fields = fields
        self.id = id
        self.position = position
        self.isLasting = isLasting
    }
}
