import Sheaf
import SheafHub
import SheafHubLog
import Testing

#if Inspector
    /// The code examples of the documentation.
    @Suite struct DocumentedHubTests {
        @Test func `the examples of the first page run`() async throws {
            let scene = HubScene()
            let (path, engine) = (scene.path("hub"), scene.memory)
            let configuration = scene.configuration(.random())
            let hub = try await Hub.open(
                at: path, configuration: configuration, engine: engine,
                options: HubOptions(healthAddress: "127.0.0.1"))
            try hub.start()
            try await hub.waitUntilReady()
            print(hub.status.commit, hub.status.hubs.count)
            await hub.drain()
            try await hub.close()
        }
    }
#endif
