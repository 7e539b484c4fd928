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

/// What a peer wants from now on (`format-spec/sync.md`, table 11).
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

    package var bytes: [UInt8] {
        var writer = ByteWriter(capacity: 256)
        writer.writeVarint(generation)
        writer.writeVarint(UInt64(queries.count))
        for query in queries {
            writer.writeText(query.text)
            writer.writeVarint(UInt64(query.arguments.count))
            writer.write(query.arguments)
        }
        writer.writeVarint(commit)
        writer.write(UInt8(cursor == nil ? 0 : 1))
        if let cursor {
            writer.write(cursor.log)
            writer.writeVarint(cursor.commit)
            writer.write(whole)
        }
        return writer.bytes
    }

    package init(decoding bytes: UnsafeRawBufferPointer) throws(Malformed) {
        var reader = ByteReader(bytes)
        generation = try reader.readVarint()
        let count = try reader.readVarint()
        guard count <= UInt64(SyncLimits.queries) else {
            throw .tooLong(
                at: reader.offset, length: count, limit: UInt64(SyncLimits.queries))
        }
        var queries: [SubscribedQuery] = []
        for _ in 0..<count {
            let text = try reader.readText(limit: SyncLimits.queryLength)
            let arguments = try reader.readLengthPrefixed(limit: SyncLimits.argumentsLength)
            queries.append(SubscribedQuery(text: text, arguments: Array(arguments)))
        }
        self.queries = queries
        commit = try reader.readVarint()
        let start = reader.offset
        switch try reader.readUInt8() {
        case 0: (cursor, whole) = (nil, [])
        case 1:
            cursor = Cursor(log: try reader.readHash128(), commit: try reader.readVarint())
            whole = try reader.readAddresses()
        case let byte: throw .unexpected(byte, at: start)
        }
        try reader.checkEnd()
    }
}
