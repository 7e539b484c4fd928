import SheafTestSupport
import SheafText
import Testing

/// Parsing of zone rules and zone files.
@Suite struct ZoneTests {
    private static func seconds(_ text: String) throws -> Int64 {
        try #require(DateText(text), "\(text)").moment.seconds
    }

    /// Checks the offset of a rule immediately before and at each transition.
    private func expect(
        _ rule: ZoneRule?, _ changes: [(at: String, before: Int, after: Int)]
    ) throws {
        let rule = try #require(rule)
        for change in changes {
            let second = try Self.seconds(change.at)
            #expect(rule.clock(at: second - 1).offset == change.before, "\(change)")
            #expect(rule.clock(at: second).offset == change.after, "\(change)")
        }
    }

    @Test func `a rule with a northern summer applies to every year`() throws {
        try expect(
            ZoneRule("CET-1CEST,M3.5.0,M10.5.0/3".utf8),
            [
                ("2024-03-31T01:00:00Z", 3_600, 7_200), ("2024-10-27T01:00:00Z", 7_200, 3_600),
                ("2050-03-27T01:00:00Z", 3_600, 7_200), ("2050-10-30T01:00:00Z", 7_200, 3_600),
                ("9998-03-29T01:00:00Z", 3_600, 7_200),
            ])
        try expect(
            ZoneRule("EST5EDT,M3.2.0,M11.1.0".utf8),
            [
                ("2050-03-13T07:00:00Z", -18_000, -14_400),
                ("2050-11-06T06:00:00Z", -14_400, -18_000),
            ])
    }

    @Test func `a rule with a southern summer crosses the new year`() throws {
        let rule = ZoneRule("<+1030>-10:30<+11>-11,M10.1.0,M4.1.0".utf8)
        try expect(
            rule,
            [
                ("2024-04-06T15:00:00Z", 39_600, 37_800), ("2024-10-05T15:30:00Z", 37_800, 39_600),
            ])
        let newYear = try Self.seconds("2050-01-01T00:00:00Z")
        #expect(rule?.clock(at: newYear).abbreviation == "+11")
        #expect(rule?.clock(at: newYear).isDaylight == true)
    }

    @Test func `a rule accepts days of the year and times beyond the day`() throws {
        try expect(
            ZoneRule("AAA0BBB,J60/0,300/0".utf8),
            [
                ("2023-03-01T00:00:00Z", 0, 3_600), ("2024-03-01T00:00:00Z", 0, 3_600),
                ("2023-10-27T23:00:00Z", 3_600, 0), ("2024-10-26T23:00:00Z", 3_600, 0),
            ])
        // In Greenland, summer time begins at 23:00 on the day before the last Sunday of March.
        try expect(
            ZoneRule("<-02>2<-01>,M3.5.0/-1,M10.5.0/0".utf8),
            [
                ("2024-03-31T01:00:00Z", -7_200, -3_600), ("2024-10-27T01:00:00Z", -3_600, -7_200),
            ])
        // The transition of one year falls into the year before it, then into the year after it.
        try expect(
            ZoneRule("AAA0BBB,J1/-24,J182/0".utf8),
            [("2024-12-31T00:00:00Z", 0, 3_600), ("2025-06-30T23:00:00Z", 3_600, 0)])
        try expect(
            ZoneRule("AAA0BBB,J182/0,J365/48".utf8),
            [("2024-07-01T00:00:00Z", 0, 3_600), ("2025-01-01T23:00:00Z", 3_600, 0)])
    }

    @Test func `a daylight saving time without an end lasts all year`() throws {
        let rule = try #require(ZoneRule("XXX3EDT4,0/0,J365/23".utf8))
        for second in stride(from: Int64(0), to: 4_000_000_000, by: 86_399) {
            #expect(rule.clock(at: second).offset == -14_400, "\(second)")
        }
        #expect(rule.clock(at: try Self.seconds("2025-01-01T03:00:00Z")).isDaylight)
        #expect(rule.clock(at: try Self.seconds("2025-01-01T04:00:00Z")).isDaylight)
    }

    @Test func `a malformed rule is refused`() {
        let texts = [
            "", "CET", "CE-1", "-1", "CET-25", "CET-1CEST", "CET-1CEST,", "CET-1CEST,M3.5.0",
            "CET-1CEST,M3.5.0,", "CET-1CEST,M13.5.0,M10.5.0", "CET-1CEST,M3.6.0,M10.5.0",
            "CET-1CEST,M3.5.7,M10.5.0", "CET-1CEST,M3.5,M10.5.0", "CET-1CEST,J0,J5",
            "CET-1CEST,J366,J5", "CET-1CEST,366,5", "CET-1CEST,1,5x", "CET-1CEST,1/168,5",
            "CET-1:60", "<CET-1", "<>-1", "<C T>-1", "CET-1CEST,99999999999999999999,5",
            "ABCDEFGHIJKLMNOPQ-1", "CET-1CEST,M3.5.0,M10.5.0/3,M1.1.1", "CET--1",
        ]
        for text in texts { #expect(ZoneRule(text.utf8) == nil, "\(text)") }
        #expect(ZoneRule("UTC0".utf8)?.clock(at: 0).offset == 0)
        #expect(ZoneRule("<+0545>-5:45".utf8)?.clock(at: 0).offset == 20_700)
        #expect(ZoneRule("LMT-0:53:28".utf8)?.clock(at: 0).offset == 3_208)
    }

    @Test(arguments: [15, 16, 17])
    func `the abbreviation of a zone has at most 16 letters`(length: Int) {
        let name = String(repeating: "A", count: length)
        #expect((ZoneRule("\(name)0".utf8) != nil) == (length <= 16))
        #expect((ZoneRule("<\(name)>0".utf8) != nil) == (length <= 16))
        var zone = CraftedZone.berlin
        zone.names = Array("\(name)\0CET\0CEST\0".utf8)
        zone.types[1].name = UInt8(length + 1)
        zone.types[2].name = UInt8(length + 5)
        #expect((ZoneFile.history(zone.bytes) != nil) == (length <= 16))
    }

    @Test func `past transitions take precedence over the rule`() throws {
        let history = try #require(ZoneFile.history(CraftedZone.berlin.bytes))
        let cases: [(String, Int, String)] = [
            ("1800-01-01T00:00:00Z", 3_208, "LMT"), ("1893-03-31T23:06:31Z", 3_208, "LMT"),
            ("1893-03-31T23:06:32Z", 3_600, "CET"), ("1996-03-31T00:59:59Z", 3_600, "CET"),
            ("1996-03-31T01:00:00Z", 7_200, "CEST"), ("1996-10-27T01:00:00Z", 3_600, "CET"),
            ("2050-07-01T00:00:00Z", 7_200, "CEST"), ("2050-12-01T00:00:00Z", 3_600, "CET"),
        ]
        for (text, offset, abbreviation) in cases {
            let clock = history.clock(at: try Self.seconds(text))
            #expect(clock.offset == offset && clock.abbreviation == abbreviation, "\(text)")
        }
    }

    @Test func `a version 1 file keeps the offset of its last transition`() throws {
        var zone = CraftedZone.berlin
        zone.version = 0
        let history = try #require(ZoneFile.history(zone.bytes))
        #expect(history.rule == nil)
        #expect(history.clock(at: try Self.seconds("2050-07-01T00:00:00Z")).offset == 3_600)
        zone.version = 0x32
        zone.footer = ""
        let second = try #require(ZoneFile.history(zone.bytes))
        #expect(second.rule == nil && second.changes.suffix(2) == history.changes[...])
    }

    @Test func `a truncated zone file is refused`() {
        let bytes = CraftedZone.berlin.bytes
        for count in bytes.indices {
            #expect(ZoneFile.history(Array(bytes.prefix(count))) == nil, "\(count) bytes")
        }
        #expect(ZoneFile.history(bytes) != nil)
        let long = bytes + [UInt8](repeating: 0, count: ZoneFile.maximumLength)
        #expect(ZoneFile.history(long) == nil)
    }

    @Test func `a flipped bit in a zone file causes no trap`() throws {
        let times: [Int64] = [-62_135_596_800, -1, 0, 1_700_000_000, 253_402_300_799]
        for version in [UInt8(0), 0x32] {
            var zone = CraftedZone.berlin
            zone.version = version
            let bytes = zone.bytes
            for bit in 0..<bytes.count * 8 {
                var flipped = bytes
                flipped[bit / 8] ^= 1 << (bit % 8)
                guard let history = ZoneFile.history(flipped) else { continue }
                for time in times {
                    let offset = history.clock(at: time).offset
                    #expect(-90_000 <= offset && offset <= 93_600, "bit \(bit)")
                }
            }
        }
    }

    @Test func `an inconsistent zone file is refused`() {
        let berlin = CraftedZone.berlin
        #expect(ZoneFile.history([]) == nil)
        func expectRefused(_ comment: String, _ change: (inout CraftedZone) -> Void) {
            var zone = berlin
            change(&zone)
            #expect(ZoneFile.history(zone.bytes) == nil, "\(comment)")
        }
        expectRefused("decreasing times") { $0.changes[1].time = -3_000_000_000 }
        expectRefused("a duplicate time") { $0.changes[2].time = $0.changes[1].time }
        expectRefused("an unknown local time type") { $0.changes[0].type = 3 }
        expectRefused("no local time types") { $0.types = [] }
        expectRefused("an offset of two days") { $0.types[0].offset = 172_800 }
        expectRefused("a name index out of bounds") { $0.types[0].name = 13 }
        expectRefused("an unterminated name") { $0.names = Array("LMT\0CET\0CEST".utf8) }
        expectRefused("a name with a space") { $0.names = Array("L T\0CET\0CEST\0".utf8) }
        expectRefused("a malformed rule in the footer") { $0.footer = "CET-1CEST" }
        expectRefused("leap seconds") { $0.leapSeconds = 1 }
        expectRefused("a count beyond the file") { $0.leapSeconds = .max }
    }

    @Test func `a fixed offset from UTC needs no zone file`() throws {
        let nowhere = ZoneDirectory("/nonexistent")
        let cases: [(String, Int?)] = [
            ("UTC", 0), ("Z", 0), ("+02:00", 7_200), ("+0530", 19_800), ("-05", -18_000),
            ("+23:59", 86_340), ("+24:00", nil), ("+2", nil), ("Europe/Berlin", nil), ("", nil),
            ("utc+2", nil), ("+02:00x", nil),
        ]
        let start = try #require(Moment(milliseconds: 0))
        for (name, offset) in cases {
            let clock = nowhere.zone(name)?.clock(at: start)
            #expect(clock?.offset == offset, "\(name)")
        }
    }
}
