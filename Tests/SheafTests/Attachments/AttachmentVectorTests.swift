import Sheaf
import SheafAttachments
import SheafBytes
import SheafDocument
import SheafEngine
import SheafStorage
import SheafTestSupport
import Testing

/// The vectors of `format-spec/attachments.md`, generated in another language.
@Suite struct AttachmentVectorTests {
    private let vectors: FormatVectors

    init() throws {
        vectors = try FormatVectors("attachments.txt")
    }

    private var files: [String] { vectors.cases.filter { vectors.has("\($0).seed") } }

    @Test func `ids, chunk lists and tokens match the vectors`() throws {
        #expect(files.count == 6)
        for name in files {
            let length = try vectors.integer("\(name).length")
            let file = SampleFile(
                seed: try vectors.integer("\(name).seed"), length: length)
            let hashes = try vectors.bytes("\(name).list")
            let id = try vectors.bytes("\(name).id")
            #expect(file.list.hashes == hashes, "\(name)")
            #expect(file.id.bytes == id, "\(name)")
            #expect(AttachmentID(file.id.description) == file.id)
            let token = try vectors.bytes("\(name).token")
            let document = try document(with: try file.token.value)
            #expect(document.firstRange(of: token) != nil, "\(name)")
        }
    }

    /// Returns the bytes of a document that contains a token.
    private func document(with token: Value) throws -> [UInt8] {
        let simulation = try IndexSimulation(seed: 1, FakeClock())
        try simulation.commit([
            DocumentChange("cars", 1, .insert(["a": 1])),
            DocumentChange("cars", 1, .edit([.set(path: ["t"], to: token, as: .attachment)])),
        ])
        try simulation.store.flush()
        let snapshot = simulation.engine.snapshot()
        let key = try #require(try snapshot.key(collection: "cars", id: 1))
        let document = try #require(try snapshot.document(key))
        return try document.read {
            try EncodedDocument($0).renamed(from: snapshot.names, to: NameTable())
        }
    }

    @Test func `complete files match the vectors`() throws {
        for name in files {
            let volume = SimulatedVolume(files: [:])
            let store = AttachmentStore(volume)
            let file = SampleFile(
                seed: try vectors.integer("\(name).seed"),
                length: try vectors.integer("\(name).length"))
            _ = try store.add(file.bytes)
            let whole = try vectors.bytes("\(name).whole")
            #expect(volume.snapshotFiles() == ["\(file.id).whole": whole + file.bytes], "\(name)")
            let found = try AttachmentStore(
                SimulatedVolume(files: ["\(file.id).whole": whole + file.bytes])
            ).bytes(of: file.id)
            #expect(found == file.bytes)
        }
    }

    @Test func `partial files match the vectors`() throws {
        for name in files {
            let file = SampleFile(
                seed: try vectors.integer("\(name).seed"),
                length: try vectors.integer("\(name).length"))
            let part = try vectors.bytes("\(name).part")
            let stored = try vectors.bytes("\(name).here").map(Int.init)
            let since = try vectors.number("\(name).since")
            let header = try part.withUnsafeBytes {
                try AttachmentHeader(decoding: $0, of: file.id, isComplete: false)
            }
            #expect(header.bytes == part, "\(name)")
            #expect(header.unreferencedSince == since, "\(name)")
            #expect((0..<file.list.count).filter { header.storedChunks.contains($0) } == stored)
            #expect(header.list == file.list)
        }
    }

    @Test func `a header is as long as the length of the file requires`() throws {
        let id = try #require(AttachmentID(bytes: [UInt8](repeating: 1, count: 32)))
        // With 125 chunks, the chunk list needs a second page. With 31,745 chunks, only the last
        // byte of the set of chunks needs another page.
        for count in [0, 1, 124, 125, 31_744, 31_745] {
            let length = count * ChunkList.chunkLength
            let hashes = [UInt8](repeating: 7, count: 32 * count)
            let list = try #require(ChunkList(length: length, hashes: hashes))
            let header = AttachmentHeader(id: id, list: list, storedChunks: ChunkSet(count: count))
            let written = header.bytes.count
            #expect(written == AttachmentHeader.length(ofFile: length), "\(count) chunks")
        }
    }

    @Test func `malformed headers are refused`() throws {
        var count = 0
        for name in vectors.cases where vectors.has("\(name).refused") {
            let bytes = try vectors.bytes("\(name).refused")
            let id = try #require(AttachmentID(bytes: try vectors.bytes("\(name).name")))
            #expect(throws: Malformed.self, "\(name)") {
                try bytes.withUnsafeBytes {
                    try AttachmentHeader(decoding: $0, of: id, isComplete: true)
                }
            }
            count += 1
        }
        #expect(count == 11)
    }

    @Test func `each flipped bit of a header outside the mark is detected`() throws {
        let file = SampleFile(seed: 3, length: 5_000)
        let right = try head(of: file)
        let mark = 56..<72
        // The padding after the set of chunks is never read.
        for offset in 0..<129 {
            for bit in 0..<8 {
                var bytes = right
                bytes[offset] ^= 1 << UInt8(bit)
                let header = bytes.withUnsafeBytes {
                    try? AttachmentHeader(decoding: $0, of: file.id, isComplete: true)
                }
                #expect((header != nil) == mark.contains(offset), "bit \(bit) of \(offset)")
                #expect(header.map { $0.unreferencedSince == 0 } ?? true)
            }
        }
        for length in 0..<right.count {
            let cut = Array(right.prefix(length))
            #expect(throws: Malformed.self) {
                try cut.withUnsafeBytes {
                    try AttachmentHeader(decoding: $0, of: file.id, isComplete: true)
                }
            }
        }
    }

    private func head(of file: SampleFile) throws -> [UInt8] {
        var stored = ChunkSet(count: file.list.count)
        for chunk in 0..<file.list.count { stored.insert(chunk) }
        var header = AttachmentHeader(id: file.id, list: file.list, storedChunks: stored)
        header.unreferencedSince = 4_711
        let bytes = header.bytes
        let read = try bytes.withUnsafeBytes {
            try AttachmentHeader(decoding: $0, of: file.id, isComplete: true)
        }
        #expect(read == header)
        return bytes
    }
}
