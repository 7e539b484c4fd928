// The examples keep the formatting of the documentation.
// swift-format-ignore-file

import SheafStatements
import DittoNames
import Foundation
import Sheaf
import SheafTestSupport
import Testing

/// Examples from the documentation of the reference names.
struct DocumentedNamesTests {
    private let printed = PrintedLines()

    private func print(_ item: Any) { printed.add("\(item)") }

    @Test func `an observer with an invalid statement has its error`() async throws {
        let ditto = try await Ditto.inMemory()
        ditto.store.onUnthrownError = { error in
            printed.add("\(error)")
        }
        let observer = ditto.store.registerObserver(query: "SELEC * FROM cars") { _ in }
        if let error = observer.error {
            print(error)
        }
        #expect(printed.all.count == 2 && printed.all[0] == printed.all[1])
        #expect(observer.isCancelled && ditto.store.observers.isEmpty)
        try await ditto.close()
    }

    @Test func `the examples of DittoNames and of Migrating run`() async throws {
        do {
            let peer = try await Peer.inMemory(configuration: PeerConfiguration(databaseID: "cars"))
            let ditto = Ditto(over: peer)
            try await ditto.store.execute("INSERT INTO cars DOCUMENTS ({ _id: 'a', color: 'blue' })")
            let color: String = try await peer.store.fetchValue("SELECT color FROM cars WHERE _id = 'a'")
            #expect(color == "blue")
            try await ditto.close()
        }
        let directory = TemporaryDirectory()
        let (url, key) = (URL(filePath: directory.path("cars")), LoopbackScene.key)
        let address = "127.0.0.1:1"
        let config = DittoConfig(
            databaseID: "cars", connect: .smallPeersOnly(privateKey: key), persistenceDirectory: url)
        let ditto = try await Ditto.open(config: config)
        ditto.updateTransportConfig { config in
            config.listen.tcp.isEnabled = true
            config.listen.tcp.interfaceIP = "127.0.0.1"
            config.listen.tcp.port = 0
            config.connect.tcpServers.insert(address)
        }
        try ditto.sync.registerSubscription(query: "SELECT * FROM cars")
        try ditto.sync.start()
        #expect(ditto.sync.isActive)
        try await ditto.close()
    }

    @Test func `a commit can be awaited until it has reached a configured server`() async throws {
        let directory = TemporaryDirectory()
        let (url, key) = (URL(filePath: directory.path("server")), LoopbackScene.key)
        let server = try await Ditto.open(
            config: DittoConfig(
                databaseID: "orders", connect: .smallPeersOnly(privateKey: key),
                persistenceDirectory: url, isServer: true))
        let address = try await LoopbackScene.listen(server)
        try server.sync.registerSubscription(query: "SELECT * FROM orders")
        let ditto = try await LoopbackScene.ditto("orders")
        ditto.updateTransportConfig { $0.connect.tcpServers.insert(address) }
        try ditto.startSync()
        try await ditto.store.execute("INSERT INTO orders DOCUMENTS ({ _id: 'order-456' })")
        let result = try await ditto.store.execute(
            "UPDATE orders SET status = 'shipped' WHERE _id = :id", arguments: ["id": "order-456"])
        let commitID = result.commitID ?? 0
        let observer = ditto.store.registerObserver(
            "SELECT * FROM system:data_sync_info WHERE is_ditto_server = true"
        ) { result in
            let documents = result.items.first?.value["documents"] as? [String: Any]
            let delivered = documents?["delivered_up_to_local_commit_id"] as? Int64 ?? 0
            if delivered >= commitID { print("order-456 is on the server") }
        }
        #expect(await printed.next(1) == ["order-456 is on the server"])
        observer.cancel()
        let remote = try await server.store.execute("SELECT * FROM orders")
        #expect(remote.items.map { $0.jsonString() } == [#"{"_id":"order-456","status":"shipped"}"#])
        try await ditto.close()
        try await server.close()
    }

    @Test func `a location is a map in a store and a register in the reference API`() async throws {
        let store = try await Store.inMemory()
        let car: Value = [
            "_id": "a", "location": ["coordinates": [-122.0308, 37.3318], "address": "123 Main St"],
            "features": ["trim": "Standard", "speakers": 5],
        ]
        try await store.execute("INSERT INTO cars DOCUMENTS (:car)", ["car": car])
        try await store.execute("UPDATE cars SET location = { 'address': '2147 Chestnut St' }")
        let merged = try await store.execute("SELECT location FROM cars")
        // {"location":{"address":"2147 Chestnut St","coordinates":[-122.0308,37.3318]}}
        try await store.execute(
            """
            UPDATE COLLECTION cars (location REGISTER)
            SET location = { 'coordinates': [-122.2247, 37.7833], 'address': '2147 Chestnut St' }
            """)
        let replaced = try await store.execute("SELECT location FROM COLLECTION cars (location REGISTER)")
        // {"location":{"address":"2147 Chestnut St","coordinates":[-122.2247,37.7833]}}
        let ditto = try await Ditto.inMemory()
        try await ditto.store.execute(
            query: "INSERT INTO COLLECTION cars (features MAP) DOCUMENTS (:car)", arguments: ["car": car])
        try await ditto.store.execute(
            query: "UPDATE cars SET location = { 'address': '2147 Chestnut St' }")
        try await ditto.store.execute(
            query: "UPDATE COLLECTION cars (features MAP) SET features.trim = 'Sport'")
        let result = try await ditto.store.execute(
            query: "SELECT * FROM COLLECTION cars (features MAP) WHERE features.trim = 'Sport'")
        // {"_id":"a","features":{"speakers":5,"trim":"Sport"},"location":{"address":"2147 Chestnut St"}}

        let page = try String(
            contentsOf: URL(filePath: #filePath).deletingLastPathComponent()
                .appending(path: "../../Sources/Sheaf/Sheaf.docc/DataTypes.md"), encoding: .utf8)
        let rows = try [merged, replaced].map { try $0.items[0].jsonString } + [result.items[0].jsonString()]
        for row in rows { #expect(page.contains("// \(row)")) }
        try await store.close()
        try await ditto.close()
    }
}
