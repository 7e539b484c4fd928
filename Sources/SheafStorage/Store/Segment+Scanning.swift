import SheafBytes

extension Segment {
    /// Longer operations are asked for at their ends alone, where most of what is looked at lies.
    private static let fetchedLength = 512
    private static let lineLength = 64

    /// Reads from each cache line at the first of some places, as long as they are in this log segment;
    /// returns how many were.
    func fetch(_ places: UnsafeBufferPointer<Place>, _ trace: inout UInt64) -> Int {
        guard isLog else { return places.count }
        let bytes = content
        let number = header.segments.lowerBound
        var sum: UInt64 = 0
        defer { trace &+= sum }
        for index in places.indices {
            let place = places[index]
            let (offset, length) = (place.position.offset, place.length)
            guard place.position.segment == number else { return index }
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
        return places.count
    }

    /// Finds the puts at the first of some places, as long as they are in this log segment, and in
    /// records that were verified; returns how many there were.
    func find(
        _ places: UnsafeBufferPointer<Place>, into found: UnsafeMutablePointer<StoredBytes>
    ) -> Int {
        guard isLog else { return 0 }
        let bytes = content
        let number = header.segments.lowerBound
        var (record, recordLength) = (-1, 0)
        for index in places.indices {
            let place = places[index]
            let offset = place.position.offset
            guard place.position.segment == number, !place.isExtension,
                place.length > Operation.headerLength,
                offset <= bytes.count, place.length <= bytes.count &- offset
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
                Operation.headerLength &+ keyLength &+ payloadLength == place.length,
                distance &+ place.length <= recordLength,
                Keyspace.isLogged(firstByte: bytes[start]), let base = bytes.baseAddress
            else { return index }
            (found + index).initialize(
                to: StoredBytes(
                    key: UnsafeRawBufferPointer(start: base + start, count: keyLength),
                    payload: UnsafeRawBufferPointer(
                        start: base + start + keyLength, count: payloadLength),
                    place: place.position.rawValue))
        }
        return places.count
    }

    /// The first two bytes of a put.
    private static let putHead = UInt16(Operation.Kind.put.rawValue)
}
