package import SheafDocument
package import SheafStorage
package import SheafSystem

/// The source of the bytes of a new attachment.
package protocol AttachmentSource {
    /// The name of the source in error messages.
    var name: String { get }
    /// Number of bytes, determined before they are read.
    var length: Int { get }

    /// Fills a buffer with the bytes at an offset; returns false if the source is too short.
    func read(
        into buffer: UnsafeMutableRawBufferPointer, at offset: Int
    ) throws(VolumeError) -> Bool
    /// Whether the source still has `length` bytes.
    func isUnchanged() throws(VolumeError) -> Bool
}

/// A source in memory.
struct BytesSource: AttachmentSource {
    package let bytes: [UInt8]
    package var name: String { "memory" }
    package var length: Int { bytes.count }

    package func read(
        into buffer: UnsafeMutableRawBufferPointer, at offset: Int
    ) throws(VolumeError) -> Bool {
        bytes[offset..<offset + buffer.count].withUnsafeBytes { buffer.copyMemory(from: $0) }
        return true
    }

    package func isUnchanged() throws(VolumeError) -> Bool { true }
}

/// A source in a file outside of the store.
struct FileSource: AttachmentSource {
    package let name: String
    package let length: Int
    private let file: any VolumeFile

    package init(_ file: any VolumeFile, path: String) throws(VolumeError) {
        name = path
        length = try file.size()
        self.file = file
    }

    package func read(
        into buffer: UnsafeMutableRawBufferPointer, at offset: Int
    ) throws(VolumeError) -> Bool {
        do throws(VolumeError) {
            try file.readFully(into: buffer, at: offset)
            return true
        } catch  where error.code == .unexpectedEnd {
            return false
        }
    }

    package func isUnchanged() throws(VolumeError) -> Bool { try file.size() == length }
}

extension AttachmentStore {
    /// Adds a file chunk by chunk; returns its id when the file is durable.
    ///
    /// `stop` ends it between two chunks.
    package func add(
        _ source: some AttachmentSource, until stop: EvaluationStop? = nil
    ) throws(AttachmentError) -> AttachmentID {
        let volume = try writableVolume()
        let length = source.length
        try reserve(length)
        let name = FileName.temporaryName(options.random())
        do throws(AttachmentError) {
            let list = try fill(name, in: volume, from: source, until: stop)
            try publish(name, as: list.id, length: length, reserved: length)
            return list.id
        } catch {
            release(length)
            try? volume.remove(name)
            throw error
        }
    }

    /// Adds bytes that are in memory.
    package func add(
        _ bytes: [UInt8], until stop: EvaluationStop? = nil
    ) throws(AttachmentError) -> AttachmentID {
        try add(BytesSource(bytes: bytes), until: stop)
    }

    /// Adds a file of another directory.
    package func add(
        _ name: String, in directory: any Volume, until stop: EvaluationStop? = nil
    ) throws(AttachmentError) -> (id: AttachmentID, length: Int) {
        let file = try onVolume { () throws(VolumeError) in try directory.open(name, .read) }
        defer { file.close() }
        let source = try onVolume { () throws(VolumeError) in
            try FileSource(file, path: "\(directory.path)/\(name)")
        }
        return (try add(source, until: stop), source.length)
    }

    /// Writes a complete file and makes its bytes durable, but not its name.
    private func fill(
        _ name: String, in volume: any Volume, from source: some AttachmentSource,
        until stop: EvaluationStop?
    ) throws(AttachmentError) -> ChunkList {
        let file = try onVolume { () throws(VolumeError) in try volume.open(name, .create) }
        defer { file.close() }
        var list = ChunkList(length: source.length)
        let start = AttachmentHeader.length(ofFile: source.length)
        // The file gets its final length first, so that one in memory does not grow repeatedly.
        try onVolume { () throws(VolumeError) in try file.truncate(to: start + source.length) }
        try Self.withBuffer(min(source.length, ChunkList.chunkLength)) {
            (buffer) throws(AttachmentError) in
            for chunk in 0..<list.count {
                try stop?.checkAttachment()
                let range = list.range(of: chunk)
                let bytes = UnsafeMutableRawBufferPointer(rebasing: buffer[..<range.count])
                let isRead = try onVolume { () throws(VolumeError) in
                    try source.read(into: bytes, at: range.lowerBound)
                }
                guard isRead else { throw .sourceChanged(source.name) }
                list.append(UnsafeRawBufferPointer(bytes))
                try onVolume { () throws(VolumeError) in
                    try file.writeFully(
                        UnsafeRawBufferPointer(bytes), at: start + range.lowerBound)
                }
            }
        }
        let isUnchanged = try onVolume { () throws(VolumeError) in try source.isUnchanged() }
        guard isUnchanged else { throw .sourceChanged(source.name) }
        let header = AttachmentHeader(
            id: list.id, list: list, storedChunks: ChunkSet(count: list.count, isFull: true))
        try Self.write(header, to: file)
        return list
    }

    /// Writes the header of a file, and makes the complete file durable.
    static func write(
        _ head: AttachmentHeader, to file: any VolumeFile
    ) throws(AttachmentError) {
        let bytes = head.bytes
        try bytes.span.withUnsafeBytes { bytes throws(AttachmentError) in
            try onVolume { () throws(VolumeError) in
                try file.writeFully(bytes, at: 0)
                try file.synchronize()
            }
        }
    }

    private static func withBuffer(
        _ length: Int,
        _ body: (UnsafeMutableRawBufferPointer) throws(AttachmentError) -> Void
    ) throws(AttachmentError) {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: length, alignment: 16)
        defer { buffer.deallocate() }
        try body(buffer)
    }
}
