/// A time zone file (TZif) built byte by byte.
struct CraftedZone {
    var version: UInt8 = 0x32
    var changes: [(time: Int64, type: UInt8)]
    var types: [(offset: Int32, isDaylight: UInt8, name: UInt8)]
    var names: [UInt8]
    var leapSeconds: UInt32 = 0
    var footer: String

    /// The zone of Berlin, with three of its transitions.
    static let berlin = CraftedZone(
        changes: [(-2_422_054_408, 1), (828_234_000, 2), (846_378_000, 1)],
        types: [(3_208, 0, 0), (3_600, 0, 4), (7_200, 1, 8)],
        names: Array("LMT\0CET\0CEST\0".utf8), footer: "CET-1CEST,M3.5.0,M10.5.0/3")

    var bytes: [UInt8] {
        guard version > 0 else { return table(timeLength: 4) }
        return table(timeLength: 4) + table(timeLength: 8) + [0x0A] + Array(footer.utf8) + [0x0A]
    }

    private func table(timeLength: Int) -> [UInt8] {
        // The first table has 32-bit times, which cannot represent older transitions.
        let changes = self.changes.filter { timeLength == 8 || Int32(exactly: $0.time) != nil }
        var bytes = Array("TZif".utf8) + [version] + [UInt8](repeating: 0, count: 15)
        for count in [
            UInt32(types.count), UInt32(types.count), leapSeconds, UInt32(changes.count),
            UInt32(types.count), UInt32(names.count),
        ] {
            bytes += Self.bigEndian(Int64(count), 4)
        }
        for change in changes { bytes += Self.bigEndian(change.time, timeLength) }
        bytes += changes.map(\.type)
        for type in types {
            bytes += Self.bigEndian(Int64(type.offset), 4) + [type.isDaylight, type.name]
        }
        bytes += names
        if leapSeconds == 1 { bytes += [UInt8](repeating: 0, count: timeLength + 4) }
        return bytes + [UInt8](repeating: 0, count: 2 * types.count)
    }

    private static func bigEndian(_ value: Int64, _ count: Int) -> [UInt8] {
        (0..<count).reversed().map { UInt8(truncatingIfNeeded: value >> Int64($0 * 8)) }
    }
}
