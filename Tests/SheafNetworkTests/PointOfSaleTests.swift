// The code keeps the formatting of the documentation.
// swift-format-ignore-file

import Foundation
import Sheaf
import SheafNetwork
import SheafSystem
import SheafTestSupport
import Testing

/// The code of the tutorial PointOfSale.
struct PointOfSaleTests {
    struct Order: Codable, Sendable {
        var _id: String
        var table: Int
        var items: [String]
        var status = "open"
    }

    struct Payment: Codable, Sendable {
        var _id: String
        var order: String
        var cents: Int
    }

    private let temporary = TemporaryDirectory()
    private let printed = Monitor<[String]>([])

    private func print(_ item: Any) { printed.withLock { $0.append("\(item)") } }

    @Test(.timeLimit(.minutes(40))) func `the code of the tutorial about a point of sale runs`() async throws {
        let directory = temporary.path("shop")
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        let database: DatabaseID = "point-of-sale"
        let authority = try PeerKeyPair.loadOrGenerate(at: "\(directory)/authority.key")
        let now = UInt64(Date().timeIntervalSince1970 * 1_000)
        let year = now - 3_600_000..<now + 365 * 86_400_000

        func grant(
            _ key: PeerKey, _ rights: PeerRights?, valid: Range<UInt64> = year
        ) throws -> PeerGrant {
            try PeerGrant(
                authority: authority, databaseID: database, peerKey: key,
                validMilliseconds: valid, rights: rights)
        }

        func open(
            _ name: String, rights: PeerRights? = nil, valid: Range<UInt64> = year,
            peers: [String] = []
        ) async throws -> Peer {
            let keyPair = try PeerKeyPair.loadOrGenerate(at: "\(directory)/\(name).key")
            let identity = NetworkIdentity.authority(
                publicKey: authority.publicKey,
                grant: try grant(keyPair.publicKey, rights, valid: valid))
            let transport = try TCPTransport(
                NetworkConfiguration(
                    databaseID: database, keyPair: keyPair, identity: identity, peers: peers))
            return try await Peer.open(
                at: "\(directory)/\(name)",
                configuration: PeerConfiguration(
                    databaseID: database, key: keyPair.publicKey, deviceName: name,
                    transports: [transport]))
        }

        let register = try await open("register")
        let (events, continuation) = AsyncStream.makeStream(of: PeerTransportEvent.self)
        register.presence.onTransportEvent { continuation.yield($0) }
        try register.sync.registerSubscription("SELECT * FROM orders")
        try register.sync.registerSubscription("SELECT * FROM payments")
        try register.sync.start()
        var address = ""
        for await event in events {
            if case .listening(let found) = event {
                address = found
                break
            }
        }
        #expect(address.hasPrefix("127.0.0.1:"))

        let kitchenRights = PeerRights(
            read: ["orders": "true"], write: ["orders": "status IN ['open', 'ready']"])
        let kitchen = try await open("kitchen", rights: kitchenRights, peers: [address])
        try kitchen.sync.registerSubscription("SELECT * FROM orders")
        try kitchen.sync.registerSubscription("SELECT * FROM payments")
        try kitchen.sync.start()

        let officeRights = PeerRights(
            read: ["orders": "true", "payments": "true"], write: [:])
        let office = try await open("office", rights: officeRights, peers: [address])
        try office.sync.registerSubscription("SELECT * FROM orders")
        try office.sync.registerSubscription("SELECT * FROM payments")
        try office.sync.start()

        let orders = register.store.collection("orders", of: Order.self)
        let payments = register.store.collection("payments", of: Payment.self)
        try await payments.insert(Payment(_id: "p1", order: "o1", cents: 1_250))
        let written = try await orders.insert(Order(_id: "o1", table: 4, items: ["soup", "bread"]))
        try await register.sync.wait(for: written, on: kitchen.key)
        try await register.sync.wait(for: written, on: office.key)

        let tickets = kitchen.store.collection("orders", of: Order.self)
        let shown = try await tickets.count()
        let hidden = try await kitchen.store.collection("payments", of: Payment.self).count()
        print("the kitchen has \(shown) order and \(hidden) payments")
        let cents: Int = try await office.store.fetchValue("SELECT SUM(cents) FROM payments")
        print("the office has payments of \(cents) cents")

        try await tickets.update("o1") { $0.status = "ready" }
        for try await ready in orders.observe(where: "status = 'ready'") where !ready.isEmpty {
            print("table \(ready[0].table) is ready")
            break
        }

        let refund = Payment(_id: "p2", order: "o1", cents: -1_250)
        let attempt = try await kitchen.store.collection("payments", of: Payment.self).insert(refund)
        do {
            try await kitchen.sync.wait(for: attempt, on: register.key)
        } catch let refused as RefusedWrite {
            print(refused.reason)
            let listed = try await kitchen.store.execute(
                "SELECT collection, document_id, reason FROM system:refused_writes")
            print(try listed.items[0].jsonString)
            try await kitchen.sync.revert(refused)
        }
        #expect(try await payments.get("p2") == nil)

        try await orders.update("o1") { $0.status = "closed" }
        for try await closed in tickets.observe(where: "status = 'closed'") where !closed.isEmpty {
            break
        }
        let reopened = try await kitchen.store.execute(
            "UPDATE orders SET status = 'open' WHERE _id = 'o1'")
        do {
            if let commit = reopened.commitID {
                try await kitchen.sync.wait(for: commit, on: register.key)
            }
        } catch let refused as RefusedWrite {
            print(refused.reason)
            try await kitchen.sync.revert(refused)
        }
        for try await closed in tickets.observe(where: "status = 'closed'") where !closed.isEmpty {
            break
        }

        let former = try await open(
            "former", rights: kitchenRights, valid: 0..<now, peers: [address])
        let (attempts, attempted) = AsyncStream.makeStream(of: String.self)
        former.presence.onTransportEvent { event in
            if case .unreachable(_, let reason, _) = event { attempted.yield(reason) }
        }
        try former.sync.start()
        for await reason in attempts {
            print(reason.prefix { $0 != ":" })
            break
        }

        for peer in [former, kitchen, office, register] { try await peer.close() }
        #expect(
            printed.withLock { $0 } == [
                "the kitchen has 1 order and 0 payments",
                "the office has payments of 1250 cents",
                "table 4 is ready",
                "the grant of this peer does not permit the write",
                #"{"collection":"payments","document_id":"p2","reason":"ownGrant"}"#,
                "the rules of the peer do not allow changes of its state of the document",
                "grant-expired",
            ])
    }
}
