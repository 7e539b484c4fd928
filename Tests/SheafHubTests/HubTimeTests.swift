import SheafBytes
import SheafDocument
import SheafHub
import SheafHubEngine
import SheafHubLog
import SheafReplication
import SheafSystem
import SheafTestSupport
import Testing

/// The times after which a hub is not ready, not live, or forgotten.
@Suite struct HubTimeTests {
    private static let second: UInt64 = 1_000_000_000
    private static let start: UInt64 = 100_000_000_000
    private static let wall: UInt64 = 1_780_000_000_000
    private static let log = HubLogID(low: 1, high: 2)
    private static let author = HubAuthor(site: Site(rawValue: 1), opening: 2)
    private static let key = Array(repeating: UInt8(7), count: 32)

    /// Returns a sample without any progress of the peer, whose thread has just responded.
    private func sample(at now: UInt64 = Self.start) -> HubSample {
        let configuration = HubConfiguration(
            database: .init(low: 3, high: 4), log: Self.log, number: 1, map: .single,
            snapshots: [.init()])
        var sample = HubSample(
            respondedAt: now, configuration: configuration, configuredAt: Self.start)
        sample.isListening = true
        sample.hubs.log = Self.log
        return sample
    }

    /// Returns the reasons why a hub is not ready, besides that it has read nothing.
    private func reasons(_ sample: HubSample, at now: UInt64) -> [String] {
        Readiness(sample: sample, formats: 1...1, now: now).reasons.filter {
            $0 != "the hub has not begun to read the log"
        }
    }

    private func beat(_ key: UInt8, wall: UInt64 = Self.wall) -> [UInt8] {
        let beat = HubBroadcast.Beat(
            isReady: true, versions: 1...1, wallMilliseconds: wall, clientCount: 0, addresses: [],
            shards: [])
        return HubBroadcast(
            log: Self.log, hub: Array(repeating: key, count: 32), author: Self.author, .beat(beat)
        ).bytes
    }

    // MARK: Readiness

    enum Cause: CaseIterable, Sendable {
        case thread, append, connection, beat

        /// The reason after a number of seconds, and that number.
        var end: (seconds: UInt64, reason: String) {
            switch self {
            case .thread: (5, "the thread of the peer has not responded for 5 s")
            case .append: (10, "the engine has not stored a message for 10 s")
            case .connection: (10, "no connection to the hub log: cut")
            case .beat: (10, "the engine has not returned the beats of this hub for 10 s")
            }
        }
    }

    @Test(arguments: Cause.allCases)
    func `a hub is not ready once a cause has lasted for its time`(_ cause: Cause) {
        let (seconds, reason) = cause.end
        let end = Self.start + seconds * Self.second
        for now in [end - 1, end, end + 1] {
            var sample = sample(at: cause == .thread ? Self.start : now)
            switch cause {
            case .thread: break
            case .append:
                let id = HubMessageID(author: Self.author, shard: 0, sequence: 1, checksum: 2)
                sample.traffic.appended(id, 9, to: Self.log, at: Self.start, Self.wall)
                // It is appended again, which does not change how long it has waited.
                sample.traffic.appended(id, 9, to: Self.log, at: now, Self.wall)
            case .connection:
                sample.traffic.disconnected(.disconnected("cut"), at: Self.start)
                sample.traffic.disconnected(.disconnected("cut"), at: now)
            case .beat: sample.traffic.returnedAt = Self.start
            }
            #expect(reasons(sample, at: now) == (now < end ? [] : [reason]), "\(now)")
            let isLive = Readiness(sample: sample, formats: 1...1, now: now).isLive
            #expect(isLive == (cause != .thread || now < end))
        }
    }

    @Test func `messages and entries count once, with their lengths`() {
        var traffic = EngineTraffic()
        for sequence: UInt64 in [1, 2, 1] {
            let id = HubMessageID(
                author: Self.author, shard: 0, sequence: sequence, checksum: sequence)
            traffic.appended(id, 9, to: Self.log, at: Self.start, Self.wall)
        }
        #expect(traffic.appendedCount == 2)
        #expect(traffic.appendedLength == 18)
        let shard = HubShard(0, of: Self.log)
        for number: UInt64 in 1...2 {
            traffic.received(
                [HubLogEntry(2 * number, [1, 2]), HubLogEntry(2 * number + 1, [3])], of: shard)
        }
        #expect(traffic.readCount == 4)
        #expect(traffic.readLength == 6)
    }

    @Test func `a lost connection of the engine counts from its first event until it returns`() {
        let clock = FakeClock(monotonicNanoseconds: Self.start)
        let engine = MemoryHubLog(MemoryHubEngine(clock: clock.clock))
        let relay = HubLogRelay(engine, key: Self.key, clock.clock)
        func found(after seconds: UInt64) -> [String] {
            let now = Self.start + seconds * Self.second
            var sample = self.sample(at: now)
            sample.traffic = relay.traffic
            return reasons(sample, at: now)
        }
        #expect(found(after: 60).isEmpty)
        relay.disconnected(.disconnected("cut"))
        clock.advance(milliseconds: 4_000)
        relay.disconnected(.timeout("an answer"))
        #expect(found(after: 9).isEmpty)
        #expect(found(after: 10) == ["the hub log did not respond to: an answer"])
        relay.connected()
        #expect(found(after: 60).isEmpty)
    }

    @Test func `a hub whose key another one has is not ready until ten seconds after its beat`() {
        let end = Self.start + 10 * Self.second
        for now in [end - 1, end] {
            var sample = sample(at: now)
            let isOwn = sample.hubs.receive(beat(7), own: Self.key, at: Self.start, Self.wall)
            #expect(!isOwn)
            #expect(reasons(sample, at: now).count == (now < end ? 1 : 0))
        }
    }

    @Test func `a configuration that cannot be read for twenty seconds makes a hub not ready`() {
        let end = Self.start + 20 * Self.second
        for now in [end - 1, end, end + 1] {
            var sample = sample(at: now)
            sample.configurationFailure = "no\nanswer"
            #expect(
                reasons(sample, at: now)
                    == (now < end ? [] : ["the configuration cannot be read: no answer"]))
        }
    }

    // MARK: Clocks

    @Test(
        arguments: [
            (29_999, nil), (30_000, nil), (30_001, "30 s slow"), (60_000, "60 s slow"),
            (-30_000, nil), (-30_001, "30 s fast"),
        ] as [(Int64, String?)])
    func `a hub is not ready if its clock differs by more than thirty seconds`(
        _ difference: Int64, _ found: String?
    ) {
        let other = UInt64(Int64(Self.wall) + difference)
        var engine = sample()
        let id = HubMessageID(author: Self.author, shard: 0, sequence: 1, checksum: 2)
        engine.traffic.appended(id, 9, to: Self.log, at: Self.start, Self.wall)
        engine.traffic.stored(id, as: 5)
        engine.traffic.received(
            [HubLogEntry(5, [1], storedAt: other)], of: HubShard(0, of: Self.log))
        #expect(
            reasons(engine, at: Self.start)
                == (found.map { ["\(sentence($0)) that of the engine; synchronize it"] } ?? []))

        var hubs = sample()
        for key in [1, 2] as [UInt8] {
            _ = hubs.hubs.receive(beat(key, wall: other), own: Self.key, at: Self.start, Self.wall)
        }
        #expect(
            reasons(hubs, at: Self.start)
                == (found.map { ["\(sentence($0)) those of the other hubs; synchronize it"] } ?? [])
        )
    }

    private func sentence(_ difference: String) -> String {
        "the clock of this hub is \(difference), compared with"
    }

    // MARK: Other hubs

    @Test func `another hub is live for less than ten seconds after its last beat`() {
        var hubs = OtherHubs()
        hubs.log = Self.log
        for key in [1, 2] as [UInt8] {
            _ = hubs.receive(beat(key), own: Self.key, at: Self.start, Self.wall)
        }
        let end = Self.start + 10 * Self.second
        #expect(hubs.live(at: end - 1).count == 2)
        #expect(hubs.clockDifference(at: end - 1) == 0)
        #expect(hubs.live(at: end).isEmpty)
        #expect(hubs.clockDifference(at: end) == nil)
    }

    @Test func `a hub is live for the same time in all parts of a hub`() {
        let times = [
            HubFeedLimits().liveNanoseconds, ShardReader.Limits().liveNanoseconds,
            HubFeedLimits().reader.liveNanoseconds, OtherHubs.liveNanoseconds,
        ]
        #expect(times == Array(repeating: 10_000_000_000, count: 4))
    }

    @Test func `another hub is listed for an hour after its last beat`() {
        let end = Self.start + 3_600 * Self.second
        for now in [end - 1, end] {
            var hubs = OtherHubs()
            hubs.log = Self.log
            _ = hubs.receive(beat(1), own: Self.key, at: Self.start, Self.wall)
            _ = hubs.receive(beat(2), own: Self.key, at: now, Self.wall)
            #expect(hubs.all.count == (now < end ? 2 : 1))
        }
    }

    @Test func `a hub tries to reach its engine every second, and at the end of its time`() {
        let pauses: [(rest: UInt64, pause: UInt64?)] = [
            (2 * Self.second, Self.second), (Self.second + 1, Self.second),
            (Self.second, Self.second), (Self.second - 1, Self.second - 1), (1, 1), (0, nil),
        ]
        for (rest, pause) in pauses {
            #expect(OpenedLog.pause(at: Self.start, until: Self.start + rest) == pause)
        }
        #expect(OpenedLog.pause(at: Self.start + 1, until: Self.start) == nil)
    }

    // MARK: Steps

    @Test func `a step that has failed is repeated after five seconds`() {
        let settings = HubSettings()
        for usual in [0, settings.stepMilliseconds, settings.fileStepMilliseconds] {
            let next = settings.nextStep(after: usual, hasFailed: true, at: Self.start)
            #expect(next == Self.start + 5 * Self.second)
            let after = settings.nextStep(after: usual, hasFailed: false, at: Self.start)
            #expect(after == Self.start + usual * 1_000_000)
        }
    }

    @Test func `a draining hub waits five seconds for its last commits, and for each answer`() {
        let end = Self.start + 5 * Self.second
        let last = Hub.lastDeadline(from: Self.start)
        #expect(Hub.pauseEnd(at: end - 1, until: last) == end)
        for now in [end, end + 1] { #expect(Hub.pauseEnd(at: now, until: last) == nil) }
        #expect(Hub.answerDeadline(from: Self.start) == end)
    }

    @Test(
        arguments: [
            (1, 1, 10, 20), (1, 4, 10, 20), (4, 4, 10, 80), (500, 500, 10, 10_000),
            (1, 501, 10, 19), (250, 1_000, 10, 2_500), (1_000, 1_000, 10, 10_000), (3, 3, 0, 0),
            (3, 3, -1, 0), (50, 50, 1, 1_000), (51, 102, 1, 500), (3, 3, .max, 60),
        ] as [(Int, Int, Int, UInt64)])
    func `connections end 20 ms apart, and all of them within the time of the options`(
        _ number: Int, _ count: Int, _ seconds: Int, _ milliseconds: UInt64
    ) {
        let end = Hub.closingEnd(of: number, among: count, from: Self.start, within: seconds)
        #expect((end - Self.start) / 1_000_000 == milliseconds)
    }

    @Test func `times that no hub reaches end in 31 years`() {
        let times: [(Int, UInt64)] = [
            (.min, 0), (-1, 0), (0, 0), (1, 1_000_000_000), (999_999_999, 999_999_999_000_000_000),
            (1_000_000_000, 1_000_000_000_000_000_000),
            (1_000_000_001, 1_000_000_000_000_000_000), (.max, 1_000_000_000_000_000_000),
        ]
        for (seconds, nanoseconds) in times {
            #expect(HubOptions.nanoseconds(seconds) == nanoseconds)
        }
    }

    @Test func `transfers take their time one after the other, and none in advance`() {
        var times = TransferTimes(bytesPerSecond: 1_000)
        let transfers: [(bytes: Int, now: UInt64, end: UInt64)] = [
            (500, 7, 500_000_007), (0, 8, 500_000_007), (1, 500_000_007, 501_000_007),
            (2_000, 900_000_000, 2_900_000_000),
        ]
        for (bytes, now, expected) in transfers {
            let end = times.end(of: bytes, from: now)
            #expect(end == expected)
        }
        for rate in [1, 0, -1] {
            var slow = TransferTimes(bytesPerSecond: rate)
            let end = slow.end(of: 3, from: 0)
            #expect(end == 3_000_000_000)
        }
    }

    // MARK: Files

    /// The times at which a file is tried in vain, each at the end of the wait before.
    private func waits(_ pace: RetryTimes, _ count: Int) -> [UInt64] {
        var pace = pace
        return (0..<count).map { _ in
            let now = pace.next
            #expect(pace.isDue(at: now) && !pace.isDue(at: now - 1))
            pace.postpone(at: now)
            return pace.next - now
        }
    }

    @Test func `a missing file is tried again after one second, and at last each ten minutes`() {
        let seconds: [UInt64] = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 600, 600]
        #expect(
            waits(HubFiles.pace(startingAt: Self.wall), seconds.count) == seconds.map { $0 * 1_000 }
        )
    }

    @Test func `a file that a client fetches is looked for at least each thirty seconds`() {
        let times: [UInt64] = [250, 500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000]
        #expect(waits(HubFiles.fetchPace(HubSettings(), startingAt: Self.wall), 9) == times)
    }

    @Test func `a clock that was set back postpones a file by no more than the longest wait`() {
        let pace = RetryTimes(from: 100, to: 1_000, startingAt: Self.wall)
        #expect(!pace.isDue(at: Self.wall - 1_000))
        #expect(pace.isDue(at: Self.wall - 1_001))
    }
}
