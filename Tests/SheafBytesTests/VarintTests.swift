import SheafBytes
import Testing

@Suite struct VarintTests {
    @Test func `every integer survives its varint, and no other bytes read as one`() throws {
        for shift in 0..<64 {
            for value in [UInt64(1) << shift, (UInt64(1) << shift) &- 1, UInt64.max >> shift] {
                var writer = ByteWriter()
                writer.writeVarint(value)
                let read = try writer.bytes.withUnsafeBytes { bytes throws in
                    var reader = ByteReader(bytes)
                    return try reader.readVarint()
                }
                #expect(read == value)
            }
        }
    }
}
