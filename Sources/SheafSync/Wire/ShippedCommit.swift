package import SheafBytes
package import SheafDocument

/// A document or a delta of one, as sent to a peer (`format-spec/sync.md`, table 7).
package struct ShippedDocument: Equatable, Sendable {
    package enum Form: UInt8, Sendable {
        /// The complete document.
        case state = 1
        /// The changed parts, for a receiver that has the preceding state.
        case delta = 2
    }

    package let collection: String
    package let id: [UInt8]
    package let form: Form
    /// Encoded with the name numbers of the connection; unnumbered names are spelled out.
    package let bytes: [UInt8]
    /// Attachment ids of unproven tokens in the document, ascending; 32 zero bytes stand for all.
    package let unproven: [[UInt8]]

    package init(
        collection: String, id: [UInt8], _ form: Form, _ bytes: [UInt8],
        unproven: [[UInt8]] = []
    ) {
        self.unproven = unproven
        self.collection = collection
        self.id = id
        self.form = form
        self.bytes = bytes
    }
}

/// One or several combined commits, or a part of one; a receiver applies the batch atomically.
package struct ShippedCommit: Equatable, Sendable {
    /// Commit number in the sender's log; the last one of several.
    package let commit: UInt64
    /// Stamp of the original commit; nil for several.
    package let stamp: Stamp?
    package let documents: [ShippedDocument]
    /// Whether further parts of the batch follow.
    package let isContinued: Bool
    /// Whether the commit continues in the next batch.
    package let isCut: Bool
    /// Whether the batch ends a wanted part; it then also has `isCut` set.
    package let endsPart: Bool
    /// Number of documents that remain to be sent, those of this part included; 0 if unknown.
    ///
    /// An estimate, for a long batch or one in several parts; nil for others.
    package let remaining: UInt64?

    package init(
        commit: UInt64, stamp: Stamp?, _ documents: [ShippedDocument], isContinued: Bool = false,
        isCut: Bool = false, endsPart: Bool = false, remaining: UInt64? = nil
    ) {
        self.remaining = remaining
        self.isCut = isCut
        self.endsPart = endsPart
        self.commit = commit
        self.stamp = stamp
        self.documents = documents
        self.isContinued = isContinued
    }
}

extension ShippedCommit {
    fileprivate enum Flags {
        static let stamp: UInt8 = 1
        static let cut: UInt8 = 2
        static let endOfPart: UInt8 = 4
        static let remaining: UInt8 = 8
        static let all = stamp | cut | endOfPart | remaining
    }

    /// Flags in the first byte of a document, in addition to its form.
    fileprivate enum DocumentFlags {
        static let sameCollection: UInt8 = 1
        static let unproven: UInt8 = 8
    }

    /// The byte after the last document: the end of the batch, or of one part of it.
    fileprivate enum End {
        static let ofStep: UInt8 = 0
        static let ofPart: UInt8 = 1
    }

    /// Appends the commit to a run of commits.
    package func write(into writer: inout CommitWriter) {
        writer.begin(self)
        for document in documents {
            document.id.withUnsafeBytes { id in
                document.bytes.withUnsafeBytes { bytes in
                    writer.add(
                        document.collection, id: id, document.form, bytes,
                        unproven: document.unproven)
                }
            }
        }
        writer.end(isContinued: isContinued)
    }

    /// Reads one commit of a run.
    ///
    /// - Parameter room: Number of documents and commits still allowed; decremented.
    package init(from reader: inout ByteReader, room: inout Int) throws(Malformed) {
        let start = reader.offset
        try Self.consume(&room, at: start)
        let flags = try reader.readUInt8()
        guard flags & ~Flags.all == 0 else { throw .unexpected(flags, at: start) }
        isCut = flags & Flags.cut != 0
        endsPart = flags & Flags.endOfPart != 0
        guard isCut || !endsPart else { throw .unexpected(flags, at: start) }
        commit = try reader.readVarint()
        if flags & Flags.stamp != 0 {
            let site = Site(rawValue: try reader.readUInt64())
            stamp = Stamp(HybridTime(rawValue: try reader.readUInt64()), site)
        } else {
            stamp = nil
        }
        remaining = flags & Flags.remaining != 0 ? try reader.readVarint() : nil
        var documents: [ShippedDocument] = []
        while true {
            let flags = try reader.readUInt8()
            guard flags > End.ofPart else {
                isContinued = flags == End.ofPart
                guard !isContinued || !isCut else {
                    throw .invalid("a batch both continued and cut", at: start)
                }
                break
            }
            try Self.consume(&room, at: start)
            let collection = documents.last?.collection
            documents.append(try ShippedDocument(from: &reader, flags, after: collection))
        }
        self.documents = documents
    }

    private static func consume(_ room: inout Int, at offset: Int) throws(Malformed) {
        room -= 1
        guard room >= 0 else {
            throw .invalid(
                "more than \(SyncLimits.segmentDocuments) documents and commits", at: offset)
        }
    }

    /// Reads all commits of a run, in order.
    package static func all(in reader: inout ByteReader) throws(Malformed) -> [ShippedCommit] {
        var commits: [ShippedCommit] = []
        var room = SyncLimits.segmentDocuments
        while reader.remaining > 0 {
            commits.append(try ShippedCommit(from: &reader, room: &room))
        }
        return commits
    }
}

/// An encoder of consecutive commits, document by document.
package struct CommitWriter: Sendable {
    private(set) var writer = ByteWriter(capacity: 0)
    private var collection: String?

    package init() {}

    package var bytes: [UInt8] { writer.bytes }
    package var count: Int { writer.count }

    /// Begins a commit, or a part of one, without its documents.
    mutating func begin(_ commit: ShippedCommit) {
        begin(
            commit.commit, stamp: commit.stamp, isCut: commit.isCut, endsPart: commit.endsPart,
            remaining: commit.remaining)
    }

    /// Begins a commit, or a part of one.
    package mutating func begin(
        _ commit: UInt64, stamp: Stamp?, isCut: Bool = false, endsPart: Bool = false,
        remaining: UInt64? = nil
    ) {
        typealias Flags = ShippedCommit.Flags
        writer.write(
            (stamp == nil ? 0 : Flags.stamp) | (isCut ? Flags.cut : 0)
                | (endsPart ? Flags.endOfPart : 0) | (remaining == nil ? 0 : Flags.remaining))
        writer.writeVarint(commit)
        if let stamp {
            writer.write(stamp.site.rawValue)
            writer.write(stamp.time.rawValue)
        }
        if let remaining { writer.writeVarint(remaining) }
        collection = nil
    }

    /// Adds a document to the current commit.
    package mutating func add(
        _ collection: String, id: UnsafeRawBufferPointer, _ form: ShippedDocument.Form,
        _ bytes: UnsafeRawBufferPointer, unproven: [[UInt8]] = []
    ) {
        typealias DocumentFlags = ShippedCommit.DocumentFlags
        // Most documents of a commit are in one collection.
        let isSame = self.collection.map { UTF8Order.compare($0, collection) } == 0
        writer.write(
            form.rawValue << 1 | (isSame ? DocumentFlags.sameCollection : 0)
                | (unproven.isEmpty ? 0 : DocumentFlags.unproven))
        if !isSame {
            writer.writeText(collection)
            self.collection = collection
        }
        writer.writeLengthPrefixed(id)
        writer.writeLengthPrefixed(bytes)
        guard !unproven.isEmpty else { return }
        writer.writeVarint(UInt64(unproven.count))
        for id in unproven { writer.write(id) }
    }

    /// Ends the commit, or a part of it if `isContinued`.
    package mutating func end(isContinued: Bool) {
        writer.write(isContinued ? ShippedCommit.End.ofPart : ShippedCommit.End.ofStep)
    }

    package mutating func removeAll(keepingCapacity: Bool = false) {
        if keepingCapacity { writer.removeAll() } else { writer = ByteWriter(capacity: 0) }
        collection = nil
    }
}

extension ShippedDocument {
    fileprivate init(
        from reader: inout ByteReader, _ flags: UInt8, after collection: String?
    ) throws(Malformed) {
        let start = reader.offset - 1
        typealias DocumentFlags = ShippedCommit.DocumentFlags
        guard let form = Form(rawValue: (flags & ~DocumentFlags.unproven) >> 1) else {
            throw .unexpected(flags, at: start)
        }
        if flags & DocumentFlags.sameCollection == 0 {
            self.collection = try reader.readText(limit: SyncLimits.collectionLength)
        } else if let collection {
            self.collection = collection
        } else {
            throw .invalid("a first document without a collection", at: start)
        }
        self.form = form
        let idStart = reader.offset
        id = Array(try reader.readLengthPrefixed(limit: SyncLimits.idLength))
        guard !id.isEmpty else { throw .invalid("an empty id", at: idStart) }
        bytes = Array(try reader.readLengthPrefixed(limit: EncodedDocument.maximumLength))
        unproven = flags & DocumentFlags.unproven == 0 ? [] : try Self.readUnproven(from: &reader)
    }

    /// Reads attachment ids in ascending order.
    private static func readUnproven(from reader: inout ByteReader) throws(Malformed) -> [[UInt8]] {
        let start = reader.offset
        let count = try reader.readVarint()
        guard 1...UInt64(SyncLimits.unprovenTokens) ~= count else {
            throw .tooLong(
                at: start, length: count, limit: UInt64(SyncLimits.unprovenTokens))
        }
        var ids: [[UInt8]] = []
        for _ in 0..<count {
            let idStart = reader.offset
            let id = Array(try reader.readBytes(SyncLimits.attachmentIDLength))
            if let last = ids.last, !last.lexicographicallyPrecedes(id) {
                throw .invalid("attachment ids out of order", at: idStart)
            }
            ids.append(id)
        }
        return ids
    }
}
