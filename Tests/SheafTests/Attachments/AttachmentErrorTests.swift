import SheafAttachments
import SheafBytes
import SheafDocument
import SheafStorage
import SheafTestSupport
import Testing

/// Tests of the errors of attachment files, with their offsets and texts.
@Suite struct AttachmentErrorTests {
    private let file = SampleFile(seed: 3, length: 5_000)

    /// Returns the header of the complete file.
    private func header() -> [UInt8] {
        AttachmentHeader(
            id: file.id, list: file.list,
            storedChunks: ChunkSet(count: file.list.count, isFull: true)
        ).bytes
    }

    private func refusal(_ bytes: [UInt8], isComplete: Bool = true) -> Malformed? {
        do {
            _ = try bytes.withUnsafeBytes {
                try AttachmentHeader(decoding: $0, of: file.id, isComplete: isComplete)
            }
            return nil
        } catch {
            return error as? Malformed
        }
    }

    @Test func `a wrong field of a header is refused at its offset`() {
        let right = header()
        #expect(right.count == 4_096 && refusal(right) == nil)
        for count in [0, 95, 96, 4_095] {
            #expect(refusal(Array(right.prefix(count))) == .truncated(at: 0), "\(count) bytes")
        }
        let reserved = Malformed.invalid("a reserved byte that is not zero", at: 12)
        let list = Malformed.invalid("a chunk list that does not match the id", at: 96)
        let chunks = Malformed.invalid("an invalid set of chunks", at: 128)
        let cases: [(offset: Int, byte: UInt8, error: Malformed?)] = [
            (0, 0, .invalid("a wrong magic number", at: 0)),
            (7, 0, .invalid("a wrong magic number", at: 0)),
            (8, 2, .invalid("the unsupported version 2", at: 8)),
            (9, 1, .invalid("the unsupported version 257", at: 8)),
            (12, 1, reserved), (15, 1, reserved), (72, 1, reserved), (95, 1, reserved),
            (16, 0x87, list), (20, 1, .truncated(at: 0)),
            (24, ~right[24], .invalid("the id of another file", at: 24)),
            (55, ~right[55], .invalid("the id of another file", at: 24)),
            (96, ~right[96], list), (127, ~right[127], list),
            (128, 0, chunks), (128, 2, chunks), (128, 3, chunks), (56, 1, nil), (71, 1, nil),
            (129, 1, nil), (4_095, 1, nil),
        ]
        for (offset, byte, error) in cases {
            var bytes = right
            bytes[offset] = byte
            #expect(refusal(bytes) == error, "byte \(offset)")
        }
        var long = right
        (long[16], long[17], long[20]) = (1, 0, 0x10)
        let limit = UInt64(1) << 36
        #expect(refusal(long) == .tooLong(at: 16, length: limit + 1, limit: limit))
        // Only a partial file may lack chunks.
        var empty = right
        empty[128] = 0
        #expect(refusal(empty, isComplete: false) == nil)
    }

    @Test func `the chunks of a file have 262,144 bytes, except the last one`() throws {
        for (length, count) in [(0, 0), (1, 1), (262_144, 1), (262_145, 2), (524_289, 3)] {
            #expect(ChunkList.count(ofLength: length) == count)
            let hashes = [UInt8](repeating: 1, count: 32 * count)
            let list = try #require(ChunkList(length: length, hashes: hashes))
            #expect(list.count == count)
            #expect((0..<count).reduce(0) { $0 + list.range(of: $1).count } == length)
            #expect(ChunkList(length: length, hashes: hashes + [1]) == nil)
            #expect(
                ChunkList(length: length, hashes: Array(hashes.dropLast())) == nil || count == 0)
        }
        let list = ChunkList(length: 524_289)
        #expect(list.range(of: 1) == 262_144..<524_288)
        #expect(list.range(of: 2) == 524_288..<524_289)
        let most = 1 << 36
        let hashes = [UInt8](repeating: 0, count: 32 << 18)
        #expect(ChunkList.maximumLength == most)
        #expect(ChunkList(length: most, hashes: hashes) != nil)
        #expect(ChunkList(length: most + 1, hashes: hashes + hashes.prefix(32)) == nil)
        #expect(ChunkList(length: -1, hashes: []) == nil)
    }

    @Test func `each error says what failed`() {
        let id = file.id
        let cases: [(error: AttachmentError, text: String)] = [
            (.missing(id), "the attachment \(id) is not stored locally; fetch it first"),
            (.wrongList(id), "the received hashes do not match the attachment \(id)"),
            (
                .wrongChunk(id, chunk: 7),
                "the received bytes do not match chunk 7 of the attachment \(id)"
            ),
            (.sourceChanged("a/b"), "a/b was changed while it was read; add it again"),
            (
                .destinationExists("a/b"),
                "the destination a/b of the copy already exists; remove it, or choose another path"
            ),
            (
                .limit(name: "attachmentMemory", value: 7, limit: 5),
                "attachmentMemory is 5 bytes, but 7 bytes are needed"
            ),
            (
                .readOnly,
                "the store was opened for reading only; open it for writing to change it"
            ),
            (.closed, "the store was closed"), (.cancelled, "the task was canceled"),
        ]
        for (error, text) in cases { #expect(error.description == text) }
        let full = VolumeError(.write, "x", .noSpace)
        #expect(
            AttachmentError.volume(full).description
                == "the disk is full: \(full); make room, and try again")
        let failed = VolumeError(.write, "x", .inputOutput)
        #expect(AttachmentError.volume(failed).description == failed.description)
    }

    // MARK: Findings

    private func findings(_ volume: SimulatedVolume) throws -> [Finding] {
        var findings: [Finding] = []
        let parent = ParentVolume(volume, isMade: true)
        let result = try AttachmentVerification.verify(parent) { findings.append($0) }
        #expect(result.fileCount == 1 && result.findingCount == findings.count)
        return findings
    }

    @Test func `a finding names the file, the offset, the reason and a remedy`() throws {
        let sample = SampleFile.all[4]
        let volume = SimulatedVolume()
        _ = try AttachmentStore(volume).add(sample.bytes)
        let name = "\(sample.id).whole"
        let remedy =
            "; add the same content again, which replaces the file, or remove this file while the "
            + "store is closed, and fetch the attachment again from a peer that has it"
        func finding(_ offset: Int, _ reason: String) -> [Finding] {
            [
                Finding(
                    .damage, "attachments/\(name)", at: offset,
                    "attachment \(sample.id): " + reason + remedy)
            ]
        }
        #expect(try findings(volume) == [])
        let second = 4_096 + 262_144
        volume.corrupt(name, .flipBit(at: second, bit: 0))
        #expect(
            try findings(volume)
                == finding(second, "the bytes do not match the hash of chunk 1"))
        volume.corrupt(name, .flipBit(at: 0, bit: 0))
        #expect(try findings(volume) == finding(0, "a wrong magic number at offset 0"))
        volume.corrupt(name, .flipBit(at: 0, bit: 0))
        volume.corrupt(name, .append([1]))
        let size = second + 1
        let longer = "the file has \(size + 1) bytes instead of \(size)"
        #expect(try findings(volume) == finding(size, longer))
        volume.corrupt(name, .truncate(to: second))
        let shorter = "the file has \(second) bytes instead of \(size)"
        #expect(try findings(volume) == finding(second, shorter))
        volume.corrupt(name, .truncate(to: 50))
        let short = "the bytes end inside the value at offset 0"
        #expect(try findings(volume) == finding(0, short))
    }

    @Test func `a damaged partial file is removed, or fetched anew`() throws {
        let sample = SampleFile.all[4]
        let volume = SimulatedVolume()
        let incoming = try #require(try AttachmentStore(volume).begin(sample))
        try incoming.put(sample.chunk(1), at: 1)
        try incoming.flush()
        let name = "\(sample.id).part"
        let second = 4_096 + 262_144
        volume.corrupt(name, .flipBit(at: second, bit: 0))
        let damage = Finding(
            .damage, "attachments/\(name)", at: second,
            "attachment \(sample.id): the bytes do not match the hash of chunk 1; remove this "
                + "file while the store is closed, and fetch the attachment again")
        #expect(try findings(volume) == [damage])
        volume.corrupt(name, .flipBit(at: 96, bit: 0))
        let warning = Finding(
            .warning, "attachments/\(name)", at: 96,
            "attachment \(sample.id): a chunk list that does not match the id at offset 96; the "
                + "file is incomplete, and its next fetch begins anew")
        #expect(try findings(volume) == [warning])
    }

    @Test func `the name of a file has its id, and whether it is complete`() {
        let id = file.id
        for (path, isComplete) in [("\(id).whole", true), ("\(id).part", false)] {
            #expect(AttachmentVerification.id(ofFile: path) == id)
            #expect(AttachmentVerification.id(ofFile: "a/attachments/" + path) == id)
            #expect(AttachmentVerification.isComplete(path) == isComplete)
        }
        for path in ["", "\(id)", "\(id).tmp", "\(id).whole/x", "\(id)x.whole", ".whole"] {
            #expect(AttachmentVerification.id(ofFile: path) == nil, "\(path)")
            #expect(!AttachmentVerification.isComplete(path), "\(path)")
        }
    }
}
