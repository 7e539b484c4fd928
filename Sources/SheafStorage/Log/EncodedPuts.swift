import SheafBytes

/// Puts that are encoded before the batch to which they are added.
///
/// They are kept in blocks, so that a new one does not move the others. The blocks of many puts are
/// written to files as records of the log (`StagedRecords`), and then read from there.
package struct EncodedPuts: Sendable {
    /// The location of a put.
    package struct Location: Sendable {
        fileprivate let block: UInt32
        fileprivate let offset: UInt32
    }

    /// Puts in memory or in a mapped file; only a block that no copy shares is written to.
    private final class Block: Sendable {
        nonisolated(unsafe) let bytes: UnsafeMutableRawBufferPointer
        /// The file of the bytes; nil if they are in memory.
        private let mapping: FileMapping?

        init(length: Int) {
            bytes = .allocate(byteCount: length + Record.alignment, alignment: 16)
            mapping = nil
        }

        init(_ bytes: UnsafeMutableRawBufferPointer, in mapping: FileMapping) {
            self.bytes = bytes
            self.mapping = mapping
        }

        deinit {
            if mapping == nil { bytes.deallocate() }
        }

        /// The number of bytes that puts may use in a block in memory.
        ///
        /// The padding of a record may follow them.
        var capacity: Int { bytes.count - Record.alignment }
    }

    /// Length of the first block; each one is twice as long as the one before, up to a limit.
    ///
    /// A longer put has a block of its own length.
    private let firstLength: Int

    /// The blocks; those of the staged records are first.
    private var blocks: [Block] = []
    /// The number of bytes used in each block but the last.
    private var lengths: [Int] = []
    /// The number of bytes used in the last block.
    private var used = 0
    /// The records that are in files.
    package private(set) var staged: StagedRecords?
    /// The number of bytes of the blocks in memory before the last one.
    private var completeLengthInMemory = 0

    package init(firstLength: Int = 1 << 12) {
        self.firstLength = firstLength
    }

    /// The number of puts in files; they are the first ones.
    package var stagedCount: Int { staged?.operationCount ?? 0 }

    /// Encodes a put of the byte `first` followed by `rest`.
    package mutating func append(
        _ key: UnsafeRawBufferPointer, _ first: UInt8, _ rest: UnsafeRawBufferPointer
    ) throws(StorageError) -> Location {
        try Operation.check(key, payloadLength: rest.count + 1)
        let headLength = Operation.headerLength + key.count + 1
        ensureRoom(for: headLength + rest.count)
        let location = Location(block: UInt32(blocks.count - 1), offset: UInt32(used))
        let target = UnsafeMutableRawBufferPointer(
            rebasing: blocks[blocks.count - 1].bytes[used...])
        Operation.writeHeaderAndKey(
            .put, key, firstPayloadByte: first, payloadLength: rest.count + 1,
            to: UnsafeMutableRawBufferPointer(rebasing: target[..<headLength]))
        UnsafeMutableRawBufferPointer(rebasing: target[headLength...]).copyMemory(from: rest)
        used += headLength + rest.count
        return location
    }

    /// Adds a copy of a put.
    package mutating func append(_ put: EncodedPut) -> Location {
        ensureRoom(for: put.bytes.count)
        let location = Location(block: UInt32(blocks.count - 1), offset: UInt32(used))
        UnsafeMutableRawBufferPointer(rebasing: blocks[blocks.count - 1].bytes[used...])
            .copyMemory(from: put.bytes)
        used += put.bytes.count
        return location
    }

    private mutating func ensureRoom(for length: Int) {
        let isInMemory = blocks.count > (staged?.count ?? 0)
        if isInMemory, isKnownUniquelyReferenced(&blocks[blocks.count - 1]),
            blocks[blocks.count - 1].capacity - used >= length
        {
            return
        }
        let doubled = blocks.last.map { 2 * $0.capacity } ?? firstLength
        if isInMemory, used == 0 {
            // A rollback may leave an empty block, which would be a record without operations.
            blocks.removeLast()
        } else if !blocks.isEmpty {
            lengths.append(used)
            if isInMemory { completeLengthInMemory += used }
        }
        blocks.append(Block(length: max(min(doubled, Record.targetLength), length)))
        used = 0
    }

    /// Removes a put and all that were added after it.
    package mutating func remove(from location: Location) {
        let last = Int(location.block)
        blocks.removeSubrange((last + 1)...)
        lengths.removeSubrange(last...)
        used = Int(location.offset)
        let inFiles = staged?.count ?? 0
        if last < inFiles {
            // Puts are added to blocks in memory only.
            let block = Block(length: max(used, firstLength))
            block.bytes.copyMemory(
                from: UnsafeRawBufferPointer(rebasing: blocks[last].bytes[..<used]))
            blocks[last] = block
            staged?.truncate(toCount: last)
        }
        completeLengthInMemory = lengths[min(inFiles, last)...].reduce(0, +)
    }

    /// Writes blocks to files, if the puts in memory take at least `limit` bytes.
    ///
    /// A last block that is less than half full stays in memory. Copies share the files, so only
    /// one copy may be changed. `previous` returns the position of the newest operation of a key in
    /// the log.
    @inline(__always)
    mutating func stage(
        beyond limit: Int, _ files: () -> StagedRecords,
        previous: (UnsafeRawBufferPointer) -> LogPosition
    ) throws(StorageError) {
        guard completeLengthInMemory > 0 || used >= limit,
            staged != nil || completeLengthInMemory + used >= limit
        else { return }
        try stageBlocks(in: staged ?? files(), beyond: limit, previous: previous)
    }

    private mutating func stageBlocks(
        in staged: StagedRecords, beyond limit: Int,
        previous: (UnsafeRawBufferPointer) -> LogPosition
    ) throws(StorageError) {
        self.staged = staged
        for index in staged.count..<blocks.count {
            let isComplete = index < lengths.count
            guard isComplete || used >= min(limit, Record.targetLength / 2) else { return }
            let length = isComplete ? lengths[index] : used
            let (bytes, mapping) = try staged.append(
                blocks[index].bytes, length: length, previous: previous)
            blocks[index] = Block(bytes, in: mapping)
            if isComplete { completeLengthInMemory -= length }
        }
    }

    /// Returns the put at a location; its bytes are valid while this value exists.
    @inline(__always)
    package func put(_ location: Location) -> EncodedPut {
        EncodedPut(
            in: UnsafeRawBufferPointer(blocks[Int(location.block)].bytes), at: Int(location.offset))
    }
}

/// A put of `EncodedPuts`, as a batch contains it.
package struct EncodedPut {
    let bytes: UnsafeRawBufferPointer
    package let key: UnsafeRawBufferPointer
    /// The payload after its first byte.
    package let rest: UnsafeRawBufferPointer

    /// The first byte of the payload.
    package var firstByte: UInt8 { bytes[Operation.headerLength + key.count] }

    @inline(__always)
    fileprivate init(in block: UnsafeRawBufferPointer, at offset: Int) {
        bytes = block.slice(offset..<offset + Operation.length(in: block, at: offset))
        key = Operation.key(in: bytes, at: 0)
        rest = bytes.slice(Operation.headerLength + key.count + 1..<bytes.count)
    }
}
