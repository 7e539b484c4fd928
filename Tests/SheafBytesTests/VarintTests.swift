import SheafBytes
import Testing

/// Reads from an array; returns the value and the offset after it.
func reading<Value>(
    _ bytes: [UInt8], at offset: Int = 0, _ body: (inout ByteReader) throws -> Value
) throws -> (value: Value, offset: Int) {
    try bytes.withUnsafeBytes { buffer in
        var reader = ByteReader(buffer, at: offset)
        let value = try body(&reader)
        return (value, reader.offset)
    }
}

/// Returns the error of `body` reading the bytes, or nil.
func malformation<Value>(
    _ bytes: [UInt8], at offset: Int = 0, _ body: (inout ByteReader) throws -> Value
) -> Malformed? {
    do {
        _ = try reading(bytes, at: offset, body)
        return nil
    } catch let error as Malformed {
        return error
    } catch {
        Issue.record("Unexpected error: \(error)")
        return nil
    }
}

@Suite struct VarintTests {
    /// Integers around every change of length.
    private let values: [UInt64] = (0..<64).flatMap { shift in
        [UInt64(1) << shift, (UInt64(1) << shift) - 1, UInt64.max >> UInt64(shift)]
    }

    private func bytes(of value: UInt64) -> [UInt8] {
        var writer = ByteWriter()
        writer.writeVarint(value)
        return writer.bytes
    }

    @Test func `every integer survives its varint, which has the minimal length`() throws {
        for value in values {
            let bytes = bytes(of: value)
            #expect(bytes.count == max(1, (64 - value.leadingZeroBitCount + 6) / 7))
            let read = try reading(bytes + [0xFF]) { try $0.readVarint() }
            #expect(read == (value, bytes.count))
        }
    }

    @Test func `varints of selected integers match the specification`() {
        #expect(bytes(of: 0) == [0])
        #expect(bytes(of: 127) == [0x7F])
        #expect(bytes(of: 128) == [0x80, 0x01])
        #expect(bytes(of: 300) == [0xAC, 0x02])
        #expect(bytes(of: .max) == [UInt8](repeating: 0xFF, count: 9) + [0x01])
    }

    @Test func `a truncated varint is refused`() {
        for value in values {
            let bytes = bytes(of: value)
            for cut in 0..<bytes.count {
                let found = malformation([7] + bytes.prefix(cut), at: 1) { try $0.readVarint() }
                #expect(found == .truncated(at: 1), "\(value) cut at \(cut)")
            }
        }
    }

    @Test func `a varint with redundant bytes is refused`() {
        for value in values {
            var bytes = bytes(of: value)
            while bytes.count < 12 {
                bytes[bytes.count - 1] |= 0x80
                bytes.append(0)
                #expect(malformation(bytes) { try $0.readVarint() } == .varint(at: 0), "\(bytes)")
            }
        }
    }

    @Test func `a varint of more than 64 bits is refused`() {
        let nine = [UInt8](repeating: 0x80, count: 9)
        for last in 2...255 as ClosedRange<UInt8> {
            #expect(malformation(nine + [last, 1]) { try $0.readVarint() } == .varint(at: 0))
        }
        let endless = [UInt8](repeating: 0xFF, count: 100)
        #expect(malformation(endless) { try $0.readVarint() } == .varint(at: 0))
    }

    @Test func `different varints of up to three bytes decode to different integers`() throws {
        var seen: [UInt64: [UInt8]] = [:]
        let interesting: [UInt8] = [0, 1, 2, 0x7E, 0x7F, 0x80, 0x81, 0xFE, 0xFF]
        for first in interesting {
            for second in interesting {
                for third in interesting {
                    let bytes = [first, second, third]
                    guard let read = try? reading(bytes, { try $0.readVarint() }) else { continue }
                    let used = Array(bytes.prefix(read.offset))
                    #expect(seen[read.value, default: used] == used)
                    seen[read.value] = used
                    #expect(self.bytes(of: read.value) == used)
                }
            }
        }
    }
}
