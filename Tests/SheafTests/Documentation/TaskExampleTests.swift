import Sheaf
import SheafTestSupport
import Testing

/// The fifteen tasks of the documentation, each with typed calls and with statements alone.
@Suite struct TaskExampleTests {
    struct Car: Codable, Equatable, Sendable {
        var _id: String
        var color = "blue"
        var mileage = 0
        var owner = "ann"
        var notes: [String: String] = [:]
        var photo: AttachmentToken?
    }

    struct Account: Codable, Equatable, Sendable {
        var _id: String
        var balance: Int
    }

    struct Payment: Codable, Equatable, Sendable {
        var _id: String
        var account: String
        var sum: Int
    }

    struct NoSuchDocument: Error {}

    private let id = "a"
    private let color = "blue"
    private let car = Car(_id: "a", mileage: 3_000, notes: ["key": "1", "tires": "2"])
    private let manyCars = (0..<10_000).map { Car(_id: "\($0)", mileage: $0) }

    // MARK: Writing

    @Test func `typed calls write`() async throws {
        let store = try await Store.inMemory()
        let cars = store.collection("cars", of: Car.self)
        try await cars.insert(car)
        try await cars.insert(manyCars)
        try await cars.update(id) { $0.mileage += 10 }
        try await cars.update(id) { $0.notes["tires"] = nil }
        try await cars.upsert(car)
        try await cars.delete(where: "mileage > \(5_000)")
        try await checkWriting(cars)
    }

    @Test func `statements write`() async throws {
        let store = try await Store.inMemory()
        try await store.execute("INSERT INTO cars DOCUMENTS (\(car))")
        try await store.transaction { transaction in
            for car in manyCars {
                try await transaction.execute("INSERT INTO cars DOCUMENTS (\(car))")
            }
        }
        let changed = try await store.execute(
            "UPDATE cars SET mileage = mileage + 10 WHERE _id = \(id)")
        guard !changed.mutatedDocumentIDs.isEmpty else { throw NoSuchDocument() }
        let reduced = try await store.execute("UPDATE cars UNSET notes.tires WHERE _id = \(id)")
        guard !reduced.mutatedDocumentIDs.isEmpty else { throw NoSuchDocument() }
        try await store.execute(
            "INSERT INTO cars DOCUMENTS (\(car)) ON ID CONFLICT DO UPDATE_LOCAL_DIFF")
        try await store.execute("DELETE FROM cars WHERE mileage > \(5_000)")
        try await checkWriting(store.collection("cars", of: Car.self))
    }

    private func checkWriting(_ cars: DocumentCollection<Car>) async throws {
        #expect(try await cars.get("a") == car)
        #expect(try await cars.count() == 5_002)
    }

    // MARK: Reading

    @Test func `typed calls read`() async throws {
        let store = try await Store.inMemory()
        let cars = store.collection("cars", of: Car.self)
        try await cars.insert(manyCars + [car])
        let found = try await cars.get(id)
        let page = try await cars.fetchAll(where: "TRUE ORDER BY mileage LIMIT 20 OFFSET 40")
        let count = try await cars.count(where: "color = \(color)")
        let isKnown = try await cars.exists(id)
        checkReading(found, page, count, isKnown)
    }

    @Test func `statements read`() async throws {
        let store = try await Store.inMemory()
        try await store.collection("cars", of: Car.self).insert(manyCars + [car])
        let result = try await store.execute("SELECT * FROM cars WHERE _id = \(id)")
        let found = try result.items.first?.decode(Car.self)
        let rows = try await store.execute("SELECT * FROM cars ORDER BY mileage LIMIT 20 OFFSET 40")
        let page = try rows.items.map { try $0.decode(Car.self) }
        let counted = try await store.execute(
            "SELECT COUNT(*) AS count FROM cars WHERE color = \(color)")
        guard let count = try counted.items[0]["count"]?.int else { throw NoSuchDocument() }
        let ids = try await store.execute("SELECT _id FROM cars WHERE _id = \(id)")
        let isKnown = !ids.items.isEmpty
        checkReading(found, page, count, isKnown)
    }

    private func checkReading(_ found: Car?, _ page: [Car], _ count: Int, _ isKnown: Bool) {
        #expect(found == car && count == 10_001 && isKnown)
        #expect(page == Array(manyCars[40..<60]))
    }

    // MARK: Observing

    @Test func `typed calls observe a list`() async throws {
        let store = try await Store.inMemory()
        let cars = store.collection("cars", of: Car.self)
        let task = Task {
            for try await cars in cars.observe(where: "color = \(color)") {
                if show(cars.documents) { break }
            }
        }
        try await cars.insert(car)
        try await task.value
    }

    @Test func `statements observe a list`() async throws {
        let store = try await Store.inMemory()
        let task = Task {
            var cars: [Car] = []
            for try await result in try store.observe("SELECT * FROM cars WHERE color = \(color)") {
                if let changes = result.changes {
                    try cars.apply(changes) { try result.items[$0].decode(Car.self) }
                } else {
                    cars = try result.items.map { try $0.decode(Car.self) }
                }
                if show(cars) { break }
            }
        }
        try await store.execute("INSERT INTO cars DOCUMENTS (\(car))")
        try await task.value
    }

    /// Returns whether the list is complete.
    private func show(_ cars: [Car]) -> Bool { cars == [car] }

    // MARK: Transactions and attachments

    private let payment = Payment(_id: "p", account: "ann", sum: 5)

    @Test func `typed calls change two collections in one transaction`() async throws {
        let store = try await Store.inMemory()
        let accounts = store.collection("accounts", of: Account.self)
        let payments = store.collection("payments", of: Payment.self)
        try await accounts.insert(Account(_id: "ann", balance: 100))
        try await store.transaction { transaction in
            try await accounts.within(transaction).update(payment.account) {
                $0.balance -= payment.sum
            }
            try await payments.within(transaction).insert(payment)
        }
        try await checkPayment(store)
    }

    @Test func `statements change two collections in one transaction`() async throws {
        let store = try await Store.inMemory()
        try await store.collection("accounts", of: Account.self)
            .insert(Account(_id: "ann", balance: 100))
        try await store.transaction { transaction in
            let result = try await transaction.execute(
                "SELECT * FROM accounts WHERE _id = \(payment.account)")
            guard var account = try result.items.first?.decode(Account.self) else {
                throw NoSuchDocument()
            }
            account.balance -= payment.sum
            try await transaction.execute(
                "UPDATE accounts SET balance = \(account.balance) WHERE _id = \(account._id)")
            try await transaction.execute("INSERT INTO payments DOCUMENTS (\(payment))")
        }
        try await checkPayment(store)
    }

    private func checkPayment(_ store: Store) async throws {
        let balance: Int = try await store.fetchValue("SELECT balance FROM accounts")
        let one: Payment? = try await store.fetchOne("SELECT * FROM payments")
        #expect(balance == 95 && one == payment)
    }

    @Test func `typed calls attach a file`() async throws {
        let store = try await Store.inMemory()
        let cars = store.collection("cars", of: Car.self)
        try await cars.insert(car)
        let photo = try await store.newAttachment(data: [1, 2, 3])
        try await cars.update(id) { $0.photo = photo.token }
        guard let token = try await cars.get(id)?.photo else { throw NoSuchDocument() }
        let bytes = try await store.attachment(token)?.data()
        #expect(bytes == [1, 2, 3])
    }

    @Test func `statements attach a file`() async throws {
        let store = try await Store.inMemory()
        try await store.collection("cars", of: Car.self).insert(car)
        let photo = try await store.newAttachment(data: [1, 2, 3])
        let changed = try await store.execute(
            """
            UPDATE COLLECTION cars (photo ATTACHMENT) SET photo = \(photo.token)
            WHERE _id = \(id)
            """)
        guard !changed.mutatedDocumentIDs.isEmpty else { throw NoSuchDocument() }
        let result = try await store.execute("SELECT photo FROM cars WHERE _id = \(id)")
        guard let value = try result.items.first?["photo"] else { throw NoSuchDocument() }
        let bytes = try await store.attachment(AttachmentToken(value))?.data()
        #expect(bytes == [1, 2, 3])
    }

    // MARK: Peers

    /// Returns two connected peers; the rights of the first one are limited.
    private func peers() async throws -> (Peer, Peer) {
        let network = MemoryNetwork()
        let (key, server) = (PeerKey.random(), PeerKey.random())
        let rights = PeerRights(read: ["cars": "true"], write: ["cars": "owner = 'ann'"])
        let peer = try await Peer.inMemory(
            configuration: PeerConfiguration(
                databaseID: "cars", key: key,
                transports: [network.transport(for: key, rights: rights)]))
        let other = try await Peer.inMemory(
            configuration: PeerConfiguration(
                databaseID: "cars", key: server, transports: [network.transport(for: server)]))
        for peer in [peer, other] {
            try peer.sync.registerSubscription("SELECT * FROM cars")
            try peer.sync.start()
        }
        let cars = peer.store.collection("cars", of: Car.self)
        try await peer.sync.wait(for: cars.insert(Car(_id: "first")), on: other.key)
        return (peer, other)
    }

    @Test func `typed calls write on one peer and read on another one`() async throws {
        let (peer, other) = try await peers()
        let cars = peer.store.collection("cars", of: Car.self)
        let written = try await cars.insert(manyCars)
        try await peer.sync.wait(for: written, on: other.key)
        let received = try await other.store.collection("cars", of: Car.self).fetchAll()
        #expect(received.count == manyCars.count + 1)
        try await peer.close()
        try await other.close()
    }

    @Test func `statements write on one peer and read on another one`() async throws {
        let (peer, other) = try await peers()
        try await peer.store.transaction { transaction in
            for car in manyCars {
                try await transaction.execute("INSERT INTO cars DOCUMENTS (\(car))")
            }
        }
        let newest = try await peer.store.execute("SELECT _id FROM cars LIMIT 1")
        guard let commit = newest.commitID else { throw NoSuchDocument() }
        try await peer.sync.wait(for: commit, on: other.key)
        let result = try await other.store.execute("SELECT * FROM cars")
        let received = try result.items.map { try $0.decode(Car.self) }
        #expect(received.count == manyCars.count + 1)
        try await peer.close()
        try await other.close()
    }

    @Test func `typed calls show a refused write and take it back`() async throws {
        let (peer, other) = try await peers()
        let cars = peer.store.collection("cars", of: Car.self)
        let foreign = Car(_id: "b", owner: "bob")
        do {
            try await peer.sync.wait(for: cars.insert(foreign), on: other.key)
        } catch let refused as RefusedWrite {
            print(refused)
            try await peer.sync.revert(refused)
        }
        let remaining = try await cars.fetchAll()
        #expect(remaining.map(\._id) == ["first"])
        try await peer.close()
        try await other.close()
    }

    @Test func `statements show a refused write and take it back`() async throws {
        let (peer, other) = try await peers()
        let foreign = Car(_id: "b", owner: "bob")
        do {
            let result = try await peer.store.execute("INSERT INTO cars DOCUMENTS (\(foreign))")
            guard let commit = result.commitID else { throw NoSuchDocument() }
            try await peer.sync.wait(for: commit, on: other.key)
        } catch let refused as RefusedWrite {
            print(refused)
            try await peer.sync.revert(refused)
        }
        let rows = try await peer.store.execute("SELECT * FROM cars")
        let remaining = try rows.items.map { try $0.decode(Car.self) }
        #expect(remaining.map(\._id) == ["first"])
        try await peer.close()
        try await other.close()
    }
}
