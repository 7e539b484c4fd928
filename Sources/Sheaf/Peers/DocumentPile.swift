import SheafBytes
import SheafDocument
import SheafStorage
import SheafSync

/// A document that a peer has sent, checked and in the numbers of this store; it lives as long as the call that
/// is given it.
struct PiledDocument {
    let collection: String
    /// Whether the one before it is of another collection, or there is none.
    let beginsCollection: Bool
    let id: UnsafeRawBufferPointer
    let marks: DocumentPile.Marks
    let bytes: UnsafeRawBufferPointer
    /// The same for who keeps them.
    let contents: ArraySlice<UInt8>
    /// The ids of attachments whose tokens the sender calls unproven.
    let unproven: [[UInt8]]

    var address: DocumentAddress { DocumentAddress(collection: collection, id: Array(id)) }
}

/// Documents of a step until all of it is there: one behind the other as bytes, in memory as long as they are
/// few, and then in a file.
///
/// What a peer sends may take hours to come, and may never be whole.
struct DocumentPile: Sendable {
    /// What is known of a document.
    struct Marks: OptionSet {
        let rawValue: UInt8

        /// Only what was touched.
        static let isPartial = Marks(rawValue: 1)
        /// It may spell names that have no number.
        static let maySpellNames = Marks(rawValue: 2)
        /// There are tokens of attachments in it.
        static let hasTokens = Marks(rawValue: 4)
        /// It is of the collection of the document before it in its block.
        fileprivate static let staysInCollection = Marks(rawValue: 8)
        /// Whether some of the tokens are unproven.
        static let hasUnproven = Marks(rawValue: 16)
    }

    /// About so long is a block, which is read by itself.
    private static let blockLength = 1 << 20

    private(set) var count = 0
    /// The first blocks, which are in a file.
    private var file: StagingFile?
    /// Those behind them.
    private var blocks: [[UInt8]] = []
    /// The last one.
    private var writer = ByteWriter()
    private var collection: String?

    var isEmpty: Bool { count == 0 }

    /// How much memory they take.
    private(set) var lengthInMemory = 0

    /// Puts a document on top.
    mutating func add(
        _ collection: String, id: [UInt8], _ marks: Marks, _ bytes: UnsafeRawBufferPointer,
        unproven: [[UInt8]] = []
    ) {
        // Only where a block is begun behind others: most piles are small.
        if writer.count == 0, count > 0 {
            writer = ByteWriter(capacity: Self.blockLength + (Self.blockLength >> 3))
        }
        let start = writer.count
        var marks = marks
        if let last = self.collection, UTF8Order.compare(last, collection) == 0 {
            marks.insert(.staysInCollection)
        }
        if !unproven.isEmpty { marks.insert(.hasUnproven) }
        writer.write(marks.rawValue)
        if !marks.contains(.staysInCollection) {
            writer.writeText(collection)
            self.collection = collection
        }
        id.span.withUnsafeBytes { writer.writeLengthPrefixed($0) }
        writer.writeLengthPrefixed(bytes)
        if !unproven.isEmpty {
            writer.writeVarint(UInt64(unproven.count))
            for id in unproven { writer.write(id) }
        }
        count += 1
        lengthInMemory += writer.count - start
        if writer.count >= Self.blockLength { endBlock() }
    }

    private mutating func endBlock() {
        guard writer.count > 0 else { return }
        blocks.append(writer.bytes)
        writer = ByteWriter()
        // Each block can be read without those before it.
        collection = nil
    }

    /// Moves all to a file.
    mutating func moveToDisk(_ store: StoreEngine) throws(StorageError) {
        endBlock()
        let file: StagingFile
        if let known = self.file {
            file = known
        } else {
            file = try StagingFile(in: store)
            self.file = file
        }
        for block in blocks { try file.append(block) }
        blocks = []
        lengthInMemory = 0
    }

    /// All of them, in the order in which they came.
    func forEach(
        _ body: (PiledDocument) throws(EngineError) -> Void
    ) throws(EngineError) {
        for index in 0..<(file?.blockCount ?? 0) {
            let block = try onStorage { () throws(StorageError) in try file?.block(index) ?? [] }
            try Self.forEach(in: block, body)
        }
        for block in blocks { try Self.forEach(in: block, body) }
        try Self.forEach(in: writer.bytes, body)
    }

    private static func forEach(
        in block: [UInt8], _ body: (PiledDocument) throws(EngineError) -> Void
    ) throws(EngineError) {
        try block.span.withUnsafeBytes { (bytes) throws(EngineError) in
            var reader = ByteReader(bytes)
            var collection: String?
            while reader.remaining > 0 {
                let document: PiledDocument
                do throws(Malformed) {
                    document = try PiledDocument(from: &reader, in: block, after: collection)
                } catch {
                    throw .received(error)
                }
                collection = document.collection
                try body(document)
            }
        }
    }
}

extension PiledDocument {
    fileprivate init(
        from reader: inout ByteReader, in block: [UInt8], after collection: String?
    ) throws(Malformed) {
        let start = reader.offset
        marks = DocumentPile.Marks(rawValue: try reader.readUInt8())
        beginsCollection = !marks.contains(.staysInCollection)
        if beginsCollection {
            self.collection = try reader.readText(limit: SyncLimits.collectionLength)
        } else if let collection {
            self.collection = collection
        } else {
            throw .invalid("a first document without its collection", at: start)
        }
        id = try reader.readLengthPrefixed(limit: SyncLimits.idLength)
        // What has spelled names is longer here than it was on the way.
        bytes = try reader.readLengthPrefixed(limit: .max)
        contents = block[reader.offset - bytes.count..<reader.offset]
        var unproven: [[UInt8]] = []
        if marks.contains(.hasUnproven) {
            for _ in 0..<(try reader.readVarint()) {
                unproven.append(Array(try reader.readBytes(SyncLimits.attachmentIDLength)))
            }
        }
        self.unproven = unproven
    }
}
