package import SheafBytes
package import SheafDocument

/// Documents of a batch that the receiver refused (`format-spec/sync.md`, table 29).
package struct RefusedNotice: Equatable, Sendable {
    /// The state of a document that the write rule for its sender does not permit.
    package enum Reason: UInt8, Sendable, CaseIterable {
        /// The document with the write applied.
        case result = 0
        /// The document before the write.
        case original = 1
    }

    package let generation: UInt64
    /// The commit of the batch in the sender's log.
    package let commit: UInt64
    package let reason: Reason
    /// Number of further refused documents that no notice names.
    package let omitted: UInt64
    package let addresses: [DocumentAddress]

    package init(
        generation: UInt64, commit: UInt64, _ reason: Reason, omitted: UInt64 = 0,
        _ addresses: [DocumentAddress]
    ) {
        self.generation = generation
        self.commit = commit
        self.reason = reason
        self.omitted = omitted
        self.addresses = addresses
    }

    package var bytes: [UInt8] {
        var writer = ByteWriter(capacity: 64)
        writer.writeVarint(generation)
        writer.writeVarint(commit)
        writer.write(reason.rawValue)
        writer.writeVarint(omitted)
        writer.write(addresses)
        return writer.bytes
    }

    package init(decoding bytes: UnsafeRawBufferPointer) throws(Malformed) {
        var reader = ByteReader(bytes)
        generation = try reader.readVarint()
        commit = try reader.readVarint()
        let start = reader.offset
        let byte = try reader.readUInt8()
        guard let reason = Reason(rawValue: byte) else { throw .unexpected(byte, at: start) }
        self.reason = reason
        omitted = try reader.readVarint()
        let listed = reader.offset
        addresses = try reader.readAddresses()
        guard addresses.count <= SyncLimits.refusedDocuments else {
            throw .tooLong(
                at: listed, length: UInt64(addresses.count),
                limit: UInt64(SyncLimits.refusedDocuments))
        }
        guard omitted > 0 || !addresses.isEmpty else {
            throw .invalid("a notice without documents", at: listed)
        }
        try reader.checkEnd()
    }
}
