import SheafBytes
import SheafHub
import SheafHubEngine
import SheafHubLog
import SheafReplication
import Synchronization
import Testing

/// Tests of a configuration that several hubs create or change concurrently.
@Suite struct ContestedConfigurationTests {
    private static let database = XXH3.Hash128(low: 3, high: 4)
    private static let other = HubLogID(low: 8, high: 8)

    private let base = MemoryHubLog(MemoryHubEngine())

    /// Returns a file whose replacements are made, or not, by `replace`.
    private func file(
        logs: [HubLogID] = [],
        _ replace:
            @escaping @Sendable (MemoryHubLog, [UInt8], UInt64?, Int) throws(HubLogError)
            -> HubLogReplacement
    ) -> (ConfigurationFile, ContestedStorage) {
        let storage = ContestedStorage(base, logs: logs, replace)
        return (ConfigurationFile(storage, of: Self.database), storage)
    }

    private static func configuration(_ log: HubLogID, number: UInt64 = 1) -> HubConfiguration {
        HubConfiguration(
            database: database, log: log, number: number, map: .single, snapshots: [.init()])
    }

    private func create(_ file: ConfigurationFile) throws -> HubConfiguration {
        var numbers: [UInt64] = [6, 5]
        return try file.loadOrCreate(shardCount: nil, format: 1) { numbers.removeLast() }
    }

    @Test func `a hub that is slower than another one uses its log, and removes its own`() throws {
        let (file, storage) = file { (base, _, revision, _) throws(HubLogError) in
            let bytes = Self.configuration(Self.other).bytes
            return try base.replace("config", with: bytes, at: revision) == .replaced
                ? .changed : .replaced
        }
        #expect(try create(file).log == Self.other)
        #expect(storage.replacementCount == 1)
        #expect(throws: HubLogError.missing("log with 1 shards")) {
            try base.check(HubLogID(low: 5, high: 6), shardCount: 1)
        }
    }

    @Test func `a hub without an answer finds the configuration that it has created`() throws {
        let (file, storage) = file { (base, bytes, revision, _) throws(HubLogError) in
            _ = try base.replace("config", with: bytes, at: revision)
            return .ambiguous(.timeout("a request"))
        }
        let own = HubLogID(low: 5, high: 6)
        #expect(try create(file).log == own)
        #expect(storage.replacementCount == 1)
        try base.check(own, shardCount: 1)
    }

    @Test func `a hub finds a configuration that appears with its log`() throws {
        let (file, storage) = file(logs: [Self.other]) { _, _, _, _ in .changed }
        storage.onLogs {
            _ = try? $0.replace("config", with: Self.configuration(Self.other).bytes, at: nil)
        }
        #expect(try create(file).log == Self.other)
        #expect(storage.replacementCount == 0)
    }

    @Test func `a configuration is not created beside a log`() throws {
        let (file, storage) = file(logs: [Self.other]) { _, _, _, _ in .replaced }
        let found = #expect(throws: HubError.self) { try create(file) }
        #expect(
            found?.message
                == "the engine has a log of this database (08000000000000000800000000000000), and "
                + "no configuration of its hubs; restore the object 'config' of the engine from a "
                + "backup, or run 'sheaf hub replace --force' on a hub that still runs; if none "
                + "runs, remove the log, and hubs create a new one from their stores")
        #expect(storage.replacementCount == 0)
    }

    @Test func `a configuration that others remove is created in 64 attempts`() throws {
        for count in [64, 65] {
            let (file, storage) = file { _, _, _, number in number < count ? .changed : .replaced }
            let result = Result {
                try file.loadOrCreate(shardCount: 1, format: 1) { 7 }
            }
            #expect(storage.replacementCount == 64)
            switch result {
            case .success(let configuration):
                #expect(count == 64 && configuration.log == HubLogID(low: 7, high: 7))
            case .failure(let error):
                #expect(count == 65)
                #expect(
                    "\(error)"
                        == "the configuration of the hubs was not created in 64 attempts; check "
                        + "whether another program removes the object 'config'")
            }
        }
    }

    @Test func `a change that others contest, or that has no answer, is tried 64 times`() throws {
        let (plain, _) = file { (base, bytes, revision, _) throws(HubLogError) in
            try base.replace("config", with: bytes, at: revision)
        }
        _ = try create(plain)
        for outcome in [HubLogReplacement.changed, .ambiguous(.timeout("a request"))] {
            let (file, storage) = file { _, _, _, _ in outcome }
            let found = #expect(throws: HubError.self) { try file.change { $0 } }
            #expect(
                found?.message
                    == "the configuration of the hubs was changed 64 times by others meanwhile; "
                    + "try again")
            #expect(storage.replacementCount == 64)
        }
        // One without a change is not stored.
        let (unchanged, storage) = file { _, _, _, _ in .changed }
        #expect(try unchanged.change { _ in nil }.number == 1)
        #expect(storage.replacementCount == 0)
    }

    @Test func `a restored configuration that has no answer is a failure`() throws {
        let failure = SnapshotFailure.log(.timeout("a request"))
        let (file, _) = file { _, _, _, _ in .ambiguous(.timeout("a request")) }
        #expect(throws: failure) { try file.restore(Self.configuration(Self.other)) }
        // Another hub was faster.
        let (late, storage) = self.file { _, _, _, _ in .changed }
        try late.restore(Self.configuration(Self.other))
        #expect(storage.replacementCount == 1)
    }
}

/// A store in memory whose replacements have outcomes of a test.
private final class ContestedStorage: HubStorage {
    typealias Replace =
        @Sendable (MemoryHubLog, [UInt8], UInt64?, Int) throws(HubLogError) -> HubLogReplacement

    private struct State {
        var replacementCount = 0
        var onLogs: (@Sendable (MemoryHubLog) -> Void)?
    }

    private let base: MemoryHubLog
    private let found: [HubLogID]
    private let outcome: Replace
    private let state = Mutex(State())

    /// Creates a store that lists some logs; `replace` gets the number of its call, from 1.
    init(_ base: MemoryHubLog, logs: [HubLogID], _ replace: @escaping Replace) {
        (self.base, found, outcome) = (base, logs, replace)
    }

    /// Number of calls that replace an object.
    var replacementCount: Int { state.withLock { $0.replacementCount } }

    /// Calls `body` whenever logs are listed.
    func onLogs(_ body: @escaping @Sendable (MemoryHubLog) -> Void) {
        state.withLock { $0.onLogs = body }
    }

    func replace(
        _ name: String, with bytes: [UInt8], at revision: UInt64?
    ) throws(HubLogError) -> HubLogReplacement {
        let number = state.withLock { state in
            state.replacementCount += 1
            return state.replacementCount
        }
        return try outcome(base, bytes, revision, number)
    }

    func logs() throws(HubLogError) -> [HubLogID] {
        let body = state.withLock { $0.onLogs }
        body?(base)
        return found
    }

    func put(_ name: String, _ bytes: [UInt8]) throws(HubLogError) { try base.put(name, bytes) }

    func get(
        _ name: String, _ body: ([UInt8]) throws(HubLogError) -> Void
    ) throws(HubLogError) {
        try base.get(name, body)
    }

    func list(_ prefix: String) throws(HubLogError) -> [String] { try base.list(prefix) }

    func remove(_ name: String) throws(HubLogError) { try base.remove(name) }

    func load(_ name: String) throws(HubLogError) -> (bytes: [UInt8], revision: UInt64)? {
        try base.load(name)
    }

    func create(_ log: HubLogID, shardCount: Int) throws(HubLogError) {
        try base.create(log, shardCount: shardCount)
    }

    func check(_ log: HubLogID, shardCount: Int) throws(HubLogError) {
        try base.check(log, shardCount: shardCount)
    }

    func trim(_ shard: HubShard, before entry: UInt64) throws(HubLogError) -> Bool {
        base.trim(shard, before: entry)
    }

    func remove(_ log: HubLogID) throws(HubLogError) { try base.remove(log) }
}
