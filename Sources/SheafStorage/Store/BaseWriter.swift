import SheafBytes

/// A writer of a base file: compacted records, their directory and a footer.
final class BaseWriter {
    private let volume: any Volume
    private let temporary: String
    private let file: any VolumeFile
    private let header: SegmentHeader
    /// The footer of the last replaced segment; the segment after the base file follows it.
    private let last: SegmentFooter
    private var hash = XXH3.Stream()
    private var chain: UInt64
    private var recordCount: UInt64 = 0
    /// Complete records not yet written, and their offset in the file.
    private var buffer: [UInt8]
    private var offset = 0
    private var directory = ByteWriter()
    private var directoryCount = 0
    /// The entries and operations of the current record.
    private var entries: [CompactedRecord.Entry] = []
    private var operations: [UInt8] = []

    init(
        volume: any Volume, temporary: String, header: SegmentHeader, last: SegmentFooter
    ) throws(StorageError) {
        self.volume = volume
        self.temporary = temporary
        self.header = header
        self.last = last
        chain = header.checksum
        buffer = header.encoded()
        file = try translatingErrors { () throws(VolumeError) in
            try volume.open(temporary, .create)
        }
    }

    /// The number of buffered bytes.
    var bufferedLength: Int { buffer.count }

    /// Appends an operation; calls must be in the order of positions.
    func add(
        _ operation: Operation, at position: LogPosition, of commit: CommitID
    ) throws(StorageError) {
        if operations.count + operation.length > CompactedRecord.targetLength { try endRecord() }
        // Offsets are relative until the number of entries in the record is final.
        entries.append(
            CompactedRecord.Entry(
                position: position, commit: commit, offset: operations.count,
                length: operation.length))
        withUnsafeTemporaryAllocation(byteCount: Operation.headerLength, alignment: 8) { header in
            header[0..<Operation.headerLength].update(repeating: 0)
            header.store(operation.kind.rawValue, at: Operation.Layout.kind)
            header.store(UInt16(operation.key.count), at: Operation.Layout.keyLength)
            header.store(UInt32(operation.payload.count), at: Operation.Layout.payloadLength)
            header.store(operation.previous.rawValue, at: Operation.Layout.previous)
            operations.append(contentsOf: UnsafeRawBufferPointer(header))
        }
        operations.append(contentsOf: operation.key)
        operations.append(contentsOf: operation.payload)
    }

    /// Writes and syncs the buffered records; returns their length.
    func flush() throws(StorageError) -> Int {
        let bytes = buffer
        buffer = []
        bytes.withUnsafeBytes { hash.update($0) }
        return try translatingErrors { () throws(VolumeError) in
            try bytes.span.withUnsafeBytes { bytes throws(VolumeError) in
                try file.writeFully(bytes, at: offset)
            }
            try file.synchronize()
            offset += bytes.count
            return bytes.count
        }
    }

    /// Completes the file and renames it durably to `name`.
    func finish(
        as name: String, removalsCompactedThrough: LogPosition
    ) throws(StorageError) -> Segment {
        do throws(StorageError) {
            return try complete(as: name, removalsCompactedThrough)
        } catch {
            file.close()
            try? volume.remove(temporary)
            throw error
        }
    }

    /// Removes the unfinished file.
    func abandon() {
        file.close()
        try? volume.remove(temporary)
    }

    private func complete(
        as name: String, _ removalsCompactedThrough: LogPosition
    ) throws(StorageError) -> Segment {
        try endRecord()
        let directoryOffset = offset + buffer.count
        appendRecord(
            kind: .directory, body: directory.bytes, count: directoryCount,
            commit: last.lastCommit)
        _ = try flush()
        let length = offset
        let footer = SegmentFooter(
            contentLength: length, recordCount: recordCount, lastCommit: last.lastCommit,
            lastCommitAt: last.lastCommitAt, hash: hash.finish(), chainHash: last.chainHash,
            directoryOffset: directoryOffset, synced: .none,
            removalsCompactedThrough: removalsCompactedThrough)
        let encoded = footer.encoded(store: header.store)
        let mapping = try translatingErrors { () throws(VolumeError) in
            try encoded.span.withUnsafeBytes { bytes throws(VolumeError) in
                try file.writeFully(bytes, at: length)
            }
            try file.synchronize()
            let mapping = try file.map(length: length + SegmentFooter.length, .shared)
            file.close()
            try volume.rename(temporary, to: name)
            try volume.synchronizeNames()
            return mapping
        }
        do throws(FormatError) {
            return try Segment(name: name, header: header, footer: footer, mapping: mapping)
        } catch {
            throw StorageError(error, file: name)
        }
    }

    /// Completes the current record.
    private func endRecord() throws(StorageError) {
        guard let first = entries.first, let newest = entries.last else { return }
        let recordOffset = offset + buffer.count
        try Limits.check(baseFileLength: recordOffset + operations.count)
        let start = Record.headerLength + entries.count * CompactedRecord.entryLength
        var body = ByteWriter(capacity: start + operations.count)
        for entry in entries {
            body.write(entry.position.rawValue)
            body.write(entry.commit)
            body.write(UInt32(start + entry.offset))
            body.write(UInt32(entry.length))
        }
        operations.withUnsafeMutableBytes { bytes in
            for entry in entries {
                let distance = UInt32(start + entry.offset)
                bytes.store(distance, at: entry.offset + Operation.Layout.distance)
            }
        }
        body.write(operations)
        appendRecord(
            kind: .compacted, body: body.bytes, count: entries.count, commit: newest.commit)
        directory.write(first.position.rawValue)
        directory.write(UInt32(recordOffset))
        directory.write(UInt32(entries.count))
        directoryCount += 1
        entries.removeAll(keepingCapacity: true)
        operations.removeAll(keepingCapacity: true)
    }

    private func appendRecord(
        kind: Record.Kind, body: [UInt8], count: Int, commit: CommitID
    ) {
        let length = Record.length(ofBody: body.count)
        let start = buffer.count
        let position = LogPosition(segment: header.segments.lowerBound, offset: offset + start)
        let draft = Record.Draft(
            kind: kind, bodyLength: body.count, commit: commit, position: position,
            time: last.lastCommitAt, operationCount: count, part: 0)
        buffer.append(contentsOf: repeatElement(0, count: length))
        chain = buffer.withUnsafeMutableBytes { bytes in
            let record = UnsafeMutableRawBufferPointer(rebasing: bytes[start...])
            Record.layOut(draft, over: record)
            UnsafeMutableRawBufferPointer(rebasing: record[Record.headerLength...])
                .copyBytes(from: body)
            return Record.seal(record, previous: chain, synced: .none, store: header.store)
        }
        recordCount += 1
    }
}
