import SheafBytes
import SheafDocument
import SheafStorage
import SheafSync

/// A received document, validated and with the field-name numbers of this store.
///
/// It is valid only during the call that receives it.
struct BufferedDocument {
    let collection: String
    /// Whether it is the first document, or the preceding one is in another collection.
    let beginsCollection: Bool
    let id: UnsafeRawBufferPointer
    let marks: SpillBuffer.Marks
    let bytes: UnsafeRawBufferPointer
    /// The contents of `bytes` as a slice that may outlive the call.
    let contents: ArraySlice<UInt8>
    /// The ids of attachments whose tokens the sender reports as unproven.
    let unproven: [[UInt8]]

    var address: DocumentAddress { DocumentAddress(collection: collection, id: Array(id)) }
}

/// The documents of an incomplete batch, held in memory or, if there are many, in a file.
///
/// A batch may take hours to arrive and may never be complete.
struct SpillBuffer: Sendable {
    /// Properties of a document.
    struct Marks: OptionSet {
        let rawValue: UInt8

        /// Whether the document contains only the touched fields.
        static let isPartial = Marks(rawValue: 1)
        /// Whether the document may spell names that have no number.
        static let maySpellNames = Marks(rawValue: 2)
        /// Whether the document contains attachment tokens.
        static let hasTokens = Marks(rawValue: 4)
        /// Whether the preceding document in the block has the same collection.
        fileprivate static let staysInCollection = Marks(rawValue: 8)
        /// Whether some of the tokens are unproven.
        static let hasUnproven = Marks(rawValue: 16)
    }

    /// Length at which a block is complete; each block is read independently.
    private static let blockLength = 1 << 20

    private(set) var count = 0
    /// The first blocks, once they are moved to disk.
    private var file: StagingFile?
    /// The blocks after those in the file.
    private var blocks: [[UInt8]] = []
    /// The last block.
    private var writer = ByteWriter()
    private var collection: String?

    var isEmpty: Bool { count == 0 }

    /// Number of bytes held in memory.
    private(set) var lengthInMemory = 0

    /// Appends a document.
    mutating func add(
        _ collection: String, id: [UInt8], _ marks: Marks, _ bytes: UnsafeRawBufferPointer,
        unproven: [[UInt8]] = []
    ) {
        // The first block grows on demand, since most buffers are small.
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
        // Each block begins with its collection, so that it can be read independently.
        collection = nil
    }

    /// Moves all blocks to a file.
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

    /// Calls `body` with each document, in the order of insertion.
    func forEach(
        _ body: (BufferedDocument) throws(EngineError) -> Void
    ) throws(EngineError) {
        for index in 0..<(file?.blockCount ?? 0) {
            let block = try onStorage { () throws(StorageError) in try file?.block(index) ?? [] }
            try Self.forEach(in: block, body)
        }
        for block in blocks { try Self.forEach(in: block, body) }
        try Self.forEach(in: writer.bytes, body)
    }

    private static func forEach(
        in block: [UInt8], _ body: (BufferedDocument) throws(EngineError) -> Void
    ) throws(EngineError) {
        try block.span.withUnsafeBytes { (bytes) throws(EngineError) in
            var reader = ByteReader(bytes)
            var collection: String?
            while reader.remaining > 0 {
                let document: BufferedDocument
                do throws(Malformed) {
                    document = try BufferedDocument(from: &reader, in: block, after: collection)
                } catch {
                    throw .invalidDocument(error)
                }
                collection = document.collection
                try body(document)
            }
        }
    }
}

extension BufferedDocument {
    fileprivate init(
        from reader: inout ByteReader, in block: [UInt8], after collection: String?
    ) throws(Malformed) {
        let start = reader.offset
        marks = SpillBuffer.Marks(rawValue: try reader.readUInt8())
        beginsCollection = !marks.contains(.staysInCollection)
        if beginsCollection {
            self.collection = try reader.readText(limit: SyncLimits.collectionLength)
        } else if let collection {
            self.collection = collection
        } else {
            throw .invalid("a first document without its collection", at: start)
        }
        id = try reader.readLengthPrefixed(limit: SyncLimits.idLength)
        // No limit: spelled names can make the document longer than it was on the wire.
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
