package import SheafBytes
package import SheafDocument

/// A document, or what was touched of one, on its way (`format-spec/sync.md`, table 7).
package struct ShippedDocument: Equatable, Sendable {
    package enum Form: UInt8, Sendable {
        /// All of it.
        case state = 1
        /// What was touched, for those who have what it stands on.
        case delta = 2
    }

    package let collection: String
    package let id: [UInt8]
    package let form: Form
    /// With all names spelled: the numbers of names are a store's own.
    package let bytes: [UInt8]

    package init(collection: String, id: [UInt8], _ form: Form, _ bytes: [UInt8]) {
        self.collection = collection
        self.id = id
        self.form = form
        self.bytes = bytes
    }
}

/// A commit on its way, or what several come to: whoever gets it takes all of it or nothing.
package struct ShippedCommit: Equatable, Sendable {
    /// Its number in the log of the sender; of several, the last one.
    package let commit: UInt64
    /// Who wrote it first, and when; none where that is several.
    package let stamp: Stamp?
    package let documents: [ShippedDocument]
    /// Whether more of the same step follows.
    package let isContinued: Bool

    package init(
        commit: UInt64, stamp: Stamp?, _ documents: [ShippedDocument], isContinued: Bool = false
    ) {
        self.commit = commit
        self.stamp = stamp
        self.documents = documents
        self.isContinued = isContinued
    }
}

extension ShippedCommit {
    private enum Flags {
        static let isContinued: UInt8 = 1
        static let hasStamp: UInt8 = 2
    }

    /// Writes it behind others.
    package func write(into writer: inout ByteWriter) {
        var flags: UInt8 = isContinued ? Flags.isContinued : 0
        if stamp != nil { flags |= Flags.hasStamp }
        writer.write(flags)
        writer.writeVarint(commit)
        if let stamp {
            writer.write(stamp.site.rawValue)
            writer.write(stamp.time.rawValue)
        }
        writer.writeVarint(UInt64(documents.count))
        var collection: String?
        for document in documents {
            // Most documents of a commit are of one collection.
            let isSame = document.collection == collection
            writer.write(document.form.rawValue << 1 | (isSame ? 1 : 0))
            if !isSame { writer.writeText(document.collection) }
            collection = document.collection
            writer.writeVarint(UInt64(document.id.count))
            writer.write(document.id)
            writer.writeVarint(UInt64(document.bytes.count))
            writer.write(document.bytes)
        }
    }

    /// Reads one of several.
    package init(from reader: inout ByteReader) throws(Malformed) {
        let start = reader.offset
        let flags = try reader.readUInt8()
        guard flags & ~(Flags.isContinued | Flags.hasStamp) == 0 else {
            throw .unexpected(flags, at: start)
        }
        isContinued = flags & Flags.isContinued != 0
        commit = try reader.readVarint()
        if flags & Flags.hasStamp != 0 {
            let site = Site(rawValue: try reader.readUInt64())
            stamp = Stamp(HybridTime(rawValue: try reader.readUInt64()), site)
        } else {
            stamp = nil
        }
        let count = try reader.readVarint()
        var documents: [ShippedDocument] = []
        // Each takes bytes, so a count that is a lie ends with them.
        for _ in 0..<count {
            let collection = documents.last?.collection
            documents.append(try ShippedDocument(from: &reader, after: collection))
        }
        self.documents = documents
    }

    /// The commits of a segment, in their order.
    package static func all(in bytes: UnsafeRawBufferPointer) throws(Malformed) -> [ShippedCommit] {
        var reader = ByteReader(bytes)
        var commits: [ShippedCommit] = []
        while reader.remaining > 0 { commits.append(try ShippedCommit(from: &reader)) }
        return commits
    }
}

extension ShippedDocument {
    fileprivate init(
        from reader: inout ByteReader, after collection: String?
    ) throws(Malformed) {
        let start = reader.offset
        let head = try reader.readUInt8()
        guard let form = Form(rawValue: head >> 1) else { throw .unexpected(head, at: start) }
        if head & 1 == 0 {
            self.collection = try reader.readText(limit: SyncLimits.collectionLength)
        } else if let collection {
            self.collection = collection
        } else {
            throw .invalid("a first document without its collection", at: start)
        }
        self.form = form
        let idStart = reader.offset
        id = Array(try reader.readLengthPrefixed(limit: SyncLimits.idLength))
        guard !id.isEmpty else { throw .invalid("an id without bytes", at: idStart) }
        bytes = Array(try reader.readLengthPrefixed(limit: EncodedDocument.maximumLength))
    }
}
