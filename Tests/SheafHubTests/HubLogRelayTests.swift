import SheafBytes
import SheafDocument
import SheafHub
import SheafHubEngine
import SheafHubLog
import SheafTestSupport
import Synchronization
import Testing

/// The events of an engine that reach its peer.
@Suite struct HubLogRelayTests {
    /// A peer that records its events.
    private final class Recorder: HubLogHost {
        private let recorded = Mutex<[String]>([])

        var events: [String] { recorded.withLock { $0 } }

        func stored(_ id: HubMessageID, as entry: UInt64) {
            record("stored \(id.sequence) as \(entry)")
        }

        func failed(_ id: HubMessageID, _ error: HubLogError) {
            record("failed \(id.sequence): \(error)")
        }

        func received(_ entries: [HubLogEntry], of shard: HubShard) {
            record("entries \(entries.map(\.number)) of \(shard.number)")
        }

        func received(broadcast: [UInt8]) { record("broadcast \(broadcast)") }

        func reread(
            _ entries: ClosedRange<UInt64>, of shard: HubShard, _ error: HubLogError?
        ) {
            record("reread \(entries) of \(shard.number): \(error?.description ?? "all")")
        }

        func connected() { record("connected") }

        func disconnected(_ error: HubLogError) { record("disconnected: \(error)") }

        private func record(_ event: String) { recorded.withLock { $0.append(event) } }
    }

    @Test func `each event of the engine reaches the peer once it has started`() throws {
        let clock = FakeClock().clock
        let relay = HubLogRelay(MemoryHubLog(MemoryHubEngine(clock: clock)), key: [1], clock)
        let peer = Recorder()
        relay.connected()
        try relay.start(peer)
        #expect(peer.events.isEmpty)
        let shard = HubShard(3, of: HubLogID(low: 1, high: 2))
        let author = HubAuthor(site: Site(rawValue: 1), opening: 2)
        let id = HubMessageID(author: author, shard: 3, sequence: 9, checksum: 4)
        relay.disconnected(.disconnected("cut"))
        relay.connected()
        relay.stored(id, as: 7)
        relay.failed(id, .full("no room"))
        relay.received([HubLogEntry(7, [1]), HubLogEntry(8, [2])], of: shard)
        relay.received(broadcast: [2, 3])
        relay.reread(7...8, of: shard, nil)
        #expect(
            peer.events == [
                "disconnected: no connection to the hub log: cut", "connected", "stored 9 as 7",
                "failed 9: the hub log has no space or memory: no room", "entries [7, 8] of 3",
                "broadcast [2, 3]", "reread 7...8 of 3: all",
            ])
    }
}
