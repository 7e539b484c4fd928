import SheafBytes

/// A log file that got its footer; what was prepared behind the footer can be cut off.
struct SealedFile: Sendable {
    let file: any VolumeFile
    let length: Int
}

/// Puts batches on the disk: completes their records, writes them, and syncs each file.
///
/// Only one thread at a time writes.
struct SegmentWriter {
    /// What became durable with a batch.
    struct Written {
        var begun: [Segment] = []
        var sealed: [SealedFile] = []
        /// The checksum of the last record.
        var chain: UInt64
    }

    /// The segment that is being written.
    private final class Open {
        let file: any VolumeFile
        let segment: Segment
        /// The checksum of the record that was written last.
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
    /// What the header of the next segment names.
    private var link: UInt64
    /// The checksum of the record that was written last.
    private var chain: UInt64

    /// Starts behind a sealed segment whose footer has the link `link`.
    init(
        volume: any Volume, store: StoreID, preparation: SegmentPreparation, link: UInt64,
        chain: UInt64
    ) {
        self.volume = volume
        self.store = store
        self.preparation = preparation
        self.link = link
        self.chain = chain
    }

    /// Writes a batch and returns when it survives a power cut.
    mutating func write(
        _ batch: PendingBatch, synced: LogPosition
    ) throws(StorageError) -> Written {
        var written = Written(chain: chain)
        var synced = synced
        for piece in batch.pieces {
            let bytes = batch.bytes(of: piece)
            if let beginning = piece.beginning {
                let segment = try begin(piece.segment, beginning, over: bytes)
                written.begun.append(segment)
            }
            guard let current = open else {
                preconditionFailure("A piece that begins no segment goes on with one.")
            }
            let content = completeRecords(of: piece, in: bytes, current, synced: synced)
            let end = piece.fileOffset + content
            var footer: SegmentFooter?
            if let sealing = piece.sealing {
                let made = SegmentFooter(
                    contentLength: end, recordCount: current.recordCount,
                    lastCommit: sealing.lastCommit, lastCommitAt: sealing.lastCommitAt,
                    hash: current.hash.finish(), link: current.hash.finish(), synced: synced)
                UnsafeMutableRawBufferPointer(rebasing: bytes[content...])
                    .copyBytes(from: made.encoded(store: store))
                footer = made
            }
            do throws(VolumeError) {
                try current.file.writeFully(UnsafeRawBufferPointer(bytes), at: piece.fileOffset)
                try current.file.synchronize()
            } catch {
                throw StorageError(error)
            }
            synced = LogPosition(segment: piece.segment, offset: end)
            current.segment.grow(to: end)
            chain = current.chain
            written.chain = chain
            guard let footer else { continue }
            open = nil
            current.segment.seal(with: footer)
            link = footer.link
            written.sealed.append(
                SealedFile(file: current.file, length: end + SegmentFooter.length))
        }
        return written
    }

    /// Opens the file of a segment that begins, and lays its header over the piece.
    private mutating func begin(
        _ number: UInt32, _ beginning: PendingBatch.Beginning,
        over bytes: UnsafeMutableRawBufferPointer
    ) throws(StorageError) -> Segment {
        let header = SegmentHeader(
            kind: .log, store: store, segments: number...number,
            firstCommit: beginning.firstCommit, createdAt: beginning.createdAt, link: link)
        header.encode(into: bytes)
        let name = FileName.name(ofSegment: number)
        do throws(VolumeError) {
            let file: any VolumeFile
            if let prepared = preparation.take(number) {
                file = prepared
            } else {
                file = try volume.open(name, .create)
                try volume.synchronizeNames()
            }
            let mapping = try file.map(length: beginning.capacity, .shared)
            let segment = Segment(
                name: name, header: header, growingInto: mapping, readable: 0)
            open = Open(file: file, segment: segment)
            return segment
        } catch {
            throw StorageError(error)
        }
    }

    /// Seals the records of a piece; returns the length of all but the footer.
    private func completeRecords(
        of piece: PendingBatch.Piece, in bytes: UnsafeMutableRawBufferPointer,
        _ current: Open, synced: LogPosition
    ) -> Int {
        let end = bytes.count - (piece.sealing == nil ? 0 : SegmentFooter.length)
        var offset = piece.beginning == nil ? 0 : SegmentHeader.length
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
