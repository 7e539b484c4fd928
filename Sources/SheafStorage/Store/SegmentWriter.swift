import SheafBytes

/// A sealed log file whose unused space after the footer can be truncated.
struct SealedFile: Sendable {
    let file: any VolumeFile
    let length: Int
}

/// A writer that completes the records of a batch, writes them, and syncs each file.
///
/// Only one thread at a time uses it.
struct SegmentWriter {
    /// The segments and the checksum that result from writing a batch.
    struct Written {
        var openedSegments: [Segment] = []
        var sealed: [SealedFile] = []
        /// The checksum of the last record.
        var chain: UInt64
    }

    /// The segment being written.
    private final class Open {
        let file: any VolumeFile
        let segment: Segment
        /// The checksum of the last record written.
        var chain: UInt64
        var hash: XXH3.Stream
        var recordCount: UInt64 = 0

        init(file: any VolumeFile, segment: Segment) {
            self.file = file
            self.segment = segment
            chain = segment.header.checksum
            hash = XXH3.Stream()
        }
    }

    private let volume: any Volume
    private let store: StoreID
    private let preparation: SegmentPreparation
    private var open: Open?
    /// The chain hash for the next segment's header.
    private var chainHash: UInt64
    /// The checksum of the last record written.
    private var chain: UInt64

    /// Creates a writer that continues after a sealed segment with `chainHash`.
    init(
        volume: any Volume, store: StoreID, preparation: SegmentPreparation, chainHash: UInt64,
        chain: UInt64
    ) {
        self.volume = volume
        self.store = store
        self.preparation = preparation
        self.chainHash = chainHash
        self.chain = chain
    }

    /// Writes a batch and makes it durable.
    mutating func write(
        _ batch: PendingBatch, synced: LogPosition
    ) throws(StorageError) -> Written {
        var written = Written(chain: chain)
        var synced = synced
        for extent in batch.pieces {
            let bytes = batch.bytes(of: extent)
            if let beginning = extent.beginning {
                let segment = try begin(extent, beginning, over: bytes)
                written.openedSegments.append(segment)
            }
            guard let current = open else {
                preconditionFailure("An extent without a header continues the open segment.")
            }
            let content =
                if let staged = extent.staged {
                    try writeRecordHeaders(
                        of: staged, in: extent.segment, after: bytes, current, synced: synced)
                } else {
                    completeRecords(of: extent, in: bytes, current, synced: synced)
                }
            let end = extent.fileOffset + content
            var footer: SegmentFooter?
            if let sealing = extent.sealing {
                let made = SegmentFooter(
                    contentLength: end, recordCount: current.recordCount,
                    lastCommit: sealing.lastCommit, lastCommitAt: sealing.lastCommitAt,
                    hash: current.hash.finish(), chainHash: current.hash.finish(), synced: synced)
                UnsafeMutableRawBufferPointer(
                    rebasing: bytes[(bytes.count - SegmentFooter.length)...]
                ).copyBytes(from: made.encoded(store: store))
                footer = made
            }
            try translatingErrors { () throws(VolumeError) in
                try write(UnsafeRawBufferPointer(bytes), of: extent, end: end, to: current.file)
                if let staged = extent.staged {
                    try staged.file.synchronize()
                } else {
                    try current.file.synchronize()
                }
            }
            synced = LogPosition(segment: extent.segment, offset: end)
            current.segment.grow(to: end)
            chain = current.chain
            written.chain = chain
            guard let footer else { continue }
            open = nil
            current.segment.seal(with: footer)
            chainHash = footer.chainHash
            written.sealed.append(
                SealedFile(file: current.file, length: end + SegmentFooter.length))
        }
        return written
    }

    /// Opens the file of a new segment and writes its header into the extent.
    private mutating func begin(
        _ extent: PendingBatch.Piece, _ beginning: PendingBatch.Beginning,
        over bytes: UnsafeMutableRawBufferPointer
    ) throws(StorageError) -> Segment {
        let number = extent.segment
        let header = SegmentHeader(
            kind: .log, store: store, segments: number...number,
            firstCommit: beginning.firstCommit, createdAt: beginning.createdAt, chainHash: chainHash
        )
        header.encode(into: bytes)
        let name = FileName.name(ofSegment: number)
        do throws(VolumeError) {
            let (file, mapping) = try file(of: extent, beginning)
            let segment = Segment(
                name: name, header: header, growingInto: mapping, readable: 0)
            open = Open(file: file, segment: segment)
            return segment
        } catch {
            throw StorageError(error)
        }
    }

    private func file(
        of extent: PendingBatch.Piece, _ beginning: PendingBatch.Beginning
    ) throws(VolumeError) -> (any VolumeFile, FileMapping) {
        if let staged = extent.staged?.file {
            try preparation.rename(staged, toSegment: extent.segment)
            return (staged.volumeFile, staged.mapping)
        }
        let file = try preparation.file(extent.segment, length: beginning.capacity)
        return (file, try file.map(length: beginning.capacity, .shared))
    }

    /// Writes the bytes of an extent, whose records end at an offset of the file.
    private func write(
        _ bytes: UnsafeRawBufferPointer, of extent: PendingBatch.Piece, end: Int,
        to file: any VolumeFile
    ) throws(VolumeError) {
        guard extent.staged != nil else {
            return try file.writeFully(bytes, at: extent.fileOffset)
        }
        try file.writeFully(bytes.slice(SegmentHeader.length..<bytes.count), at: end)
        // The header is last: without it, the file is no segment.
        try file.writeFully(bytes.slice(0..<SegmentHeader.length), at: 0)
    }

    /// Writes the headers of staged records, which follow that of their segment; returns their end.
    private func writeRecordHeaders(
        of staged: PendingBatch.Staged, in segment: UInt32,
        after header: UnsafeMutableRawBufferPointer, _ current: Open, synced: LogPosition
    ) throws(StorageError) -> Int {
        current.hash.update(UnsafeRawBufferPointer(header).slice(0..<SegmentHeader.length))
        let records = staged.file.records
        let longest = records.map { $0.end - $0.offset }.max() ?? 0
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: longest, alignment: 64)
        defer { buffer.deallocate() }
        for (index, record) in records.enumerated() {
            let bytes = UnsafeMutableRawBufferPointer(
                rebasing: buffer[..<(record.end - record.offset)])
            let part = staged.firstPart + UInt32(index)
            Record.layOut(
                Record.Draft(
                    kind: Record.Kind(
                        part: part, isLast: staged.endsCommit && index == records.count - 1),
                    bodyLength: record.bodyLength, commit: staged.commit,
                    position: LogPosition(segment: segment, offset: record.offset),
                    time: staged.time, operationCount: record.operationCount, part: part),
                over: bytes)
            let body = UnsafeMutableRawBufferPointer(
                rebasing: bytes[Record.headerLength..<Record.headerLength + record.bodyLength])
            body.copyMemory(from: staged.file.operations(of: record))
            // The checksum would make bytes that the disk has changed valid.
            try staged.file.verify(record, UnsafeRawBufferPointer(body))
            current.chain = Record.seal(
                bytes, previous: current.chain, synced: synced, store: store)
            current.recordCount += 1
            current.hash.update(UnsafeRawBufferPointer(bytes))
            let header = UnsafeRawBufferPointer(rebasing: bytes[..<Record.headerLength])
            try translatingErrors { () throws(VolumeError) in
                try current.file.writeFully(header, at: record.offset)
            }
        }
        return staged.file.end
    }

    /// Seals the records of an extent; returns the length without the footer.
    private func completeRecords(
        of extent: PendingBatch.Piece, in bytes: UnsafeMutableRawBufferPointer,
        _ current: Open, synced: LogPosition
    ) -> Int {
        let end = bytes.count - (extent.sealing == nil ? 0 : SegmentFooter.length)
        var offset = extent.beginning == nil ? 0 : SegmentHeader.length
        while offset < end {
            let length = Int(
                UnsafeRawBufferPointer(bytes).loadInteger(offset + Record.Layout.length) as UInt32)
            let record = UnsafeMutableRawBufferPointer(
                rebasing: bytes[offset..<offset + length])
            current.chain = Record.seal(
                record, previous: current.chain, synced: synced, store: store)
            current.recordCount += 1
            offset += length
        }
        current.hash.update(UnsafeRawBufferPointer(bytes).slice(0..<end))
        return end
    }
}
