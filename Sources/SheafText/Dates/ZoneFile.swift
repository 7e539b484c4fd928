/// Parser of time zone files: TZif, RFC 9636, versions 1 to 4.
///
/// The bytes are not trusted; inconsistent files are refused.
package enum ZoneFile {
    /// Maximum length of a file; real files have less than 4 KiB.
    package static let maximumLength = 256 << 10

    /// Maximum length of an abbreviation such as CEST.
    static let maximumAbbreviation = 16

    /// Parses a file; returns nil if it is invalid or counts leap seconds.
    package static func history(_ bytes: [UInt8]) -> ZoneHistory? {
        guard bytes.count <= maximumLength, let header = Header(bytes, at: 0) else { return nil }
        // Since version 2, a second table has 64-bit times, and the first one may be empty.
        guard header.version >= 0x32 else {
            return Table(header, at: Header.length, timeLength: 4)?.history(in: bytes, rule: nil)
        }
        guard let skipped = Table(header, at: Header.length, timeLength: 4),
            let header = Header(bytes, at: skipped.end),
            let table = Table(header, at: skipped.end + Header.length, timeLength: 8),
            table.end < bytes.count, bytes[table.end] == 0x0A,
            let end = bytes[(table.end + 1)...].firstIndex(of: 0x0A)
        else { return nil }
        let footer = bytes[table.end + 1..<end]
        guard !footer.isEmpty else { return table.history(in: bytes, rule: nil) }
        return ZoneRule(footer).flatMap { table.history(in: bytes, rule: $0) }
    }

    /// Whether a byte is valid in abbreviations: a letter, a digit, plus or minus.
    static func isOfAbbreviations(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2B, 0x2D: true
        default: false
        }
    }
}

/// The header of a table, with the number of entries in each of its arrays.
private struct Header {
    static let length = 44

    let version: UInt8
    let universalFlags: Int
    let standardFlags: Int
    let leapSeconds: Int
    let times: Int
    let types: Int
    let characters: Int

    init?(_ bytes: [UInt8], at start: Int) {
        guard start <= bytes.count - Self.length,
            bytes[start..<start + 4].elementsEqual([0x54, 0x5A, 0x69, 0x66])
        else { return nil }
        version = bytes[start + 4]
        var counts: [Int] = []
        for index in 0..<6 {
            let value = bytes.bigEndian(at: start + 20 + index * 4, count: 4)
            // Counts limited by the file length keep the sums below from overflowing.
            guard let value, value >= 0, value <= bytes.count else { return nil }
            counts.append(Int(value))
        }
        universalFlags = counts[0]
        standardFlags = counts[1]
        leapSeconds = counts[2]
        times = counts[3]
        types = counts[4]
        characters = counts[5]
    }
}

/// Positions of the consecutive arrays of a table.
private struct Table {
    let header: Header
    let timeLength: Int
    let start: Int
    let indexes: Int
    let types: Int
    let names: Int
    let end: Int

    init?(_ header: Header, at start: Int, timeLength: Int) {
        // Times with leap seconds are not POSIX times.
        guard header.leapSeconds == 0 else { return nil }
        self.header = header
        self.timeLength = timeLength
        self.start = start
        indexes = start + header.times * timeLength
        types = indexes + header.times
        names = types + header.types * 6
        end = names + header.characters + header.standardFlags + header.universalFlags
    }

    func history(in bytes: [UInt8], rule: ZoneRule?) -> ZoneHistory? {
        guard end <= bytes.count, 1...256 ~= header.types else { return nil }
        var clocks: [ZoneClock] = []
        for index in 0..<header.types {
            guard let clock = clock(at: types + index * 6, in: bytes) else { return nil }
            clocks.append(clock)
        }
        var changes: [ZoneHistory.Change] = []
        changes.reserveCapacity(header.times)
        for index in 0..<header.times {
            let type = Int(bytes[indexes + index])
            guard type < clocks.count,
                let time = bytes.bigEndian(at: start + index * timeLength, count: timeLength),
                changes.last.map({ $0.start < time }) != false
            else { return nil }
            changes.append(ZoneHistory.Change(start: time, clock: clocks[type]))
        }
        return ZoneHistory(first: clocks[0], changes: changes, rule: rule)
    }

    private func clock(at position: Int, in bytes: [UInt8]) -> ZoneClock? {
        let name = names + Int(bytes[position + 5])
        let namesEnd = names + header.characters
        // The limits are those of RFC 9636.
        guard let offset = bytes.bigEndian(at: position, count: 4), -89_999...93_599 ~= offset,
            bytes[position + 4] <= 1, name < namesEnd,
            let nameEnd = bytes[name..<namesEnd].firstIndex(of: 0),
            nameEnd - name <= ZoneFile.maximumAbbreviation,
            bytes[name..<nameEnd].allSatisfy(ZoneFile.isOfAbbreviations)
        else { return nil }
        return ZoneClock(
            offset: Int(offset), isDaylight: bytes[position + 4] == 1,
            abbreviation: String(decoding: bytes[name..<nameEnd], as: UTF8.self))
    }
}

extension [UInt8] {
    /// Reads a signed big-endian integer.
    fileprivate func bigEndian(at position: Int, count length: Int) -> Int64? {
        guard position >= 0, position <= count - length else { return nil }
        var value: Int64 = 0
        for byte in self[position..<position + length] { value = value << 8 | Int64(byte) }
        return length == 4 ? Int64(Int32(truncatingIfNeeded: value)) : value
    }
}
