import SheafBytes
package import SheafDocument
package import SheafStorage

/// An open file of the attachment directory, whose header matches its name.
package final class AttachmentFile: Sendable {
    package let id: AttachmentID
    package let list: ChunkList
    /// The header at opening.
    let header: AttachmentHeader
    private let file: any VolumeFile
    /// The path of the file in error messages.
    private let path: String
    private let start: Int

    package var length: Int { list.length }
    package var chunkCount: Int { list.count }

    /// Returns the file name of a complete attachment; `name(ofPartial:)` is for a partial one.
    static func name(ofComplete id: AttachmentID) -> String { "\(id).whole" }
    static func name(ofPartial id: AttachmentID) -> String { "\(id).part" }

    /// Opens a file, and checks that its header matches the id.
    static func open(
        _ id: AttachmentID, isComplete: Bool, in volume: any Volume, for access: FileAccess = .read
    ) throws(AttachmentError) -> AttachmentFile {
        let name = isComplete ? name(ofComplete: id) : name(ofPartial: id)
        let file = try onVolume { () throws(VolumeError) in try volume.open(name, access) }
        do throws(AttachmentError) {
            let path = "\(FileName.attachmentsName)/\(name)"
            let head = try header(of: id, isComplete: isComplete, in: file, at: path)
            return AttachmentFile(head, file, path)
        } catch {
            file.close()
            throw error
        }
    }

    /// Creates an instance for an open file that begins with a header.
    package init(_ header: AttachmentHeader, _ file: any VolumeFile, _ path: String) {
        self.header = header
        self.file = file
        self.path = path
        id = header.id
        list = header.list
        start = AttachmentHeader.length(ofFile: header.list.length)
    }

    deinit { file.close() }

    package func close() { file.close() }

    private static func header(
        of id: AttachmentID, isComplete: Bool, in file: any VolumeFile, at path: String
    ) throws(AttachmentError) -> AttachmentHeader {
        let size = try onVolume { () throws(VolumeError) in try file.size() }
        let first = try bytes(0..<min(size, AttachmentHeader.Layout.list), of: file)
        let length = try onHeader(of: path) { () throws(Malformed) in
            try first.span.withUnsafeBytes { bytes throws(Malformed) in
                try AttachmentHeader.fileLength(bytes, of: id)
            }
        }
        // The length is checked before the header is read: a wrong length would make us read too
        // much.
        let headerLength = AttachmentHeader.length(ofFile: length)
        guard size == headerLength + length else {
            throw .damaged(
                StorageError.Damage(
                    file: path, offset: min(size, headerLength + length),
                    reason: "the file has \(size) bytes instead of \(headerLength + length)"))
        }
        let bytes = try bytes(0..<headerLength, of: file)
        return try onHeader(of: path) { () throws(Malformed) in
            try bytes.span.withUnsafeBytes { bytes throws(Malformed) in
                try AttachmentHeader(decoding: bytes, of: id, isComplete: isComplete)
            }
        }
    }

    private static func bytes(
        _ range: Range<Int>, of file: any VolumeFile
    ) throws(AttachmentError) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: range.count)
        var span = bytes.mutableSpan
        try span.withUnsafeMutableBytes { buffer throws(AttachmentError) in
            try onVolume { () throws(VolumeError) in
                try file.readFully(into: buffer, at: range.lowerBound)
            }
        }
        return bytes
    }

    /// Returns the bytes of a chunk, compared with its hash.
    package func read(_ chunk: Int) throws(AttachmentError) -> [UInt8] {
        precondition(0..<list.count ~= chunk, "Only chunks of the file are read.")
        let range = list.range(of: chunk)
        let bytes = try Self.bytes(start + range.lowerBound..<start + range.upperBound, of: file)
        guard bytes.withUnsafeBytes({ list.matches($0, at: chunk) }) else {
            throw .damaged(
                StorageError.Damage(
                    file: path, offset: start + range.lowerBound,
                    reason: "the bytes do not match the hash of chunk \(chunk)"))
        }
        return bytes
    }

    /// Returns a range of bytes of the file, read from the chunks that contain it.
    package func read(_ range: Range<Int>) throws(AttachmentError) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(range.count)
        var next = range.lowerBound
        while next < range.upperBound {
            let chunk = next / ChunkList.chunkLength
            let lies = list.range(of: chunk)
            let taken = next..<min(lies.upperBound, range.upperBound)
            bytes += try read(chunk)[
                taken.lowerBound - lies.lowerBound..<taken.upperBound - lies.lowerBound]
            next = taken.upperBound
        }
        return bytes
    }

    /// Writes the bytes of a chunk, which have been compared with its hash.
    func write(_ bytes: UnsafeRawBufferPointer, at chunk: Int) throws(AttachmentError) {
        try write(bytes, atOffset: start + list.range(of: chunk).lowerBound)
    }

    /// Writes the set of stored chunks into the header.
    func write(_ storedChunks: ChunkSet) throws(AttachmentError) {
        let offset = AttachmentHeader.storedChunksOffset(list)
        try storedChunks.bytes.span.withUnsafeBytes { bytes throws(AttachmentError) in
            try write(bytes, atOffset: offset)
        }
    }

    /// Clears the time since which no document references the file.
    package func clearMark() throws(AttachmentError) {
        try AttachmentHeader.mark(0).span.withUnsafeBytes { bytes throws(AttachmentError) in
            try write(bytes, atOffset: AttachmentHeader.Layout.mark)
        }
    }

    func synchronize() throws(AttachmentError) {
        try onVolume { () throws(VolumeError) in try file.synchronize() }
    }

    private func write(
        _ bytes: UnsafeRawBufferPointer, atOffset offset: Int
    ) throws(AttachmentError) {
        try onVolume { () throws(VolumeError) in try file.writeFully(bytes, at: offset) }
    }
}
