import SheafDocument
import SheafReplication
import Testing

/// The times at which warnings about the clock of a peer are repeated.
struct ClockWarningTests {
    private static let second: UInt64 = 1_000_000_000
    private let key: [UInt8] = [1]

    @Test func `a warning is repeated after a minute, and then at doubled intervals up to a day`() {
        var warnings = ClockWarnings()
        var now: UInt64 = 5
        let isFirst = warnings.isDue(key, .offset, at: now)
        #expect(isFirst)
        for minutes: UInt64 in [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1_024, 1_440, 1_440] {
            now += 60 * minutes * Self.second
            let isEarly = warnings.isDue(key, .offset, at: now - 1)
            #expect(!isEarly, "before \(minutes) min")
            let isDue = warnings.isDue(key, .offset, at: now)
            #expect(isDue, "after \(minutes) min")
        }
    }

    @Test(
        arguments: [
            (0, "0 ms"), (1_999, "1999 ms"), (2_000, "2 seconds"), (119_999, "119 seconds"),
            (120_000, "2 minutes"), (7_199_999, "119 minutes"), (7_200_000, "2 hours"),
            (172_799_999, "47 hours"), (172_800_000, "2 days"), (63_115_199_999, "730 days"),
            (63_115_200_000, "2 years"),
        ] as [(UInt64, String)])
    func `a difference is stated in the largest unit of which it has two`(
        _ milliseconds: UInt64, _ text: String
    ) {
        #expect(ClockReport.text(milliseconds) == text)
    }

    // MARK: Reports

    private let remedy =
        "correct the wrong clock, then run 'sheaf clock PATH --repair' on the store that wrote them"

    @Test(
        arguments: [
            (-60_001, ["its clock is about 60 seconds earlier than the local clock"]),
            (-60_000, ["its clock is about 60 seconds earlier than the local clock"]),
            (-59_999, []), (0, []), (59_999, []),
            (60_000, ["its clock is about 60 seconds ahead of the local clock"]),
            (180_000, ["its clock is about 3 minutes ahead of the local clock"]),
        ] as [(Int64, [String])])
    func `an offset of a minute is described, with its direction`(
        _ milliseconds: Int64, _ sentences: [String]
    ) {
        var report = ClockReport()
        report.offsetMilliseconds = milliseconds
        #expect(report.sentences == sentences)
        let faults: ClockReport.Faults = sentences.isEmpty ? [] : .offset
        #expect(report.faults == faults)
    }

    @Test func `quarantined documents are described with their number, on either side`() {
        var report = ClockReport()
        #expect(report.faults.isEmpty && report.sentences.isEmpty)
        report.quarantined = QuarantineSummary(count: 1, aheadMilliseconds: 1_500)
        report.quarantinedRemotely = QuarantineSummary(count: 2, aheadMilliseconds: 7_200_000)
        #expect(
            report.sentences == [
                "1 document from it is quarantined here, stamped up to 1500 ms ahead of the local "
                    + "clock; \(remedy)",
                "it has quarantined 2 documents from here, stamped up to 2 hours ahead of its "
                    + "clock; \(remedy)",
            ])
        #expect(report.faults == [.quarantined, .quarantinedRemotely])
        report.quarantined = QuarantineSummary(count: 2, aheadMilliseconds: 0)
        report.quarantinedRemotely = nil
        report.offsetMilliseconds = 60_000
        let clock = "its clock is about 60 seconds ahead of the local clock"
        let documents =
            "2 documents from it are quarantined here, stamped up to 0 ms ahead of the local "
            + "clock; \(remedy)"
        #expect(report.sentences == [clock, documents])
        #expect(report.faults == [.offset, .quarantined])
        let expected: Value = [
            "about_ahead_milliseconds": 60_000, "quarantined_documents": 2,
            "quarantined_by_peer": 0, "reasons": [.string(clock), .string(documents)],
        ]
        #expect(report.object == expected)
        var other = ClockReport()
        other.quarantinedRemotely = QuarantineSummary(count: 3, aheadMilliseconds: 0)
        #expect(other.object["about_ahead_milliseconds"] == Value.null)
        #expect(other.object["quarantined_documents"] == 0)
        #expect(other.object["quarantined_by_peer"] == 3)
    }

    @Test func `a new kind of fault causes a warning at once, and no fault causes none`() {
        var warnings = ClockWarnings()
        var due: [Bool] = []
        due.append(warnings.isDue(key, [], at: 0))
        due.append(warnings.isDue(key, .offset, at: 0))
        due.append(warnings.isDue(key, [.offset, .quarantined], at: 1))
        // Both kinds are known now, and the interval begins anew.
        due.append(warnings.isDue(key, .quarantined, at: 60 * Self.second))
        due.append(warnings.isDue(key, .quarantined, at: 60 * Self.second + 1))
        due.append(warnings.isDue(key, .quarantinedRemotely, at: 60 * Self.second + 2))
        #expect(due == [false, true, true, false, true, true])
    }

    @Test func `the warnings of 1,024 peers are scheduled, and of more all begin anew`() {
        var warnings = ClockWarnings()
        let keys: [[UInt8]] = (0...1_024).map { [UInt8($0 % 256), UInt8($0 / 256)] }
        for key in keys.prefix(1_024) { _ = warnings.isDue(key, .offset, at: 0) }
        let isRepeated = warnings.isDue(keys[0], .offset, at: 1)
        #expect(!isRepeated)
        _ = warnings.isDue(keys[1_024], .offset, at: 1)
        let isNew = warnings.isDue(keys[0], .offset, at: 1)
        #expect(isNew)
    }
}
