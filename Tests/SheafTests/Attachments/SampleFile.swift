import Sheaf
import SheafAttachments
import SheafDocument
import SheafStorage
import SheafTestSupport
import Testing

/// A file with reproducible bytes, its chunk list and its id.
struct SampleFile: Sendable {
    let bytes: [UInt8]
    let list: ChunkList
    let id: AttachmentID

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
        // An in-memory store computes the hashes; the vectors check them against the format.
        let store = AttachmentStore(in: MemoryVolume())
        guard let id = try? store.add(bytes), let list = try? store.chunkList(of: id) else {
            preconditionFailure("A small file can be added in memory.")
        }
        self.id = id
        self.list = list
    }

    init(seed: Int, length: Int) {
        self.init(Self.bytes(seed: seed, length: length))
    }

    /// Returns the bytes of `format-spec/attachments.md`, "Vectors".
    static func bytes(seed: Int, length: Int) -> [UInt8] {
        // A closure for each byte would take several times as long in a debug build.
        var bytes = [UInt8](repeating: 0, count: length)
        bytes.withUnsafeMutableBufferPointer { bytes in
            var index = 0
            while index < bytes.count {
                bytes[index] = UInt8(
                    truncatingIfNeeded: (UInt64(seed &+ index) &* 2_654_435_761) >> 24)
                index &+= 1
            }
        }
        return bytes
    }

    func chunk(_ number: Int) -> [UInt8] { Array(bytes[list.range(of: number)]) }

    var token: AttachmentToken {
        get throws {
            try AttachmentToken(
                ["id": .string(id.description), "len": .integer(Int64(bytes.count))])
        }
    }

    /// Files with zero to three chunks, the last of them full or not.
    static let all: [SampleFile] = [
        SampleFile(seed: 1, length: 0), SampleFile(seed: 2, length: 1),
        SampleFile(seed: 3, length: 5_000), SampleFile(seed: 4, length: 262_144),
        SampleFile(seed: 5, length: 262_145), SampleFile(seed: 6, length: 530_000),
    ]
}

extension SampleFile: CustomTestStringConvertible {
    var testDescription: String { "\(bytes.count) bytes" }
}

extension IncomingAttachment {
    /// Adds a chunk from an array.
    @discardableResult
    func put(_ bytes: [UInt8], at chunk: Int) throws(AttachmentError) -> Outcome {
        try bytes.span.withUnsafeBytes { bytes throws(AttachmentError) in
            try put(bytes, at: chunk)
        }
    }
}

extension AttachmentStore {
    /// Creates a store for a directory of attachments; `isMade` is whether the directory exists.
    convenience init(
        _ volume: any Volume, isMade: Bool = true, _ change: (inout Options) -> Void = { _ in }
    ) {
        var options = Options()
        let number = SeededSource(seed: 7)
        options.random = { number.next() }
        change(&options)
        self.init(in: ParentVolume(volume, isMade: isMade), options: options)
    }

    /// Returns all bytes of a stored file, or nil.
    func bytes(of id: AttachmentID) throws -> [UInt8]? {
        guard let file = try file(id) else { return nil }
        return try file.read(0..<file.length)
    }

    /// Begins to fetch a file with known chunk hashes; returns nil if it is complete.
    func begin(_ file: SampleFile) throws -> IncomingAttachment? {
        let state = try beginFetch(
            file.id, length: file.bytes.count, hashes: file.list.hashes)
        guard case .incoming(let incoming) = state else { return nil }
        return incoming
    }
}
