import SheafBytes
import Synchronization

/// Records of a long transaction, written to files before its commit.
///
/// A file has room for the header of a segment, and for that of each record. The commit writes the
/// headers and makes each file a segment of the log. Without a commit the files are removed; an
/// opening removes them after a crash, because their names are those of temporary files.
///
/// It is used by the transaction, then by the flushing thread. The maintenance thread only syncs
/// the files.
package final class StagedRecords: Sendable {
    /// A record without its header.
    struct StagedRecord {
        let offset: Int
        let bodyLength: Int
        let operationCount: Int
        /// The hash of the operations.
        let hash: UInt64

        /// The offset of the first operation.
        var bodyOffset: Int { offset + Record.headerLength }
        var end: Int { offset + Record.length(ofBody: bodyLength) }
    }

    /// A file that becomes a segment of the log.
    final class File: Sendable {
        let volumeFile: any VolumeFile
        let mapping: FileMapping
        private let volume: any Volume
        nonisolated(unsafe) fileprivate(set) var records: [StagedRecord] = []
        /// The end of all bytes that may have been written.
        nonisolated(unsafe) fileprivate var writtenEnd = 0
        /// Whether the file is a segment of the log.
        nonisolated(unsafe) private var isSegment = false
        /// The error of a sync before the commit.
        private let syncFailure = Mutex<VolumeError?>(nil)

        fileprivate init(_ name: String, in volume: any Volume, length: Int) throws(VolumeError) {
            let file = try volume.open(name, .create)
            do throws(VolumeError) {
                mapping = try file.map(length: length, .shared)
            } catch {
                file.close()
                try? volume.remove(file.name)
                throw error
            }
            volumeFile = file
            self.volume = volume
        }

        deinit {
            guard !isSegment else { return }
            volumeFile.close()
            // An opening removes the file if this fails.
            try? volume.remove(volumeFile.name)
        }

        /// Returns the operations of a record.
        func operations(of record: StagedRecord) -> UnsafeRawBufferPointer {
            mapping.bytes.slice(record.bodyOffset..<record.bodyOffset + record.bodyLength)
        }

        /// Throws if bytes are not the operations of a record.
        func verify(_ record: StagedRecord, _ bytes: UnsafeRawBufferPointer) throws(StorageError) {
            guard XXH3.hash64(bytes) == record.hash else {
                throw .damaged(
                    volumeFile.name, at: record.bodyOffset, "the record's hash does not match")
            }
        }

        /// The end of the records.
        var end: Int { records.last?.end ?? SegmentHeader.length }

        /// Truncates the file after its last record: bytes after a footer would hide it.
        func truncateToRecords() throws(VolumeError) {
            if writtenEnd > end { try volumeFile.truncate(to: end) }
        }

        /// Marks the file as a segment, which the log closes and removes.
        func markAsSegment() { isSegment = true }

        /// Syncs the records that are written so far, before the commit.
        func synchronizeEarly() {
            // The lock is held during the call, so that `synchronize` sees its error.
            syncFailure.withLock { failure in
                do throws(VolumeError) { try volumeFile.synchronize() } catch { failure = error }
            }
        }

        /// Makes the complete file durable.
        ///
        /// After a failed sync, the next one may succeed although bytes are lost.
        func synchronize() throws(VolumeError) {
            try volumeFile.synchronize()
            if let error = syncFailure.withLock({ $0 }) { throw error }
        }

        /// Throws if an early sync has failed, without waiting for one that is running.
        fileprivate func checkSynced() throws(VolumeError) {
            if let error = syncFailure.withLockIfAvailable({ $0 }) ?? nil { throw error }
        }
    }

    /// The length of records after which their file is synced.
    private static let lengthBetweenSyncs = 8 << 20

    private let volume: any Volume
    private let fileLength: Int
    private let random: @Sendable () -> UInt64
    private let requestSync: @Sendable (File) -> Void
    /// The length of the records since the last request to sync them.
    nonisolated(unsafe) private var unsyncedLength = 0
    nonisolated(unsafe) private(set) var files: [File] = []
    /// The number of records.
    nonisolated(unsafe) private(set) var count = 0
    nonisolated(unsafe) package private(set) var operationCount = 0
    /// The total length of the operations in bytes.
    nonisolated(unsafe) package private(set) var byteCount = 0

    /// Creates a list of records in files of at most `fileLength` bytes, unless a record is longer.
    ///
    /// `random` names the files. `requestSync` is called with the current file after each 8 MiB
    /// of records.
    init(
        in volume: any Volume, fileLength: Int, random: @escaping @Sendable () -> UInt64,
        requestSync: @escaping @Sendable (File) -> Void
    ) {
        self.volume = volume
        self.fileLength = fileLength
        self.random = random
        self.requestSync = requestSync
    }

    /// Writes a record with the operations of `block`; returns them in the mapped file.
    ///
    /// `block` has room for the padding of a record after the operations, which are `length` bytes.
    /// No earlier record has operations of the keys of `block`; `previous` returns the position of
    /// the newest one in the log.
    func append(
        _ block: UnsafeMutableRawBufferPointer, length: Int,
        previous: (UnsafeRawBufferPointer) -> LogPosition
    ) throws(StorageError) -> (bytes: UnsafeMutableRawBufferPointer, mapping: FileMapping) {
        let count = Self.setDistances(block, length: length, previous: previous)
        let recordLength = Record.length(ofBody: length)
        let file = try fileWithRoom(for: recordLength)
        let record = StagedRecord(
            offset: file.end, bodyLength: length, operationCount: count,
            hash: XXH3.hash64(UnsafeRawBufferPointer(rebasing: block[..<length])))
        let padded = recordLength - Record.headerLength
        block[length..<padded].update(repeating: 0)
        // A failed call may have written a part.
        file.writtenEnd = max(file.writtenEnd, record.end)
        try translatingErrors { () throws(VolumeError) in
            try file.volumeFile.writeFully(
                UnsafeRawBufferPointer(rebasing: block[..<padded]), at: record.bodyOffset)
        }
        file.records.append(record)
        // A file without records would end the commit as an empty segment.
        if file !== files.last { files.append(file) }
        self.count += 1
        operationCount += count
        byteCount += length
        unsyncedLength += padded
        if unsyncedLength >= Self.lengthBetweenSyncs {
            unsyncedLength = 0
            requestSync(file)
        }
        return (
            UnsafeMutableRawBufferPointer(
                start: file.mapping.base + record.bodyOffset, count: length), file.mapping
        )
    }

    /// Sets the distance and the previous position of each operation; returns the number of them.
    private static func setDistances(
        _ block: UnsafeMutableRawBufferPointer, length: Int,
        previous: (UnsafeRawBufferPointer) -> LogPosition
    ) -> Int {
        let bytes = UnsafeRawBufferPointer(block)
        var (offset, count) = (0, 0)
        while offset < length {
            let position = previous(Operation.key(in: bytes, at: offset))
            block.store(position.rawValue, at: offset + Operation.Layout.previous)
            block.store(
                UInt32(Record.headerLength + offset),
                at: offset + Operation.Layout.distance)
            offset += Operation.length(in: bytes, at: offset)
            count += 1
        }
        return count
    }

    private func fileWithRoom(for length: Int) throws(StorageError) -> File {
        if let last = files.last, last.end + length + SegmentFooter.length <= last.mapping.count {
            return last
        }
        let needed = SegmentHeader.length + length + SegmentFooter.length
        return try translatingErrors { () throws(VolumeError) in
            try File(
                FileName.temporaryName(random()), in: volume, length: max(needed, fileLength))
        }
    }

    /// Throws if the operations of a record do not match their hash, or a file could not be synced.
    func verify() throws(StorageError) {
        for file in files {
            try translatingErrors { () throws(VolumeError) in try file.checkSynced() }
            for record in file.records {
                try file.verify(record, file.operations(of: record))
            }
        }
    }

    /// Keeps the first `kept` records.
    func truncate(toCount kept: Int) {
        while count > kept, let file = files.last {
            guard let record = file.records.popLast() else {
                files.removeLast()
                continue
            }
            count -= 1
            operationCount -= record.operationCount
            byteCount -= record.bodyLength
        }
        if files.last?.records.isEmpty == true { files.removeLast() }
    }
}
