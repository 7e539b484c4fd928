/// A writer of DNS messages, which refers to earlier names instead of repeating them.
struct DNSWriter {
    private(set) var bytes: [UInt8] = []
    /// The offset of each written end of a name that a compression pointer can reach.
    private var offsets: [ArraySlice<[UInt8]>: UInt16] = [:]

    mutating func write(_ value: UInt16) {
        bytes.append(UInt8(truncatingIfNeeded: value >> 8))
        bytes.append(UInt8(truncatingIfNeeded: value))
    }

    mutating func write(_ question: DNSQuestion) {
        write(question.name)
        write(question.type)
        write(question.permitsUnicast ? 0x8001 : 1)
    }

    mutating func write(_ record: DNSRecord) {
        write(record.name)
        write(record.contents.type)
        write(record.replacesOthers ? 0x8001 : 1)
        write(UInt16(truncatingIfNeeded: record.seconds >> 16))
        write(UInt16(truncatingIfNeeded: record.seconds))
        let start = bytes.count
        write(UInt16(0))
        switch record.contents {
        case .address(let address): bytes += address.bytes
        case .pointer(let name): write(name)
        case .service(let priority, let weight, let port, let target):
            for number in [priority, weight, port] { write(number) }
            write(target)
        case .texts(let texts):
            for text in texts {
                bytes.append(UInt8(clamping: text.count))
                bytes += text.prefix(Int(UInt8.max))
            }
        case .other: break
        }
        let length = UInt16(clamping: bytes.count - start - 2)
        bytes[start] = UInt8(truncatingIfNeeded: length >> 8)
        bytes[start + 1] = UInt8(truncatingIfNeeded: length)
    }

    private mutating func write(_ name: DNSName) {
        var rest = name.labels[...]
        while let label = rest.first {
            if let offset = offsets[rest] { return write(0xC000 | offset) }
            if bytes.count < 0x4000 { offsets[rest] = UInt16(bytes.count) }
            bytes.append(UInt8(label.count))
            bytes += label
            rest = rest.dropFirst()
        }
        bytes.append(0)
    }
}
