import SheafBytes

/// Puts that are encoded before the batch to which they are added.
///
/// They are kept in blocks, so that a new one does not move the others.
package struct EncodedPuts: Sendable {
    /// The location of a put.
    package struct Location: Sendable {
        fileprivate let block: UInt32
        fileprivate let offset: UInt32
    }

    /// Memory for puts; only a block that no copy shares is written to.
    private final class Block: Sendable {
        nonisolated(unsafe) let bytes: UnsafeMutableRawBufferPointer

        init(length: Int) {
            bytes = .allocate(byteCount: length, alignment: 16)
        }

        deinit { bytes.deallocate() }
    }

    /// Length of the first block; each one is twice as long as the one before, up to a limit.
    ///
    /// A longer put has a block of its own length.
    private static let firstLength = 1 << 12
    private static let maximumUsualLength = 1 << 20

    private var blocks: [Block] = []
    /// The number of bytes used in the last block.
    private var used = 0

    package init() {}

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

    private mutating func ensureRoom(for length: Int) {
        if !blocks.isEmpty, isKnownUniquelyReferenced(&blocks[blocks.count - 1]),
            blocks[blocks.count - 1].bytes.count - used >= length
        {
            return
        }
        let doubled = blocks.last.map { 2 * $0.bytes.count } ?? Self.firstLength
        blocks.append(Block(length: max(min(doubled, Self.maximumUsualLength), length)))
        used = 0
    }

    /// Removes a put and all that were added after it.
    package mutating func remove(from location: Location) {
        blocks.removeSubrange((Int(location.block) + 1)...)
        used = Int(location.offset)
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

    @inline(__always)
    fileprivate init(in block: UnsafeRawBufferPointer, at offset: Int) {
        bytes = block.slice(offset..<offset + Operation.length(in: block, at: offset))
        key = Operation.key(in: bytes, at: 0)
        rest = bytes.slice(Operation.headerLength + key.count + 1..<bytes.count)
    }
}
