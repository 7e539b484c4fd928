package import SheafBytes
package import SheafDocument

/// The address of an attachment token in a document (`format-spec/sync.md`, table 30).
package struct TokenAddress: Hashable, Sendable {
    /// The attachment id, 32 bytes.
    package let attachment: [UInt8]
    package let document: DocumentAddress

    package init(attachment: [UInt8], document: DocumentAddress) {
        self.attachment = attachment
        self.document = document
    }

    package var bytes: [UInt8] { attachment + document.bytes }

    package init(decoding bytes: UnsafeRawBufferPointer) throws(Malformed) {
        var reader = ByteReader(bytes)
        attachment = Array(try reader.readBytes(SyncLimits.attachmentIDLength))
        document = try DocumentAddress(
            decoding: UnsafeRawBufferPointer(rebasing: bytes[SyncLimits.attachmentIDLength...]))
    }
}
