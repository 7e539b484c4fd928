import SheafBytes

/// Reads log files whose ends a writer may be changing.
///
/// A mapped byte that a truncation removes would end the process, so only bytes that no writer
/// cuts off are mapped. All others are read by calls.
enum SealedPart {
    private static let chunkLength = 64 << 10
    /// The number of bytes mapped after the mark, into which the file may grow.
    private static let growthLength = 64 << 10

    /// Maps a sealed file up to its footer; returns nil if it has none.
    ///
    /// Zeros after the footer may be cut off at any time, the footer itself never.
    static func map(_ file: any VolumeFile) throws(VolumeError) -> DirectorySnapshot.LogFile? {
        guard let length = try sealedLength(of: file) else { return nil }
        return DirectorySnapshot.LogFile(
            mapping: try file.map(length: length, .shared), count: length, isSealed: true)
    }

    /// Copies a file that is not sealed into memory.
    static func copy(_ file: any VolumeFile) throws(VolumeError) -> DirectorySnapshot.LogFile {
        var size = min(try file.size(), Limits.maximumFileLength)
        while true {
            do throws(VolumeError) {
                let mapping = try FileMapping.copy(count: size) { buffer throws(VolumeError) in
                    try file.readFully(into: buffer, at: 0)
                }
                return DirectorySnapshot.LogFile(
                    mapping: mapping, isCopy: true, count: size, isSealed: false)
            } catch {
                // The file was cut off after its size was read, which happens once.
                let now = try file.size()
                guard error.code == .unexpectedEnd, now < size else { throw error }
                size = now
            }
        }
    }

    /// Maps the segment in use up to the mark, and its footer if it ends there.
    ///
    /// Returns nil if the file has fewer bytes.
    static func growing(
        _ file: any VolumeFile, to mark: SyncedMark, _ known: DirectorySnapshot.LogFile?
    ) throws(VolumeError) -> DirectorySnapshot.LogFile? {
        let end = mark.position.offset
        let size = min(try file.size(), Limits.maximumFileLength)
        guard size >= end else { return nil }
        let sealed = end + SegmentFooter.length
        let mapping =
            if let known, !known.isCopy, let mapping = known.mapping,
                mapping.count >= min(sealed, size)
            {
                mapping
            } else {
                // More is mapped than the file has, so that the next commits need no mapping. Bytes
                // after a mark are not accessed before the mark is there.
                try file.map(
                    length: min(max(size, end + growthLength), Limits.maximumFileLength), .shared)
            }
        // A file with room for a footer after the mark is never cut off before the end of one.
        if size >= sealed, mapping.count >= sealed,
            SegmentFooter(decoding: mapping.bytes, at: end, store: mark.owner.store) != nil
        {
            return DirectorySnapshot.LogFile(mapping: mapping, count: sealed, isSealed: true)
        }
        return DirectorySnapshot.LogFile(mapping: mapping, count: end, isSealed: false)
    }

    /// Makes the bytes of a file durable that was opened for reading.
    static func makeDurable(_ file: any VolumeFile) throws(VolumeError) {
        do throws(VolumeError) {
            try file.synchronize()
        } catch {
            // On a file system without writers, nothing is waiting to be written.
            guard error.code == .readOnlyFileSystem || error.code == .invalidName else {
                throw error
            }
        }
    }

    /// Returns the length of a file with its footer; nil if it does not end with one.
    private static func sealedLength(of file: any VolumeFile) throws(VolumeError) -> Int? {
        var size = min(try file.size(), Limits.maximumFileLength)
        while true {
            do throws(VolumeError) {
                return try sealedLength(of: file, size: size)
            } catch {
                let now = try file.size()
                guard error.code == .unexpectedEnd, now < size else { throw error }
                size = now
            }
        }
    }

    private static func sealedLength(
        of file: any VolumeFile, size: Int
    ) throws(VolumeError) -> Int? {
        guard let end = try endOfContent(of: file, size: size) else { return nil }
        let start = try FileMapping.copy(count: SegmentHeader.length) {
            buffer throws(VolumeError) in
            try file.readFully(into: buffer, at: 0)
        }
        let header = withExtendedLifetime(start) { try? SegmentHeader(decoding: start.bytes) }
        guard let header else { return nil }
        // The checksum at the end of a footer may itself be zero.
        for candidate in [end, end + 8] where candidate <= size {
            let offset = candidate - SegmentFooter.length
            guard offset >= SegmentHeader.length else { continue }
            let footer = try FileMapping.copy(count: SegmentFooter.length) {
                buffer throws(VolumeError) in
                try file.readFully(into: buffer, at: offset)
            }
            let isFooter = withExtendedLifetime(footer) {
                SegmentFooter.isValid(footer.bytes, at: offset, store: header.store)
            }
            if isFooter { return candidate }
        }
        return nil
    }

    /// Returns the end of the last eight bytes that are not all zeros; nil if a footer has no room.
    private static func endOfContent(
        of file: any VolumeFile, size: Int
    ) throws(VolumeError) -> Int? {
        let buffer = UnsafeMutableRawBufferPointer.allocate(
            byteCount: min(chunkLength, max(size, 8)), alignment: 8)
        defer { buffer.deallocate() }
        var end = size & ~7
        while end > SegmentHeader.length {
            let count = min(buffer.count & ~7, end)
            let chunk = UnsafeMutableRawBufferPointer(rebasing: buffer[..<count])
            try file.readFully(into: chunk, at: end - count)
            var offset = count
            let bytes = UnsafeRawBufferPointer(chunk)
            while offset >= 8, bytes.loadInteger(offset - 8) as UInt64 == 0 { offset -= 8 }
            if offset > 0 { return end - count + offset }
            end -= count
        }
        return nil
    }
}
