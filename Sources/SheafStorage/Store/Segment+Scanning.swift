import SheafBytes

extension Segment {
    /// The maximum length of an operation that is prefetched completely; of longer ones, both ends.
    private static let fetchedLength = 512
    private static let lineLength = 64

    /// Prefetches the leading operations that are in this log segment; returns their number.
    ///
    /// Loads a byte of each cache line and adds it to `trace`. A base file prefetches nothing and
    /// returns the number of all pointers.
    func fetch(_ pointers: UnsafeBufferPointer<RecordPointer>, _ trace: inout UInt64) -> Int {
        guard isLog else { return pointers.count }
        let bytes = content
        let number = header.segments.lowerBound
        var sum: UInt64 = 0
        defer { trace &+= sum }
        for index in pointers.indices {
            let pointer = pointers[index]
            let (offset, length) = (pointer.position.offset, pointer.length)
            guard pointer.position.segment == number else { return index }
            guard offset <= bytes.count, length > 0, length <= bytes.count - offset else {
                continue
            }
            let last = offset &+ length &- 1
            let head = length <= Self.fetchedLength ? last : offset &+ Self.lineLength
            var line = offset
            while line < head {
                sum &+= UInt64(bytes[line])
                line &+= Self.lineLength
            }
            if length > Self.fetchedLength {
                sum &+= UInt64(bytes[last &- 2 * Self.lineLength])
                sum &+= UInt64(bytes[last &- Self.lineLength])
            }
            sum &+= UInt64(bytes[last])
        }
        return pointers.count
    }

    /// Prefetches the first two cache lines of an operation of this log segment.
    func fetch(_ offset: Int, _ trace: inout UInt64) {
        let bytes = content
        guard isLog, offset >= 0, offset < bytes.count - Self.lineLength else { return }
        trace &+= UInt64(bytes[offset]) &+ UInt64(bytes[offset &+ Self.lineLength])
    }

    /// Finds the leading puts in verified records of this log segment; returns their number.
    func find(
        _ pointers: UnsafeBufferPointer<RecordPointer>,
        into found: UnsafeMutablePointer<StoredBytes>
    ) -> Int {
        guard isLog else { return 0 }
        let bytes = content
        let number = header.segments.lowerBound
        var (record, recordLength) = (-1, 0)
        for index in pointers.indices {
            let pointer = pointers[index]
            let offset = pointer.position.offset
            guard pointer.position.segment == number, !pointer.isDelta,
                pointer.length > Operation.headerLength,
                offset <= bytes.count, pointer.length <= bytes.count &- offset
            else { return index }
            let distance = Int(bytes.loadInteger(offset &+ Operation.Layout.distance) as UInt32)
            guard distance >= Record.headerLength, distance <= offset &- SegmentHeader.length else {
                return index
            }
            if record != offset &- distance {
                record = offset &- distance
                guard isVerified(record, in: bytes) else { return index }
                recordLength = Int(bytes.loadInteger(record &+ Record.Layout.length) as UInt32)
            }
            let keyLength = Int(bytes.loadInteger(offset &+ Operation.Layout.keyLength) as UInt16)
            let payloadLength = Int(
                bytes.loadInteger(offset &+ Operation.Layout.payloadLength) as UInt32)
            let start = offset &+ Operation.headerLength
            guard bytes.loadInteger(offset) == Self.putHead, keyLength > 0,
                keyLength <= Limits.maximumKeyLength,
                Operation.headerLength &+ keyLength &+ payloadLength == pointer.length,
                distance &+ pointer.length <= recordLength,
                Operation.isLogged(firstByte: bytes[start]), let base = bytes.baseAddress
            else { return index }
            (found + index).initialize(
                to: StoredBytes(
                    key: UnsafeRawBufferPointer(start: base + start, count: keyLength),
                    payload: UnsafeRawBufferPointer(
                        start: base + start + keyLength, count: payloadLength),
                    pointer: pointer.position.rawValue))
        }
        return pointers.count
    }

    /// The first two bytes of an encoded put.
    private static let putHead = UInt16(Operation.Kind.put.rawValue)
}
