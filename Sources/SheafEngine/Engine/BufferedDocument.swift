package import SheafBytes
package import SheafDocument

/// A received document, validated and with the field-name numbers of this store.
///
/// It is valid only during the call that receives it.
package struct BufferedDocument {
    package let collection: String
    /// Whether it is the first document, or the preceding one is in another collection.
    package let beginsCollection: Bool
    package let id: UnsafeRawBufferPointer
    package let marks: SpillBuffer.Marks
    package let bytes: UnsafeRawBufferPointer
    /// The contents of `bytes` as a slice that may outlive the call.
    package let contents: ArraySlice<UInt8>
    /// The ids of attachments whose tokens the sender reports as unproven.
    package let unproven: [[UInt8]]

    package init(
        collection: String, beginsCollection: Bool, id: UnsafeRawBufferPointer,
        marks: SpillBuffer.Marks, bytes: UnsafeRawBufferPointer, contents: ArraySlice<UInt8>,
        unproven: [[UInt8]]
    ) {
        self.collection = collection
        self.beginsCollection = beginsCollection
        self.id = id
        self.marks = marks
        self.bytes = bytes
        self.contents = contents
        self.unproven = unproven
    }

    package var address: DocumentAddress { DocumentAddress(collection: collection, id: Array(id)) }
}

extension BufferedDocument {
    package init(
        from reader: inout ByteReader, in block: [UInt8], after collection: String?
    ) throws(Malformed) {
        let start = reader.offset
        marks = SpillBuffer.Marks(rawValue: try reader.readUInt8())
        beginsCollection = !marks.contains(.staysInCollection)
        if beginsCollection {
            self.collection = try reader.readText(limit: DocumentAddress.maximumCollectionLength)
        } else if let collection {
            self.collection = collection
        } else {
            throw .invalid("a first document without its collection", at: start)
        }
        id = try reader.readLengthPrefixed(limit: DocumentAddress.maximumIDLength)
        // No limit applies: spelled names can make the document longer than it was on the wire.
        bytes = try reader.readLengthPrefixed(limit: .max)
        contents = block[reader.offset - bytes.count..<reader.offset]
        var unproven: [[UInt8]] = []
        if marks.contains(.hasUnproven) {
            for _ in 0..<(try reader.readVarint()) {
                unproven.append(Array(try reader.readBytes(AttachmentID.length)))
            }
        }
        self.unproven = unproven
    }
}
