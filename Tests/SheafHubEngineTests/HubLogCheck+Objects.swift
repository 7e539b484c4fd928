import SheafBytes
import SheafHubLog
import Testing

extension TestedEngine {
    /// Returns the bytes of an object.
    private func object(_ name: String, _ log: any HubLog) throws -> [UInt8] {
        var bytes: [UInt8] = []
        try log.get(name) { bytes += $0 }
        return bytes
    }

    func checkObjects() throws {
        let hub = try start()
        let other = try start()
        defer {
            hub.stop()
            other.stop()
        }
        for length in [0, 1, 262_143, 262_144, 262_145, 1_500_000] {
            let bytes = (0..<length).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 11) }
            try hub.log.put("part/\(length)", bytes)
            #expect(try object("part/\(length)", other.log) == bytes)
            try other.log.put("part/\(length)", bytes + [1])
            #expect(try object("part/\(length)", hub.log) == bytes)
        }
        #expect(throws: HubLogError.missing("object part/none")) {
            try object("part/none", hub.log)
        }
        #expect(throws: HubLogError.damaged("what the caller reads")) {
            try hub.log.get("part/1") { _ throws(HubLogError) in
                throw .damaged("what the caller reads")
            }
        }
    }

    func checkNames() throws {
        let hub = try start()
        defer { hub.stop() }
        #expect(try hub.log.list("") == [])
        try hub.log.remove("part/1")
        for name in ["part/1", "part/2", "file/1", "part"] { try hub.log.put(name, [1]) }
        #expect(try hub.log.list("part/") == ["part/1", "part/2"])
        #expect(try hub.log.list("") == ["file/1", "part", "part/1", "part/2"])
        try hub.log.remove("part/1")
        #expect(try hub.log.list("part/") == ["part/2"])
        #expect(throws: HubLogError.missing("object part/1")) { try object("part/1", hub.log) }
        try hub.log.put("part/1", [2])
        #expect(try object("part/1", hub.log) == [2])
    }

    func checkReplacing() throws {
        let hub = try start()
        let other = try start()
        defer {
            hub.stop()
            other.stop()
        }
        #expect(try hub.log.load("config") == nil)
        #expect(try hub.log.replace("config", with: [0], at: 7) == .changed)
        #expect(try hub.log.replace("config", with: [1], at: nil) == .replaced)
        #expect(try other.log.replace("config", with: [2], at: nil) == .changed)
        let first = try #require(try other.log.load("config"))
        #expect(first.bytes == [1])
        #expect(try other.log.replace("config", with: [3], at: first.revision) == .replaced)
        #expect(try hub.log.replace("config", with: [4], at: first.revision) == .changed)
        let second = try #require(try hub.log.load("config"))
        #expect(second.bytes == [3])
        #expect(second.revision > first.revision)
        #expect(try hub.log.load("other") == nil)
    }

    func checkLogs() throws {
        let (hub, log) = try startWithLog(shardCount: 4)
        defer { hub.stop() }
        try hub.log.create(log, shardCount: 4)
        for count in [0, -1, HubLimits.shards + 1] {
            #expect(throws: HubLogError.self) { try hub.log.create(log, shardCount: count) }
        }
        hub.store(1...3, to: log, shard: 3)
        let other = HubLogID(low: log.low, high: log.high ^ 1)
        try hub.log.create(other, shardCount: 4)
        hub.store(1...3, to: other, shard: 3)
        #expect(hub.host.current.stored.map(\.entry) == [1, 2, 3, 1, 2, 3])
        try hub.log.remove(log)
        try hub.log.remove(log)
        hub.append(4...4, to: log, shard: 3)
        #expect(hub.host.waits { $0.failed.count == 1 })
        hub.store(4...4, to: other, shard: 3)
        try hub.log.create(log, shardCount: 4)
        hub.store(1...1, to: log, shard: 3)
        #expect(hub.host.current.stored.suffix(2).map(\.entry) == [4, 1])
    }

    func checkExistingLogs() throws {
        let (hub, log) = try startWithLog(shardCount: 2)
        let (second, other) = try startWithLog(shardCount: 1)
        defer { for hub in [hub, second] { hub.stop() } }
        #expect(try hub.log.logs() == [])
        try hub.log.check(log, shardCount: 2)
        #expect(throws: HubLogError.self) { try hub.log.check(log, shardCount: 4) }
        hub.store(1...1, to: log, shard: 1)
        #expect(try second.log.logs() == [log])
        second.store(1...1, to: other)
        #expect(Set(try hub.log.logs()) == [log, other])
        while try hub.log.trim(HubShard(0, of: other), before: 2) {}
        hub.log.reread(1...1, of: HubShard(0, of: other))
        #expect(hub.host.waits { !$0.rereads.isEmpty })
        #expect(Set(try hub.log.logs()) == [log, other])
        try hub.log.put("part/1", [1])
        try hub.log.remove(log)
        #expect(try hub.log.logs() == [other])
        #expect(throws: HubLogError.self) { try hub.log.check(log, shardCount: 2) }
        try hub.log.check(other, shardCount: 1)
    }

    func checkMissingLog() throws {
        let (hub, log) = try startWithLog()
        defer { hub.stop() }
        hub.append(1...1, to: HubLogID(low: log.low, high: 2))
        hub.append(2...2, to: log, length: HubLimits.messageLength + 1)
        #expect(hub.host.waits { $0.failed.count == 2 })
        hub.store(3...3, to: log, length: HubLimits.messageLength)
        #expect(hub.host.current.stored.map(\.entry) == [1])
    }
}
