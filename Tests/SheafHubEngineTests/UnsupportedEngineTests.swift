import SheafBytes
import SheafHubLog
import SheafHubNATS
import SheafHubPostgreSQL
import Testing

/// Tests of the engines whose libraries this program was built without.
@Suite struct UnsupportedEngineTests {
    /// Expects that each call which can fail names the trait.
    private func expectUnsupported(_ log: any HubLog, _ trait: String) {
        let error = HubLogError.unsupported(trait: trait)
        let id = HubLogID(low: 1, high: 1)
        #expect(throws: error) { try log.start(RecordingHost()) }
        #expect(throws: error) { try log.put("part/1", [1]) }
        #expect(throws: error) { try log.get("part/1") { _ in } }
        #expect(throws: error) { try log.list("") }
        #expect(throws: error) { try log.remove("part/1") }
        #expect(throws: error) { try log.load("config") }
        #expect(throws: error) { try log.replace("config", with: [1], at: nil) }
        #expect(throws: error) { try log.create(id, shardCount: 1) }
        #expect(throws: error) { try log.logs() }
        #expect(throws: error) { try log.check(id, shardCount: 1) }
        #expect(throws: error) { try log.trim(HubShard(0, of: id), before: 1) }
        #expect(throws: error) { try log.remove(id) }
    }

    @Test func `each call of an engine without its library names the trait`() {
        #if !NATS
            expectUnsupported(
                HubEngine.nats(["nats://127.0.0.1:1"])
                    .log(of: .init(low: 1, high: 1)) { _ in }, "NATS")
        #endif
        #if !PostgreSQL
            expectUnsupported(
                HubEngine.postgreSQL("host=127.0.0.1")
                    .log(of: .init(low: 1, high: 1)) { _ in }, "PostgreSQL")
            let log = PostgreSQLHubLog(
                PostgreSQLConfiguration(connection: "", database: .init(low: 1, high: 1)))
            #expect(log.server == nil)
        #endif
    }
}
