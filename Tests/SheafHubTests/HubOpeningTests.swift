import Sheaf
import SheafHub
import SheafHubEngine
import SheafHubLog
import Testing

/// Requirements of a hub on the log of its engine.
@Suite struct HubOpeningTests {
    @Test func `a hub creates no second log when the engine has lost the configuration`()
        async throws
    {
        let scene = HubScene()
        let hub = try await scene.hub()
        try await hub.waitUntilReady()
        let log = hub.status.log
        try await hub.close()
        scene.engine.lose("config")
        let error = await #expect(throws: HubError.self) { try await scene.hub() }
        #expect(error?.message.contains("a log of this database (\(log))") == true)
        #expect(error?.message.contains("restore the object 'config'") == true)
        let found = try MemoryHubLog(scene.engine).load("config")
        #expect(found?.revision == nil)
        // As an operator does who has no backup.
        let logs = try MemoryHubLog(scene.engine).logs()
        for log in logs { try MemoryHubLog(scene.engine).remove(log) }
        let new = try await scene.hub()
        try await new.waitUntilReady()
        #expect(new.status.log != log)
        try await new.close()
    }

    @Test func `a hub does not use a log that lacks shards, and can replace it`() async throws {
        let scene = HubScene()
        let hub = try await scene.hub()
        try await hub.waitUntilReady()
        try await hub.close()
        let logs = try MemoryHubLog(scene.engine).logs()
        #expect(logs.count == 1)
        for log in logs { try MemoryHubLog(scene.engine).remove(log) }
        var options = HubOptions()
        options.maintenance.stepMilliseconds = 20
        options.maintenance.retryMilliseconds = 20
        let waiting = try await scene.hub(options: options)
        try await until("the hub shows why it is not ready") {
            waiting.status.reasons.contains { $0.contains("the hub log has no log with 1 shards") }
        }
        let error = await #expect(throws: HubError.self) { try await waiting.replaceLog() }
        #expect(error?.message.contains("--force") == true)
        #expect(try await waiting.replaceLog(isForced: true) == 2)
        try await waiting.waitUntilReady()
        try await waiting.close()
    }

    @Test func `EVICT is refused at a hub before it reads the log`() async throws {
        let scene = HubScene()
        let hub = try await Hub.inMemory(
            configuration: scene.configuration(.random()), engine: scene.memory)
        _ = try await hub.peer.insert("a")
        await #expect(throws: StoreError.self) {
            try await hub.peer.store.execute("EVICT FROM cars WHERE _id = 'a'")
        }
        #expect(try await hub.peer.cars() == ["a"])
        try await hub.close()
    }

    @Test(
        arguments: [
            (.disconnected("a"), true), (.timeout("a"), true), (.full("a"), true),
            (.unsupported(trait: "a"), false), (.missing("a"), false), (.damaged("a"), false),
            (.refused("a"), false),
        ] as [(HubLogError, Bool)])
    func `a hub waits for an engine that may respond later, and for no other one`(
        _ error: HubLogError, _ isTemporary: Bool
    ) async throws {
        let engine = HubEngine { _, _ in FailingLog(error) }
        let configuration = HubScene().configuration(.random())
        let found = await #expect(throws: HubError.self) {
            try await Hub.inMemory(
                configuration: configuration, engine: engine, options: HubOptions(startSeconds: 0))
        }
        let wait = isTemporary ? "; the engine has not responded for 0 s" : ""
        #expect(found?.message == "\(error)" + wait)
    }
}

/// A hub log that does not start.
private final class FailingLog: UnsupportedHubLog {
    static let trait = "none"

    private let error: HubLogError

    init(_ error: HubLogError) {
        self.error = error
    }

    func start(_ host: any HubLogHost) throws(HubLogError) { throw error }
}
