package import SheafBytes
package import SheafDocument

/// A query of a subscription.
package struct SubscribedQuery: Sendable {
    /// A `SELECT *` of one collection, or `allCollections`.
    package let text: String
    /// Encoded arguments with all names spelled out, like those of `INSERT INITIAL`.
    package let arguments: [UInt8]

    package init(text: String, arguments: [UInt8]) {
        self.text = text
        self.arguments = arguments
    }

    /// The text that selects all documents of all collections, also of later ones.
    package static let allCollections = "*"

    /// Whether the query selects all documents of all collections.
    package var selectsAllCollections: Bool {
        UTF8Order.compare(text, Self.allCollections) == 0
    }
}

extension SubscribedQuery: Hashable {
    /// Compares byte by byte; texts that are only canonically equivalent differ.
    package static func == (left: SubscribedQuery, right: SubscribedQuery) -> Bool {
        UTF8Order.compare(left.text, right.text) == 0 && left.arguments == right.arguments
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(text)
        hasher.combine(arguments)
    }
}

/// The position up to which a peer has received the documents of its subscription.
package struct Cursor: Hashable, Sendable {
    /// The log of the sender, as identified by its hello.
    package let log: XXH3.Hash128
    /// The last commit received completely.
    package let commit: UInt64

    package init(log: XXH3.Hash128, commit: UInt64) {
        self.log = log
        self.commit = commit
    }
}

extension SubscribedQuery {
    /// Length of the text and the arguments in bytes, as counted by the limits.
    package var length: Int { text.utf8.count + arguments.count }
}

/// A complete subscription, sent in one or more frames (`format-spec/sync.md`, table 11).
package struct Subscribe: Equatable, Sendable {
    /// Number of the subscription on the connection; frames for an older one are ignored.
    package let generation: UInt64
    package let queries: [SubscribedQuery]
    /// The subscriber's newest commit, or a reserved batch number if the sender is a limited peer.
    ///
    /// The subscriber may have evicted documents that it sent up to this commit.
    package let commit: UInt64
    /// The position to resume from; nil starts a reconciliation.
    package let cursor: Cursor?
    /// Documents that must be sent complete after the cursor, since their deltas do not apply.
    package let complete: [DocumentAddress]

    package init(
        generation: UInt64, _ queries: [SubscribedQuery], at commit: UInt64,
        from cursor: Cursor? = nil, complete: [DocumentAddress] = []
    ) {
        self.commit = commit
        self.generation = generation
        self.queries = queries
        self.cursor = cursor
        self.complete = complete
    }

    /// The parts of the subscription, in order; each fits in a frame.
    package var parts: [SubscribePart] {
        var parts: [SubscribePart] = []
        var (current, length): ([SubscribedQuery], Int) = ([], 0)
        func cut() {
            parts.append(SubscribePart(generation: generation, current, end: nil))
            (current, length) = ([], 0)
        }
        for query in queries {
            let size = query.length + SubscribePart.queryOverhead
            if !current.isEmpty, length + size > SubscribePart.targetLength { cut() }
            current.append(query)
            length += size
        }
        let end = SubscribePart.End(commit: commit, cursor: cursor, complete: complete)
        if !current.isEmpty, length + end.length > SubscribePart.targetLength { cut() }
        parts.append(SubscribePart(generation: generation, current, end: end))
        return parts
    }
}

/// One frame of a `Subscribe`.
package struct SubscribePart: Equatable, Sendable {
    /// The content of only the last part.
    package struct End: Equatable, Sendable {
        package let commit: UInt64
        package let cursor: Cursor?
        package let complete: [DocumentAddress]

        package init(commit: UInt64, cursor: Cursor?, complete: [DocumentAddress]) {
            self.commit = commit
            self.cursor = cursor
            self.complete = complete
        }

        /// Upper bound of the encoded length.
        var length: Int { 48 + Self.length(of: complete) }

        static func length(of whole: [DocumentAddress]) -> Int {
            whole.reduce(0) { $0 + $1.collection.utf8.count + $1.id.count + 8 }
        }
    }

    package let generation: UInt64
    package let queries: [SubscribedQuery]
    /// The end of the subscription; nil if the next frame continues it.
    package let end: End?

    /// Length beyond which a query starts the next part.
    fileprivate static let targetLength = SyncLimits.frameLength - (4 << 10)
    /// Upper bound of the length of the two length prefixes of a query, together.
    fileprivate static let queryOverhead = 8

    package init(generation: UInt64, _ queries: [SubscribedQuery], end: End?) {
        self.generation = generation
        self.queries = queries
        self.end = end
    }

    package var bytes: [UInt8] {
        var writer = ByteWriter(capacity: 256)
        writer.writeVarint(generation)
        writer.write(UInt8(end == nil ? 1 : 0))
        writer.writeVarint(UInt64(queries.count))
        for query in queries {
            writer.writeText(query.text)
            writer.writeVarint(UInt64(query.arguments.count))
            writer.write(query.arguments)
        }
        guard let end else { return writer.bytes }
        writer.writeVarint(end.commit)
        writer.write(UInt8(end.cursor == nil ? 0 : 1))
        if let cursor = end.cursor {
            writer.write(cursor.log)
            writer.writeVarint(cursor.commit)
            writer.write(end.complete)
        }
        return writer.bytes
    }

    package init(decoding bytes: UnsafeRawBufferPointer) throws(Malformed) {
        var reader = ByteReader(bytes)
        generation = try reader.readVarint()
        let flag = try reader.readUInt8()
        guard flag <= 1 else { throw .unexpected(flag, at: reader.offset - 1) }
        let count = try reader.readVarint()
        guard count <= UInt64(SyncLimits.queries) else {
            throw .tooLong(
                at: reader.offset, length: count, limit: UInt64(SyncLimits.queries))
        }
        // A sender could otherwise send empty parts without end.
        guard flag == 0 || count > 0 else {
            throw .invalid("an empty part that is continued", at: reader.offset)
        }
        var queries: [SubscribedQuery] = []
        for _ in 0..<count {
            let text = try reader.readText(limit: SyncLimits.queryLength)
            let arguments = try reader.readLengthPrefixed(limit: SyncLimits.argumentsLength)
            queries.append(SubscribedQuery(text: text, arguments: Array(arguments)))
        }
        self.queries = queries
        end = flag == 1 ? nil : try End(&reader)
        try reader.checkEnd()
    }
}

extension SubscribePart.End {
    fileprivate init(_ reader: inout ByteReader) throws(Malformed) {
        commit = try reader.readVarint()
        let start = reader.offset
        switch try reader.readUInt8() {
        case 0: (cursor, complete) = (nil, [])
        case 1:
            cursor = Cursor(log: try reader.readHash128(), commit: try reader.readVarint())
            complete = try reader.readAddresses()
        case let byte: throw .unexpected(byte, at: start)
        }
    }
}

extension Subscribe {
    /// Whether the addresses fit in the `complete` list of a subscription.
    package static func fits(complete: [DocumentAddress]) -> Bool {
        SubscribePart.End.length(of: complete) <= SyncLimits.completeLength
    }
}

/// A subscription whose last part was not received.
struct PartialSubscribe: Sendable {
    package let generation: UInt64
    private(set) var queries: [SubscribedQuery] = []
    private(set) var length = 0

    init(generation: UInt64) {
        self.generation = generation
    }

    /// Description of the exceeded limit, or nil.
    var excess: String? {
        if queries.count > SyncLimits.queries {
            return "a subscription has more than \(SyncLimits.queries) queries"
        }
        if length > SyncLimits.subscriptionLength {
            return "the queries of a subscription have more than \(SyncLimits.subscriptionLength) "
                + "bytes together"
        }
        return nil
    }

    mutating func append(_ part: SubscribePart) {
        queries += part.queries
        length += part.queries.reduce(0) { $0 + $1.length }
    }
}
