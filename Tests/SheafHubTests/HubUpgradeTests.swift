import SheafBytes
import SheafDocument
import SheafHub
import SheafHubLog
import SheafTransport
import Testing

/// Tests of the choice of the version that all hubs write.
@Suite struct HubUpgradeTests {
    private static let log = HubLogID(low: 1, high: 2)
    private static let author = HubAuthor(site: Site(rawValue: 1), opening: 2)

    private func key(_ number: UInt8) -> [UInt8] { Array(repeating: number, count: 32) }

    /// Returns other hubs that read these versions, with the keys 1, 2, and so on.
    private func hubs(_ formats: [ClosedRange<UInt8>]) throws -> [HubStatus.OtherHub] {
        let configuration = HubConfiguration(
            database: .init(low: 3, high: 4), log: Self.log, number: 1, map: .single,
            snapshots: [.init()])
        var sample = HubSample(respondedAt: 1, configuration: configuration, configuredAt: 1)
        sample.hubs.log = Self.log
        for (index, versions) in formats.enumerated() {
            let beat = HubBroadcast.Beat(
                isReady: true, versions: versions, wallMilliseconds: 1, clientCount: 0,
                addresses: [], shards: [])
            let bytes = HubBroadcast(
                log: Self.log, hub: key(UInt8(index + 1)), author: Self.author, .beat(beat)
            ).bytes
            _ = sample.hubs.receive(bytes, own: key(99), at: 1, 1)
        }
        let own = try #require(PeerKey(key(99)))
        return HubStatus(sample, of: own, formats: 1...1, at: 1).hubs
    }

    @Test func `the newest version is written once all others read it`() throws {
        let cases: [(current: UInt8, own: ClosedRange<UInt8>, [ClosedRange<UInt8>], UInt8)] = [
            (1, 1...2, [], 2), (1, 1...2, [1...2, 2...3], 2), (1, 1...3, [1...3, 1...4], 3),
            // There is no newer one, so that the others may be older.
            (2, 1...2, [1...1], 2), (3, 1...2, [1...1], 3), (1, 1...1, [1...1, 1...2], 1),
        ]
        for (current, own, others, newest) in cases {
            let upgrade = FormatUpgrade(current: current, own: own, others: try hubs(others))
            #expect(try upgrade.newest() == newest)
        }
    }

    @Test func `a refusal names up to four of the hubs that do not read the newest version`() throws
    {
        let others = try hubs([1...1, 1...2, 3...4, 1...1, 1...1, 1...1, 1...1])
        let older = [0, 2, 3, 4, 5, 6].map { others[$0] }
        for count in [1, 2, 4, 5, 6] {
            let upgrade = FormatUpgrade(
                current: 1, own: 1...2, others: [others[1]] + older.prefix(count))
            let names = older.prefix(min(count, 4)).enumerated().map { index, hub in
                "\(hub.key) reads " + (index == 1 ? "3 to 4" : "1 to 1")
            }
            let error = #expect(throws: HubError.self) { try upgrade.newest() }
            #expect(
                error?.message
                    == "not all hubs read version 2: \(names.joined(separator: "; ")); install the "
                    + "new release there first")
        }
    }
}
