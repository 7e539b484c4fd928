import BenchHarness
import BenchStores
import Glibc
import Sheaf

/// Adding or reading a large attachment, or the same work with plain system calls.
final class AttachmentTrial: Trial {
    enum Work {
        case add, copy, read, readFile
    }

    private let directory: String
    private let work: Work
    private let length: Int
    private let store: Sheaf.Store
    private var attachment: StoredAttachment?
    private var number: UInt8 = 0

    init(_ stage: Stage, _ work: Work) async throws {
        directory = stage.disk.path
        self.work = work
        length = stage.scale.pick(256 << 20, quick: 32 << 20)
        store = try await Sheaf.Store.open(at: "\(directory)/store")
        try write(number)
        if case .read = work { attachment = try await store.newAttachment(path: path) }
    }

    private var path: String { "\(directory)/file" }

    /// Writes a file with new content.
    private func write(_ number: UInt8) throws {
        let file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0o644)
        guard file >= 0 else { throw Self.failure("create") }
        defer { close(file) }
        let piece = (0..<1 << 20).map { UInt8(truncatingIfNeeded: $0 &* 7) &+ number }
        for _ in 0..<length / piece.count {
            guard Glibc.write(file, piece, piece.count) == piece.count else {
                throw Self.failure("write")
            }
        }
        guard fsync(file) == 0 else { throw Self.failure("sync") }
    }

    func run(round: Int) async throws -> Sample {
        number &+= 1
        if case .add = work { try write(number) }
        let start = now()
        switch work {
        case .add: _ = try await store.newAttachment(path: path)
        case .copy: try copy()
        case .read: try await attachment?.forEachChunk { sink(UInt64($0[0])) }
        case .readFile: try pass { sink(UInt64($0[0])) }
        }
        return Sample(Double(length) / seconds(since: start) / 1e6)
    }

    private func copy() throws {
        let file = open("\(path).copy", O_WRONLY | O_CREAT | O_TRUNC, 0o644)
        guard file >= 0 else { throw Self.failure("create") }
        defer { close(file) }
        try pass { bytes in
            guard Glibc.write(file, bytes.baseAddress, bytes.count) == bytes.count else {
                throw Self.failure("write")
            }
        }
        guard fdatasync(file) == 0 else { throw Self.failure("sync") }
    }

    private func pass(_ body: (UnsafeRawBufferPointer) throws -> Void) throws {
        let file = open(path, O_RDONLY)
        guard file >= 0 else { throw Self.failure("open") }
        defer { close(file) }
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 18, alignment: 16)
        defer { buffer.deallocate() }
        while true {
            let count = Glibc.read(file, buffer.baseAddress, buffer.count)
            guard count >= 0 else { throw Self.failure("read") }
            guard count > 0 else { return }
            try body(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
        }
    }

    func finish() async throws {
        try await store.close()
    }

    private static func failure(_ attempt: String) -> StoreFailure {
        StoreFailure(description: "cannot \(attempt) the file: \(String(cString: strerror(errno)))")
    }
}
