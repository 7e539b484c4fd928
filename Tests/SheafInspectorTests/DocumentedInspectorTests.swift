import Sheaf
import SheafInspector
import SheafStore
import Testing

extension InspectorTests {
    /// The code examples of the documentation.
    @Suite(.serialized) struct DocumentedInspectorTests {
        @Test func `the examples of the first page run`() async throws {
            let network = MemoryNetwork()
            let key = PeerKey.random()
            let peer = try await Peer.inMemory(
                configuration: PeerConfiguration(
                    databaseID: "cars", key: key, deviceName: "tablet",
                    transports: [network.transport(for: key)]))
            let inspector = try await Inspector.start(peer, port: 0)
            print(inspector.url)
            await inspector.stop()
            try await peer.close()
        }

        @Test func `the examples of access run`() async throws {
            let store = try await Store.inMemory()
            let options = InspectorOptions(address: "127.0.0.1", isWritable: true)
            let writable = try await Inspector.start(store, port: 0, options: options)
            let fixture = InspectorFixture(store, writable)
            let (status, answer) = try fixture.query("INSERT INTO cars DOCUMENTS ({'_id': 1})")
            #expect(status == 200 && answer["changedIDs"] == [1])
            await writable.stop()
            try await store.close()
        }
    }
}
