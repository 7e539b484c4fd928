package import SheafBytes
import SheafDocument

/// A query that a peer wants the documents of.
package struct SubscribedQuery: Sendable {
    /// A SELECT of whole documents of one collection.
    package let text: String
    /// Its arguments as a document with all names spelled, as INSERT INITIAL makes it.
    package let arguments: [UInt8]

    package init(text: String, arguments: [UInt8]) {
        self.text = text
        self.arguments = arguments
    }
}

extension SubscribedQuery: Hashable {
    /// Texts that only look alike are others.
    package static func == (left: SubscribedQuery, right: SubscribedQuery) -> Bool {
        UTF8Order.compare(left.text, right.text) == 0 && left.arguments == right.arguments
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(text)
        hasher.combine(arguments)
    }
}

/// How far a peer has the documents that it subscribed to.
package struct Cursor: Hashable, Sendable {
    /// The log of the other side, as its greeting named it.
    package let log: XXH3.Hash128
    /// All of it is there up to this commit.
    package let commit: UInt64

    package init(log: XXH3.Hash128, commit: UInt64) {
        self.log = log
        self.commit = commit
    }
}

extension SubscribedQuery {
    /// The number of bytes of the text and the arguments, which limits count.
    package var length: Int { text.utf8.count + arguments.count }
}

/// Everything a peer subscribes to, in as many frames as it needs (`format-spec/sync.md`, table 11).
package struct Subscribe: Equatable, Sendable {
    /// Counts the subscriptions of a connection; what is sent for an older one counts for nothing.
    package let generation: UInt64
    package let queries: [SubscribedQuery]
    /// The newest commit of this side: what it has sent before, it may have taken away since.
    package let commit: UInt64
    /// Where to go on; without it the two sides compare what they have.
    package let cursor: Cursor?
    /// Documents behind the cursor that are needed whole, since deltas do not fit.
    package let whole: [DocumentAddress]

    package init(
        generation: UInt64, _ queries: [SubscribedQuery], at commit: UInt64,
        from cursor: Cursor? = nil, whole: [DocumentAddress] = []
    ) {
        self.commit = commit
        self.generation = generation
        self.queries = queries
        self.cursor = cursor
        self.whole = whole
    }

    /// The parts that carry the subscription, in order; each fits into a frame.
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
        let end = SubscribePart.End(commit: commit, cursor: cursor, whole: whole)
        if !current.isEmpty, length + end.length > SubscribePart.targetLength { cut() }
        parts.append(SubscribePart(generation: generation, current, end: end))
        return parts
    }
}

/// One frame of a `Subscribe`.
package struct SubscribePart: Equatable, Sendable {
    /// What only the last part carries.
    package struct End: Equatable, Sendable {
        package let commit: UInt64
        package let cursor: Cursor?
        package let whole: [DocumentAddress]

        package init(commit: UInt64, cursor: Cursor?, whole: [DocumentAddress]) {
            self.commit = commit
            self.cursor = cursor
            self.whole = whole
        }

        /// An upper bound of the encoded length.
        var length: Int { 48 + Self.length(of: whole) }

        static func length(of whole: [DocumentAddress]) -> Int {
            whole.reduce(0) { $0 + $1.collection.utf8.count + $1.id.count + 8 }
        }
    }

    package let generation: UInt64
    package let queries: [SubscribedQuery]
    /// Nil where the next frame continues the subscription.
    package let end: End?

    /// A part ends before the query that would make it longer.
    fileprivate static let targetLength = SyncLimits.frameLength - (4 << 10)
    /// The longest length prefixes of a text and its arguments.
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
            writer.write(end.whole)
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
        // A part without queries that ends nothing would let a sender go on for ever.
        guard flag == 0 || count > 0 else {
            throw .invalid("a part without queries that is continued", at: reader.offset)
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
        case 0: (cursor, whole) = (nil, [])
        case 1:
            cursor = Cursor(log: try reader.readHash128(), commit: try reader.readVarint())
            whole = try reader.readAddresses()
        case let byte: throw .unexpected(byte, at: start)
        }
    }
}

extension Subscribe {
    /// Whether documents fit into a `subscribe` that names them as needed whole.
    package static func fits(whole: [DocumentAddress]) -> Bool {
        SubscribePart.End.length(of: whole) <= SyncLimits.wholeLength
    }
}

/// A subscription whose last part has not come.
struct PartialSubscribe: Sendable {
    let generation: UInt64
    private(set) var queries: [SubscribedQuery] = []
    private(set) var length = 0

    init(generation: UInt64) {
        self.generation = generation
    }

    /// The name and value of the limit that is exceeded; nil within all limits.
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
