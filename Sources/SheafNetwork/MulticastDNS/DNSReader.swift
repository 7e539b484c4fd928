/// A reader of DNS messages, whose bytes come from any host of the network.
package struct DNSReader {
    /// The bytes are no message.
    package struct Failure: Error, Equatable {}

    private let bytes: UnsafeRawBufferPointer
    private var offset = 0

    init(_ bytes: UnsafeRawBufferPointer) {
        self.bytes = bytes
    }

    /// Reads two bytes, the most significant first.
    mutating func integer() throws(Failure) -> UInt16 {
        UInt16(try byte()) << 8 | UInt16(try byte())
    }

    /// Reads a question; returns nil if it is of another class.
    mutating func question() throws(Failure) -> DNSQuestion? {
        let name = try name()
        let (type, kind) = (try integer(), try integer())
        guard [1, 255].contains(kind & 0x7FFF) else { return nil }
        return DNSQuestion(name, type, permitsUnicast: kind & 0x8000 != 0)
    }

    /// Reads a number of records; omits those of other classes.
    mutating func records(_ count: UInt16) throws(Failure) -> [DNSRecord] {
        var records: [DNSRecord] = []
        guard Int(count) <= DNSMessage.maximumRecords else { throw Failure() }
        for _ in 0..<count {
            if let record = try record() { records.append(record) }
        }
        return records
    }

    private mutating func record() throws(Failure) -> DNSRecord? {
        let name = try name()
        let (type, kind) = (try integer(), try integer())
        let seconds = UInt32(try integer()) << 16 | UInt32(try integer())
        let end = Int(try integer()) + offset
        guard end <= bytes.count else { throw Failure() }
        let contents = try contents(type, upTo: end)
        // The data must end where its length says, also if it ends in a compressed name.
        guard offset == end else { throw Failure() }
        guard kind & 0x7FFF == 1 else { return nil }
        return DNSRecord(
            name, contents, seconds: seconds, replacesOthers: kind & 0x8000 != 0)
    }

    private mutating func contents(
        _ type: UInt16, upTo end: Int
    ) throws(Failure) -> DNSRecord.Contents {
        switch type {
        case DNSType.address4, DNSType.address6:
            let length = type == DNSType.address4 ? 4 : 16
            guard end - offset == length, let address = IPAddress(try take(length)) else {
                throw Failure()
            }
            return .address(address)
        case DNSType.pointer: return .pointer(try name())
        case DNSType.service:
            return .service(
                priority: try integer(), weight: try integer(), port: try integer(),
                target: try name())
        case DNSType.text:
            var texts: [[UInt8]] = []
            while offset < end { texts.append(try take(Int(try byte()))) }
            return .texts(texts)
        default:
            offset = end
            return .other(type: type)
        }
    }

    /// Reads a name, which may end in a part of an earlier name.
    private mutating func name() throws(Failure) -> DNSName {
        var labels: [[UInt8]] = []
        var length = 1
        var position = offset
        // Each pointer must lead to earlier bytes than the part that it ends, so reading ends.
        var earliest = offset
        var end: Int?
        var pointers = 0
        while true {
            guard position < bytes.count else { throw Failure() }
            let count = Int(bytes[position])
            switch count >> 6 {
            case 0:
                guard count > 0 else {
                    offset = end ?? position + 1
                    guard let name = DNSName(labels: labels) else { throw Failure() }
                    return name
                }
                length += count + 1
                guard length <= DNSName.maximumLength, position + 1 + count <= bytes.count else {
                    throw Failure()
                }
                labels.append(Array(bytes[position + 1..<position + 1 + count]))
                position += count + 1
            case 3:
                guard position + 1 < bytes.count else { throw Failure() }
                let target = (count & 0x3F) << 8 | Int(bytes[position + 1])
                pointers += 1
                guard target < earliest, pointers <= DNSName.maximumPointers else {
                    throw Failure()
                }
                end = end ?? position + 2
                (position, earliest) = (target, target)
            default: throw Failure()
            }
        }
    }

    private mutating func byte() throws(Failure) -> UInt8 {
        guard offset < bytes.count else { throw Failure() }
        defer { offset += 1 }
        return bytes[offset]
    }

    private mutating func take(_ count: Int) throws(Failure) -> [UInt8] {
        guard count <= bytes.count - offset else { throw Failure() }
        defer { offset += count }
        return Array(bytes[offset..<offset + count])
    }
}
