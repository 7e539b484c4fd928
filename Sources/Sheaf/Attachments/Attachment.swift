import SheafStorage

/// A file that is here, to be read as often as one likes.
///
/// Each chunk of it is compared with its hash before anybody sees it.
public struct Attachment: Sendable {
    /// What documents say of it.
    public let token: AttachmentToken
    private let store: AttachmentStore

    /// How long a file may be that is read into memory as a whole.
    public static let maximumDataLength = 1 << 28

    init(_ token: AttachmentToken, in store: AttachmentStore) {
        self.token = token
        self.store = store
    }

    public var id: AttachmentID { token.id }
    /// The bytes of the file.
    public var length: Int { token.length }
    public var metadata: [String: String] { token.metadata }

    /// All bytes of a file that is not too long for that.
    public nonisolated(nonsending) func data() async throws -> [UInt8] {
        try await data(in: 0..<length)
    }

    /// Some bytes of the file.
    public nonisolated(nonsending) func data(in range: Range<Int>) async throws -> [UInt8] {
        guard range.lowerBound >= 0, range.upperBound <= length else {
            throw StoreError(
                .argument,
                "the attachment has \(length) bytes, and none from "
                    + "\(range.lowerBound) to \(range.upperBound)")
        }
        guard range.count <= Self.maximumDataLength else {
            throw StoreError(
                .limit,
                "\(range.count) is more than maximumDataLength allows, which is "
                    + "\(Self.maximumDataLength)",
                hint: "copy(to:) and forEachChunk take files of any length")
        }
        return try await onFile { file throws(AttachmentError) in try file.read(range) }
    }

    /// Calls `body` with the bytes of the file, some 256 KiB at a time, on a thread of its own; the whole
    /// is never in memory.
    public nonisolated(nonsending) func forEachChunk(
        _ body: @escaping @Sendable (UnsafeRawBufferPointer) throws -> Void
    ) async throws {
        let failure = try await onFile { file throws(AttachmentError) -> (any Error)? in
            for chunk in 0..<file.chunkCount {
                let bytes = try file.read(chunk)
                do { try bytes.withUnsafeBytes(body) } catch { return error }
            }
            return nil
        }
        if let failure { throw failure }
    }

    /// Makes a file of it at `path`, where nothing may be yet; the file is durable when this returns.
    public nonisolated(nonsending) func copy(to path: String) async throws {
        let name = FileName.temporaryName(store.options.random())
        try await onFile { file throws(AttachmentError) in
            try file.copy(to: SplitPath(path), by: name)
        }
    }

    private nonisolated(nonsending) func onFile<Result: Sendable>(
        _ body: @escaping @Sendable (AttachmentFile) throws(AttachmentError) -> Result
    ) async throws -> Result {
        let (store, id) = (store, id)
        return try await Store.onThread("sheaf-attach") { () throws(StoreError) in
            try onAttachments { () throws(AttachmentError) in
                guard let file = try store.file(id) else { throw .missing(id) }
                defer { file.close() }
                return try body(file)
            }
        }
    }
}

/// A path, apart: the directory, and the name in it.
struct SplitPath: Sendable {
    let directory: String
    let name: String

    init(_ path: String) {
        guard let slash = path.utf8.lastIndex(of: 0x2F) else {
            (directory, name) = (".", path)
            return
        }
        directory = slash == path.startIndex ? "/" : String(path[..<slash])
        name = String(path[path.utf8.index(after: slash)...])
    }

    func volume() throws(AttachmentError) -> PosixVolume {
        try onVolume { () throws(VolumeError) in
            try PosixVolume(path: directory, creatingDirectory: false)
        }
    }
}

extension AttachmentFile {
    /// Writes all bytes into a file of another directory, which gets its name when it is complete.
    fileprivate func copy(
        to path: SplitPath, by temporary: String
    ) throws(AttachmentError) {
        try copy(to: path.name, in: try path.volume(), by: temporary)
    }

    /// Writes all bytes into a file of another directory, which gets its name when it is complete.
    func copy(
        to name: String, in volume: any Volume, by temporary: String
    ) throws(AttachmentError) {
        let isThere = try onVolume { () throws(VolumeError) in try volume.names().contains(name) }
        guard !isThere else { throw .occupied("\(volume.path)/\(name)") }
        do throws(AttachmentError) {
            try write(to: temporary, in: volume)
            try onVolume { () throws(VolumeError) in
                try volume.rename(temporary, to: name)
                try volume.synchronizeNames()
            }
        } catch {
            try? volume.remove(temporary)
            throw error
        }
    }

    private func write(to name: String, in volume: any Volume) throws(AttachmentError) {
        let file = try onVolume { () throws(VolumeError) in try volume.open(name, .create) }
        defer { file.close() }
        for chunk in 0..<chunkCount {
            let bytes = try read(chunk)
            try bytes.span.withUnsafeBytes { bytes throws(AttachmentError) in
                try onVolume { () throws(VolumeError) in
                    try file.writeFully(bytes, at: list.range(of: chunk).lowerBound)
                }
            }
        }
        try onVolume { () throws(VolumeError) in try file.synchronize() }
    }
}

/// Runs what works on attachments, and lets its errors out as those that users see.
func onAttachments<Result>(
    _ body: () throws(AttachmentError) -> Result
) throws(StoreError) -> Result {
    do throws(AttachmentError) { return try body() } catch { throw StoreError(attachments: error) }
}
