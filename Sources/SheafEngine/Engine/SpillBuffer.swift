import SheafBytes
import SheafDocument
package import SheafStorage

/// The documents of an incomplete batch, held in memory or, if there are many, in a file.
///
/// A batch may take hours to arrive and may never be complete.
package struct SpillBuffer: Sendable {
    /// Properties of a document.
    package struct Marks: OptionSet {
        package let rawValue: UInt8

        package init(rawValue: UInt8) {
            self.rawValue = rawValue
        }

        /// Whether the document contains only the touched fields.
        package static let isPartial = Marks(rawValue: 1)
        /// Whether the document may spell names that have no number.
        package static let maySpellNames = Marks(rawValue: 2)
        /// Whether the document contains attachment tokens.
        package static let hasTokens = Marks(rawValue: 4)
        /// Whether the preceding document in the block has the same collection.
        static let staysInCollection = Marks(rawValue: 8)
        /// Whether some of the tokens are unproven.
        static let hasUnproven = Marks(rawValue: 16)
    }

    /// Length at which a block is complete; each block is read independently.
    private static let blockLength = 1 << 20

    package private(set) var count = 0
    /// The first blocks, once they are moved to disk.
    private var file: SpillFile?
    /// The blocks after those in the file.
    private var blocks: [[UInt8]] = []
    /// The last block.
    private var writer = ByteWriter()
    private var collection: String?

    package var isEmpty: Bool { count == 0 }

    /// Number of bytes of all documents.
    package private(set) var length = 0
    /// Number of bytes held in memory.
    package private(set) var lengthInMemory = 0

    package init() {}

    /// Appends a document; `unproven` has the attachments whose tokens are unproven.
    package mutating func add(
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
        length += writer.count - start
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
    package mutating func moveToDisk(_ store: StoreEngine) throws(StorageError) {
        endBlock()
        let file: SpillFile
        if let known = self.file {
            file = known
        } else {
            file = try SpillFile(in: store)
            self.file = file
        }
        for block in blocks { try file.append(block) }
        blocks = []
        lengthInMemory = 0
    }

    /// Calls `body` with each document, in the order of insertion.
    package func forEach(
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
