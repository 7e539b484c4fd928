import SheafDocument
import SheafEngine
import SheafStorage
import SheafTestSupport
import Testing

/// The documents of an incomplete batch, in memory and in a file.
@Suite struct SpillBufferTests {
    private struct Document: Equatable {
        let collection: String
        let id: [UInt8]
        let marks: UInt8
        let bytes: [UInt8]
        let unproven: [[UInt8]]
    }

    private func add(_ document: Document, to buffer: inout SpillBuffer) {
        document.bytes.withUnsafeBytes { bytes in
            buffer.add(
                document.collection, id: document.id,
                SpillBuffer.Marks(rawValue: document.marks), bytes, unproven: document.unproven)
        }
    }

    /// Returns the documents of a buffer, and whether each begins a collection.
    private func read(
        _ buffer: SpillBuffer
    ) throws -> (documents: [Document], begin: [Bool]) {
        var documents: [Document] = []
        var begin: [Bool] = []
        try buffer.forEach { (found) throws(EngineError) in
            let bytes = Array(found.bytes)
            #expect(Array(found.contents) == bytes)
            #expect(found.address.collection == found.collection)
            // The first three marks are those of documents, the others those of the buffer.
            documents.append(
                Document(
                    collection: found.collection, id: Array(found.id),
                    marks: found.marks.rawValue & 7, bytes: bytes, unproven: found.unproven))
            begin.append(found.beginsCollection)
        }
        return (documents, begin)
    }

    private func store() throws -> StoreEngine {
        try StoreEngine(opening: SimulatedVolume(seed: 1))
    }

    @Test(arguments: 0..<10 as Range<UInt64>)
    func `documents are read in the order in which they were added`(seed: UInt64) throws {
        var random = SeededRandom(seed: seed, "spilled documents")
        let store = try store()
        var buffer = SpillBuffer()
        var added: [Document] = []
        #expect(buffer.isEmpty)
        for _ in 0..<40 {
            if random.chance(1, in: 8) {
                try buffer.moveToDisk(store)
                #expect(buffer.lengthInMemory == 0)
            }
            let document = Document(
                collection: ["a", "b", ""][random.below(3)], id: random.bytes(random.below(5)),
                marks: UInt8(random.below(8)), bytes: random.bytes(random.below(300)),
                unproven: (0..<random.below(3)).map { _ in random.bytes(32) })
            let before = (buffer.length, buffer.lengthInMemory)
            add(document, to: &buffer)
            added.append(document)
            #expect(buffer.length - before.0 == buffer.lengthInMemory - before.1)
            #expect(buffer.count == added.count && !buffer.isEmpty)
        }
        let found = try read(buffer)
        #expect(found.documents == added, "seed \(seed)")
        // A document begins a collection unless the one before it has the same one.
        for index in added.indices {
            let isFirst = index == 0 || added[index].collection != added[index - 1].collection
            if isFirst { #expect(found.begin[index], "seed \(seed), \(index)") }
        }
        try store.close()
    }

    @Test func `the length is that of marks, names, ids and documents`() throws {
        var buffer = SpillBuffer()
        let first = Document(
            collection: "ab", id: [1, 2, 3], marks: 5, bytes: [4, 5, 6, 7], unproven: [])
        add(first, to: &buffer)
        // One byte for the marks, and one before each of the others.
        #expect(buffer.length == 1 + (1 + 2) + (1 + 3) + (1 + 4))
        add(first, to: &buffer)
        #expect(buffer.length == 13 + 1 + (1 + 3) + (1 + 4))
        let unproven = [[UInt8](repeating: 1, count: 32), [UInt8](repeating: 2, count: 32)]
        let last = Document(
            collection: "b", id: [1], marks: 0, bytes: [], unproven: unproven)
        add(last, to: &buffer)
        #expect(buffer.length == 23 + 1 + (1 + 1) + (1 + 1) + 1 + (1 + 64))
        #expect(buffer.lengthInMemory == buffer.length)
        let found = try read(buffer)
        #expect(found.documents == [first, first, last])
        #expect(found.begin == [true, false, true])
        let store = try store()
        try buffer.moveToDisk(store)
        #expect(buffer.length == 94 && buffer.lengthInMemory == 0)
        // Documents in memory after those in the file begin their collection again.
        add(last, to: &buffer)
        #expect(buffer.length == 94 + 71 && buffer.lengthInMemory == 71)
        #expect(try read(buffer).begin == [true, false, true, true])
        try buffer.moveToDisk(store)
        try buffer.moveToDisk(store)
        #expect(try read(buffer).documents == [first, first, last, last])
        try store.close()
    }

    @Test(arguments: [(0, false), (-1, false), (1, true)])
    func `a block ends with the document that fills a mebibyte`(
        missing: Int, isInBlock: Bool
    ) throws {
        var buffer = SpillBuffer()
        // Marks, name and id take five bytes, and the length of the document takes three.
        let length = 1 << 20 - 8 - missing
        let large = Document(
            collection: "t", id: [1], marks: 0, bytes: [UInt8](repeating: 7, count: length),
            unproven: [])
        let small = Document(collection: "t", id: [2], marks: 0, bytes: [], unproven: [])
        add(large, to: &buffer)
        #expect(buffer.length == 1 << 20 - missing)
        add(small, to: &buffer)
        add(small, to: &buffer)
        var begin: [Bool] = []
        var lengths: [Int] = []
        try buffer.forEach { (found) throws(EngineError) in
            begin.append(found.beginsCollection)
            lengths.append(found.bytes.count)
        }
        // The first small document fills the block if the large one has not.
        #expect(begin == [true, !isInBlock, isInBlock])
        #expect(lengths == [length, 0, 0])
    }
}
