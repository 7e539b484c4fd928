package import SheafAttachments
public import SheafDocument
import SheafStorage
import SheafSystem

/// A file that is stored locally and can be read any number of times.
///
/// Each chunk is compared with its hash before it is returned.
public struct StoredAttachment: Sendable {
    /// The token that documents contain.
    public let token: AttachmentToken
    private let store: AttachmentStore

    /// Maximum number of bytes that one call reads into memory.
    public static let maximumDataLength = 1 << 28

    package init(_ token: AttachmentToken, in store: AttachmentStore) {
        self.token = token
        self.store = store
    }

    /// The hash of the file, which identifies it on all peers.
    public var id: AttachmentID { token.id }
    /// Length of the file in bytes.
    public var length: Int { token.length }
    /// Texts that were stored with the file, such as a name or a media type.
    public var metadata: [String: String] { token.metadata }

    /// Returns all bytes of the file, if there are at most `maximumDataLength`.
    public nonisolated(nonsending) func data() async throws -> [UInt8] {
        try await data(in: 0..<length)
    }

    /// Returns a range of bytes of the file.
    public nonisolated(nonsending) func data(in range: Range<Int>) async throws -> [UInt8] {
        guard range.lowerBound >= 0, range.upperBound <= length else {
            throw StoreError(
                .argument,
                "the range from \(range.lowerBound) to \(range.upperBound) is outside of the "
                    + "attachment, which has \(length) bytes")
        }
        guard range.count <= Self.maximumDataLength else {
            throw StoreError(
                .limit,
                "the range has \(range.count) bytes, and maximumDataLength is "
                    + "\(Self.maximumDataLength)",
                hint: "copy(to:) and forEachChunk accept files of any length")
        }
        return try await withFile { (file, _) throws(AttachmentError) in try file.read(range) }
    }

    /// Calls `body` with successive chunks of up to 256 KiB, on a separate thread.
    ///
    /// The complete file is never in memory. The cancellation of the task ends the calls.
    public nonisolated(nonsending) func forEachChunk(
        _ body: @escaping @Sendable (UnsafeRawBufferPointer) throws -> Void
    ) async throws {
        let failure = try await withFile { (file, stop) throws(AttachmentError) -> (any Error)? in
            for chunk in 0..<file.chunkCount {
                try stop.checkAttachment()
                let bytes = try file.read(chunk)
                do { try bytes.withUnsafeBytes(body) } catch { return error }
            }
            return nil
        }
        if let failure { throw failure }
    }

    /// Copies the file to a new file at `path`; the copy is durable when this returns.
    ///
    /// The cancellation of the task ends the copying, and nothing is left at `path`.
    public nonisolated(nonsending) func copy(to path: String) async throws {
        let name = FileName.temporaryName(store.options.random())
        try await withFile { (file, stop) throws(AttachmentError) in
            try file.copy(to: SplitPath(path), via: name, until: stop)
        }
    }

    private nonisolated(nonsending) func withFile<Result: Sendable>(
        _ body:
            @escaping @Sendable (AttachmentFile, EvaluationStop) throws(AttachmentError) -> Result
    ) async throws -> Result {
        let (store, id) = (store, id)
        return try await Store.runOnThread(cancellably: "sheaf-attach") {
            (stop) throws(StoreError) in
            try onAttachments { () throws(AttachmentError) in
                guard let file = try store.file(id) else { throw .missing(id) }
                defer { file.close() }
                return try body(file, stop)
            }
        }
    }
}

/// A path split into its directory and the name in it.
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
    /// Copies the file to `path`; the copy has the name `temporary` until it is complete.
    fileprivate func copy(
        to path: SplitPath, via temporary: String, until stop: EvaluationStop
    ) throws(AttachmentError) {
        try copy(to: path.name, in: try path.volume(), via: temporary, until: stop)
    }

    /// Copies the file to `volume`; the copy has the name `temporary` until it is complete.
    func copy(
        to name: String, in volume: any Volume, via temporary: String,
        until stop: EvaluationStop? = nil
    ) throws(AttachmentError) {
        let exists = try onVolume { () throws(VolumeError) in try volume.names().contains(name) }
        guard !exists else { throw .destinationExists("\(volume.path)/\(name)") }
        do throws(AttachmentError) {
            try write(to: temporary, in: volume, until: stop)
            try onVolume { () throws(VolumeError) in
                try volume.rename(temporary, to: name)
                try volume.synchronizeNames()
            }
        } catch {
            try? volume.remove(temporary)
            throw error
        }
    }

    private func write(
        to name: String, in volume: any Volume, until stop: EvaluationStop?
    ) throws(AttachmentError) {
        let file = try onVolume { () throws(VolumeError) in try volume.open(name, .create) }
        defer { file.close() }
        for chunk in 0..<chunkCount {
            try stop?.checkAttachment()
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

/// Runs a closure that uses attachments, and converts its errors to public ones.
func onAttachments<Result>(
    _ body: () throws(AttachmentError) -> Result
) throws(StoreError) -> Result {
    do throws(AttachmentError) { return try body() } catch { throw StoreError(error) }
}
