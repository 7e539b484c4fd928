import SheafHubLog
import SheafSystem
import Testing

extension TestedEngine {
    func checkStopping() throws {
        for round in 1...5 {
            let (hub, log) = try startWithLog()
            let other = try start()
            let shard = HubShard(0, of: log)
            other.log.follow(shard, from: 1)
            hub.log.follow(shard, from: 1)
            hub.append(1...(100 * round), to: log)
            #expect(other.host.waits { !$0.entries.isEmpty })
            other.stop()
            hub.stop()
            hub.append(1...10, to: log)
            hub.log.follow(shard, from: 1)
            hub.log.reread(1...10, of: shard)
            hub.log.broadcast([1])
            hub.log.stop()
            #expect(hub.host.current.eventsAfterStop == 0)
            #expect(other.host.current.eventsAfterStop == 0)
        }
    }

    func checkShards() throws {
        let (hub, log) = try startWithLog(shardCount: 16)
        let other = try start()
        defer {
            hub.stop()
            other.stop()
        }
        let shards = (0..<16).map { HubShard(UInt16($0), of: log) }
        for shard in shards { other.log.follow(shard, from: 1) }
        for shard in shards { hub.append(1...20, to: log, shard: shard.number) }
        #expect(hub.host.waits { $0.stored.count == 320 })
        let expected = (1...20).map { HubLogEntry(UInt64($0), Self.message($0)) }
        for shard in shards {
            #expect(other.host.waits { $0.entries[shard]?.count == 20 })
            #expect(other.host.current.contents(of: shard) == expected)
        }
    }

    func checkHubs() throws {
        let (first, log) = try startWithLog()
        let hubs = [first, try start(), try start()]
        defer { for hub in hubs { hub.stop() } }
        let shard = HubShard(0, of: log)
        for hub in hubs { hub.log.follow(shard, from: 1) }
        for sequence in 1...100 {
            for (number, hub) in hubs.enumerated() {
                hub.append(sequence...sequence, to: log, author: UInt64(number + 1))
            }
        }
        for hub in hubs {
            #expect(hub.host.waits { $0.entries[shard]?.count == 300 && $0.stored.count == 100 })
            #expect(hub.host.current.numbers(of: shard) == Array(1...300))
            #expect(hub.host.current.entries[shard] == hubs[0].host.current.entries[shard])
        }
        let entries = hubs[0].host.current.entries[shard] ?? []
        for (number, hub) in hubs.enumerated() {
            for (id, entry) in hub.host.current.stored {
                let expected = Self.message(Int(id.sequence), author: UInt64(number + 1))
                #expect(entries[Int(entry) - 1].bytes == expected)
            }
        }
    }

    func checkConnection() throws {
        let (hub, log) = try startWithLog()
        defer { hub.stop() }
        hub.store(1...1, to: log)
        #expect(hub.host.current.connections == [true])
    }

    func checkTimes() throws {
        let (hub, log) = try startWithLog()
        defer { hub.stop() }
        let shard = HubShard(0, of: log)
        let before = Clock.system.wallMilliseconds()
        hub.store(1...10, to: log)
        let after = Clock.system.wallMilliseconds()
        hub.log.follow(shard, from: 1)
        #expect(hub.host.waits { $0.entries[shard]?.count == 10 })
        let entries = try #require(hub.host.current.entries[shard])
        for entry in entries {
            let time = try #require(entry.wallMilliseconds)
            #expect(before <= time && time <= after)
        }
        // Later, so that it would be seen if this were the time of reading.
        hub.log.reread(1...10, of: shard)
        #expect(hub.host.waits { $0.entries[shard]?.count == 20 })
        #expect(hub.host.current.entries[shard] == entries + entries)
    }

    func checkEnds() throws {
        let (hub, log) = try startWithLog(shardCount: 2, unreadLength: 100_000)
        defer { hub.stop() }
        let shards = [HubShard(0, of: log), HubShard(1, of: log)]
        hub.store(1...20, to: log, length: 10_000)
        hub.store(1...3, to: log, shard: 1)
        for range: ClosedRange<UInt64> in [2...2, 2...3, 5...UInt64.max, 21...30] {
            let ended = hub.host.current.rereads.count
            let arrived = hub.host.current.numbers(of: shards[0]).count
            let expected = (1...20).filter { range.contains($0) }
            hub.log.reread(range, of: shards[0])
            // The others wait until these are consumed.
            let first = arrived + min(expected.count, 10)
            #expect(hub.host.waits { $0.numbers(of: shards[0]).count >= first })
            for _ in expected.dropFirst(10) { hub.log.consumed(10_000, of: shards[0]) }
            #expect(hub.host.waits { $0.rereads.count > ended })
            let state = hub.host.current
            #expect(state.numbers(of: shards[0]).dropFirst(arrived) == expected[...])
            let end = RecordingHost.Reread(
                entries: range, shard: shards[0], error: nil,
                arrivedCount: arrived + expected.count)
            #expect(state.rereads.dropFirst(ended) == [end])
            for _ in expected.prefix(10) { hub.log.consumed(10_000, of: shards[0]) }
        }
        // It does not end before its entries were consumed, and another shard does not wait for it.
        hub.log.reread(1...20, of: shards[0])
        hub.log.reread(1...UInt64.max, of: shards[1])
        #expect(hub.host.waits { $0.rereads.last?.shard == shards[1] })
        #expect(hub.host.waits { $0.numbers(of: shards[0]).suffix(10) == Array(1...10)[...] })
        #expect(hub.host.current.rereads.count == 5)
        for _ in 1...10 { hub.log.consumed(10_000, of: shards[0]) }
        #expect(hub.host.waits { $0.rereads.last?.entries == 1...20 })
        #expect(hub.host.current.numbers(of: shards[0]).suffix(20) == Array(1...20)[...])
    }
}
