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
                let segment = try begin(extent.segment, beginning, over: bytes)
                written.openedSegments.append(segment)
            }
            guard let current = open else {
                preconditionFailure("An extent without a header continues the open segment.")
            }
            let content = completeRecords(of: extent, in: bytes, current, synced: synced)
            let end = extent.fileOffset + content
            var footer: SegmentFooter?
            if let sealing = extent.sealing {
                let made = SegmentFooter(
                    contentLength: end, recordCount: current.recordCount,
                    lastCommit: sealing.lastCommit, lastCommitAt: sealing.lastCommitAt,
                    hash: current.hash.finish(), chainHash: current.hash.finish(), synced: synced)
                UnsafeMutableRawBufferPointer(rebasing: bytes[content...])
                    .copyBytes(from: made.encoded(store: store))
                footer = made
            }
            do throws(VolumeError) {
                try current.file.writeFully(UnsafeRawBufferPointer(bytes), at: extent.fileOffset)
                try current.file.synchronize()
            } catch {
                throw StorageError(error)
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
        _ number: UInt32, _ beginning: PendingBatch.Beginning,
        over bytes: UnsafeMutableRawBufferPointer
    ) throws(StorageError) -> Segment {
        let header = SegmentHeader(
            kind: .log, store: store, segments: number...number,
            firstCommit: beginning.firstCommit, createdAt: beginning.createdAt, chainHash: chainHash
        )
        header.encode(into: bytes)
        let name = FileName.name(ofSegment: number)
        do throws(VolumeError) {
            let file = try preparation.file(number, length: beginning.preparedLength)
            let mapping = try file.map(length: beginning.capacity, .shared)
            let segment = Segment(
                name: name, header: header, growingInto: mapping, readable: 0)
            open = Open(file: file, segment: segment)
            return segment
        } catch {
            throw StorageError(error)
        }
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
