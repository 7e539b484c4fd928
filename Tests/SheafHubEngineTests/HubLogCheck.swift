import SheafHubLog
import Testing

/// A rule that each engine of hub logs must satisfy.
enum HubLogCheck: String, CaseIterable, Sendable {
    case order = "messages are stored in the order of the calls"
    case idsOnce = "a message with the same id is stored once"
    case follow = "a follower continues from a number and receives new entries"
    case unread = "unread bytes are limited until they are consumed"
    case reread = "entries are delivered once more"
    case trim = "trimmed entries are gone and the others keep their numbers"
    case broadcast = "a broadcast arrives at all hubs"
    case objects = "objects are read as they were stored"
    case names = "objects are listed by prefix and removed"
    case replace = "a replaceable object changes at the expected revision alone"
    case logs = "a log is created empty and removed with its entries"
    case stop = "no event follows stop during traffic"
    case shards = "many shards are followed at once"
    case hubs = "all hubs read the messages of several in one order"
    case unfollow = "a shard that is not followed delivers nothing more"
    case missing = "a message for a missing log fails"
    case connected = "a host is connected before other events arrive"
    case times = "entries have the time at which they were stored"
    case existing = "logs with entries are listed, and found as they were created"
    case ends = "the end of a reread follows its entries"

    func run(_ engine: TestedEngine) throws {
        switch self {
        case .order: try engine.checkOrder()
        case .idsOnce: try engine.checkIDs()
        case .follow: try engine.checkFollowing()
        case .unread: try engine.checkUnread()
        case .reread: try engine.checkRereading()
        case .trim: try engine.checkTrimming()
        case .broadcast: try engine.checkBroadcasts()
        case .objects: try engine.checkObjects()
        case .names: try engine.checkNames()
        case .replace: try engine.checkReplacing()
        case .logs: try engine.checkLogs()
        case .stop: try engine.checkStopping()
        case .shards: try engine.checkShards()
        case .hubs: try engine.checkHubs()
        case .unfollow: try engine.checkUnfollowing()
        case .missing: try engine.checkMissingLog()
        case .connected: try engine.checkConnection()
        case .times: try engine.checkTimes()
        case .existing: try engine.checkExistingLogs()
        case .ends: try engine.checkEnds()
        }
    }
}

extension TestedEngine {
    fileprivate func checkOrder() throws {
        let (hub, log) = try startWithLog()
        defer { hub.stop() }
        let shard = HubShard(0, of: log)
        hub.log.follow(shard, from: 1)
        hub.store(1...200, to: log)
        #expect(hub.host.current.stored.map(\.entry) == Array(1...200))
        #expect(hub.host.current.stored.map(\.id) == (1...200).map { Self.id($0) })
        #expect(hub.host.waits { $0.entries[shard]?.count == 200 })
        let expected = (1...200).map { HubLogEntry(UInt64($0), Self.message($0)) }
        #expect(hub.host.current.contents(of: shard) == expected)
    }

    fileprivate func checkIDs() throws {
        let (hub, log) = try startWithLog()
        defer { hub.stop() }
        hub.store(1...3, to: log)
        hub.store(2...2, to: log)
        hub.store(4...4, to: log)
        #expect(hub.host.current.stored.map(\.entry) == [1, 2, 3, 2, 4])
    }

    fileprivate func checkFollowing() throws {
        let (hub, log) = try startWithLog()
        defer { hub.stop() }
        let shard = HubShard(0, of: log)
        hub.store(1...10, to: log)
        hub.log.follow(shard, from: 7)
        #expect(hub.host.waits { $0.numbers(of: shard) == [7, 8, 9, 10] })
        hub.store(11...12, to: log)
        #expect(hub.host.waits { $0.numbers(of: shard) == Array(7...12) })
        hub.log.follow(shard, from: 12)
        #expect(hub.host.waits { $0.numbers(of: shard) == Array(7...12) + [12] })
    }

    fileprivate func checkUnread() throws {
        let (hub, log) = try startWithLog(unreadLength: 100_000)
        defer { hub.stop() }
        let shard = HubShard(0, of: log)
        hub.store(1...400, to: log, length: 10_000)
        hub.log.follow(shard, from: 1)
        #expect(hub.host.waits { $0.length(of: shard) == 100_000 })
        hub.log.consumed(10_000, of: shard)
        #expect(hub.host.waits { $0.length(of: shard) == 110_000 })
        // Events keep their order, so entries beyond the limit would arrive before the broadcast.
        hub.log.broadcast([1])
        #expect(hub.host.waits { !$0.broadcasts.isEmpty })
        #expect(hub.host.current.length(of: shard) == 110_000)
        for count in 12...400 {
            hub.log.consumed(10_000, of: shard)
            #expect(hub.host.waits { $0.length(of: shard) == count * 10_000 })
        }
        #expect(hub.host.current.numbers(of: shard) == Array(1...400))
    }

    fileprivate func checkRereading() throws {
        let (hub, log) = try startWithLog()
        defer { hub.stop() }
        let shard = HubShard(0, of: log)
        hub.store(1...200, to: log)
        hub.log.follow(shard, from: 201)
        hub.log.reread(3...5, of: shard)
        #expect(hub.host.waits { $0.numbers(of: shard) == [3, 4, 5] })
        #expect(hub.host.current.entries[shard]?.first?.bytes == Self.message(3))
        hub.log.reread(300...UInt64.max, of: shard)
        hub.log.reread(1...UInt64.max, of: shard)
        #expect(hub.host.waits { $0.numbers(of: shard) == [3, 4, 5] + Array(1...200) })
    }

    fileprivate func checkTrimming() throws {
        let (hub, log) = try startWithLog()
        defer { hub.stop() }
        let shard = HubShard(0, of: log)
        hub.store(1...10, to: log)
        for entry: UInt64 in [0, 1, 6, 3] {
            while try hub.log.trim(shard, before: entry) {}
        }
        hub.log.reread(1...10, of: shard)
        #expect(hub.host.waits { $0.numbers(of: shard) == Array(6...10) })
        hub.log.follow(shard, from: 1)
        #expect(hub.host.waits { $0.numbers(of: shard) == Array(6...10) + Array(6...10) })
        // A number beyond the end removes all entries, and the next one has no gap before it.
        while try hub.log.trim(shard, before: 1_000) {}
        hub.log.reread(10...10, of: shard)
        #expect(hub.host.waits { $0.rereads.count == 2 })
        hub.store(11...11, to: log)
        #expect(hub.host.waits { $0.numbers(of: shard).last == 11 })
        #expect(hub.host.current.stored.last?.entry == 11)
    }

    fileprivate func checkBroadcasts() throws {
        let hubs = try (0..<3).map { _ in try start() }
        defer { for hub in hubs { hub.stop() } }
        // Brokers that are not those of the other hubs may learn of their subscriptions later.
        for _ in 1...100 where hubs.contains(where: { $0.host.current.broadcasts.isEmpty }) {
            hubs[0].log.broadcast([0])
            hubs[0].host.pause()
        }
        let bytes = Self.message(1, length: HubLimits.broadcastLength)
        hubs[0].log.broadcast(bytes)
        hubs[0].log.broadcast(bytes + [1])
        hubs[0].log.broadcast([2])
        for hub in hubs {
            #expect(hub.host.waits { $0.broadcasts.drop { $0 == [0] } == [bytes, [2]] })
        }
    }

    fileprivate func checkUnfollowing() throws {
        let (hub, log) = try startWithLog(shardCount: 2)
        defer { hub.stop() }
        let shards = [HubShard(0, of: log), HubShard(1, of: log)]
        for shard in shards { hub.log.follow(shard, from: 1) }
        hub.store(1...2, to: log)
        #expect(hub.host.waits { $0.numbers(of: shards[0]) == [1, 2] })
        hub.log.unfollow(shards[0])
        hub.store(3...4, to: log)
        hub.store(1...2, to: log, shard: 1)
        #expect(hub.host.waits { $0.numbers(of: shards[1]) == [1, 2] })
        #expect(hub.host.current.numbers(of: shards[0]) == [1, 2])
        hub.log.follow(shards[0], from: 3)
        #expect(hub.host.waits { $0.numbers(of: shards[0]) == [1, 2, 3, 4] })
    }
}
