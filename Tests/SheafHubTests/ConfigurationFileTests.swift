import SheafBytes
import SheafHub
import SheafHubEngine
import SheafHubLog
import SheafReplication
import Testing

/// Tests of the configuration of hubs in the object store: how it is created, read and changed.
@Suite struct ConfigurationFileTests {
    private static let lost =
        "the engine has lost the configuration of the hubs; restore its object 'config' from a "
        + "backup, or run 'sheaf hub replace --force' on a hub that runs"

    private let engine = MemoryHubEngine()

    private var log: MemoryHubLog { MemoryHubLog(engine) }

    private func file(_ database: UInt64 = 3) -> ConfigurationFile {
        ConfigurationFile(log, of: XXH3.Hash128(low: database, high: 4))
    }

    /// Returns the message of the error that a closure throws; nil if it throws none.
    private func message(_ body: () throws -> Void) -> String? {
        do {
            try body()
            return nil
        } catch {
            return "\(error)"
        }
    }

    @Test func `the first hub creates a log with the next two random numbers, others read it`()
        throws
    {
        var numbers: [UInt64] = [6, 5]
        let made = try file().loadOrCreate(shardCount: 4, format: 1) { numbers.removeLast() }
        #expect(made.log == HubLogID(low: 5, high: 6) && made.number == 1 && made.format == 1)
        #expect(made.snapshots == Array(repeating: HubConfiguration.Snapshots(), count: 4))
        #expect(made.map.shardCount == 4 && made.replacement == nil)
        try log.check(made.log, shardCount: 4)
        let loaded = try #require(try file().load())
        #expect(loaded.configuration == made)
        for count in [nil, 4] {
            #expect(try file().loadOrCreate(shardCount: count, format: 2) { 9 } == made)
        }
        let refused = message { _ = try file().loadOrCreate(shardCount: 2, format: 1) { 9 } }
        #expect(
            refused
                == "the log has 4 shards, not 2; start the hub without a number of shards, which "
                + "does not change")
    }

    @Test func `a log has one shard by default, and a power of two otherwise`() throws {
        for count in [0, 3, 512] {
            let refused = message {
                _ = try file().loadOrCreate(shardCount: count, format: 1) { 9 }
            }
            #expect(
                refused
                    == "a log cannot have \(count) shards; their number is a power of two from 1 "
                    + "to 256")
        }
        #expect(try file().loadOrCreate(shardCount: nil, format: 1) { 9 }.map.shardCount == 1)
    }

    @Test func `a configuration of another database, or a damaged one, is refused`() throws {
        _ = try file().loadOrCreate(shardCount: 1, format: 1) { 9 }
        let other = message { _ = try file(5).load() }
        #expect(
            other
                == "the log in this engine is that of the database "
                + "03000000000000000400000000000000, and this hub is one of "
                + "05000000000000000400000000000000; name the same database, or another engine")
        let (bytes, revision) = try #require(try log.load("config"))
        _ = try log.replace("config", with: Array(bytes.dropLast()), at: revision)
        let damaged = try #require(message { _ = try file().load() })
        #expect(damaged.hasPrefix("the configuration of the hubs is damaged ("))
        #expect(
            damaged.hasSuffix(
                "); restore the object 'config' of the engine from a backup, or remove it and run "
                    + "'sheaf hub replace --force' on a hub that runs"))
    }

    @Test func `a lost configuration cannot be read or changed, and can be restored`() throws {
        let made = try file().loadOrCreate(shardCount: 1, format: 1) { 9 }
        var other = made
        other.number = 7
        // One that exists remains.
        try file().restore(other)
        #expect(try file().existing() == made)
        engine.lose("config")
        #expect(throws: SnapshotFailure.configuration(Self.lost)) { try file().existing() }
        let unchanged = message { _ = try file().change { $0 } }
        #expect(unchanged == Self.lost)
        #expect(throws: SnapshotFailure.configuration(Self.lost)) {
            try file().decide { (configuration) throws(SnapshotFailure) in
                configuration.number = 8
                return .store
            }
        }
        try file().restore(other)
        #expect(try file().existing() == other)
    }

    @Test func `a decision stores a change, finds it, or refuses it`() throws {
        let made = try file().loadOrCreate(shardCount: 1, format: 1) { 9 }
        let decisions: [(ConfigurationChange, isMade: Bool, number: UInt64)] = [
            (.refuse, false, 1), (.exists, true, 1), (.store, true, 5),
        ]
        for (decision, isMade, number) in decisions {
            let found = try file().decide { (configuration) throws(SnapshotFailure) in
                configuration.number = 5
                return decision
            }
            #expect(found == isMade)
            #expect(try file().existing().number == number)
        }
        #expect(throws: SnapshotFailure.stopped) {
            try file().decide { (configuration) throws(SnapshotFailure) in
                configuration.number = 6
                throw .stopped
            }
        }
        #expect(try file().existing().number == 5)
        #expect(try file().existing().log == made.log)
    }
}
