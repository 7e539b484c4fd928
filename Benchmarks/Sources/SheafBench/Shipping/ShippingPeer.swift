import BenchHarness
import BenchStores
import Foundation
import Sheaf
import SheafDocument
import SheafNetwork
import Synchronization

/// A peer process that executes commands from standard input and writes one response line each.
final class ShippingPeer: Sendable {
    /// The argument that runs the program as such a peer.
    static let argument = "--shipping-peer"
    static let database: DatabaseID = "the database of the benchmark"

    private let peer: Sheaf.Peer
    private let transport: TCPTransport
    private let lines = Mutex<[String]>([])
    /// The observers, which end when they are released.
    private let observers = Mutex<[StoreObserver]>([])

    /// Opens a store in a directory and a transport that listens.
    private init(_ directory: String, busyPollMicroseconds: Int) async throws {
        let pair = try PeerKeyPair.generate()
        let network = NetworkConfiguration(
            databaseID: Self.database, keyPair: pair,
            identity: .sharedKey(try SharedKey([UInt8](repeating: 7, count: 32))))
        transport = try TCPTransport(network)
        var configuration = PeerConfiguration(
            databaseID: Self.database, key: pair.publicKey, transports: [transport])
        configuration.busyPollMicroseconds = busyPollMicroseconds
        peer = try await Sheaf.Peer.open(at: directory, configuration: configuration)
    }

    /// Executes commands until the end of the input.
    static func run(_ directory: String, busyPollMicroseconds: Int) async throws {
        let this = try await ShippingPeer(
            directory, busyPollMicroseconds: busyPollMicroseconds)
        let address = Mutex("")
        this.peer.presence.onTransportEvent { event in
            if case .listening(let found) = event { address.withLock { $0 = found } }
        }
        try this.peer.sync.start()
        while address.withLock({ $0.isEmpty }) { usleep(1_000) }
        answer(address.withLock { $0 } + " " + this.peer.key.description)
        while let line = readLine() {
            let words = line.split(separator: " ").map(String.init)
            do {
                answer(try await this.perform(words[0], Array(words.dropFirst())))
            } catch {
                answer("! \(error)".replacingOccurrences(of: "\n", with: " "))
            }
        }
        try await this.peer.close()
    }

    private static func answer(_ text: String) {
        FileHandle.standardOutput.write(Data((text + "\n").utf8))
    }

    private func perform(_ command: String, _ words: [String]) async throws -> String {
        func number(_ index: Int) -> Int { Int(words[index]) ?? 0 }
        switch command {
        case "load":
            try await load(number(0)..<number(1))
            return "ok"
        case "update":
            try await update(number(0)..<number(1), to: number(2))
            return "ok"
        case "subscribe":
            try peer.sync.registerSubscription("SELECT * FROM cars")
            return "ok"
        case "connect":
            try transport.add(words[0])
            return "ok"
        case "disconnect":
            try transport.remove(words[0])
            return "ok"
        case "fetch": return "\(try await fetch(from: words[0]))"
        case "insert-and-wait":
            guard let key = PeerKey(words[0]) else { throw StoreFailure.missingKey }
            let result = try await peer.store.execute(
                "INSERT INTO cars DOCUMENTS ({'_id': :id, 'n': 0}) ON ID CONFLICT DO UPDATE",
                QueryArguments(["id": .string("last-\(words[1])")]))
            guard let commit = result.commitID else { throw StoreFailure.missingKey }
            try await peer.sync.wait(for: commit, on: key)
            return "ok"
        case "observe":
            try observe()
            return "ok"
        case "write":
            let start = now()
            try await peer.store.execute(
                "INSERT INTO cars DOCUMENTS ({'_id': 'watched', 'n': :n}) ON ID CONFLICT DO UPDATE",
                ["n": number(0)])
            return "\(start)"
        case "observed":
            return lines.withLock { lines in
                defer { lines = [] }
                return "observed " + lines.joined(separator: " ")
            }
        case "traffic":
            let all = transport.connections.map(\.traffic)
            return "\(all.reduce(0) { $0 + $1.sentBytes }) "
                + "\(all.reduce(0) { $0 + $1.receivedBytes })"
        case "statistics":
            let known = try peer.sync.statistics
            return "\(known.documentsReceived) \(known.documentsApplied)"
        case "links":
            return "\(peer.presence.connectedPeers.count)"
        case "checksum": return "\(try peer.sync.checksum(of: "SELECT * FROM cars"))"
        default: return "! unknown command \(command)"
        }
    }

    /// Inserts cars in commits of 1,000.
    private func load(_ numbers: Range<Int>) async throws {
        for first in stride(from: numbers.lowerBound, to: numbers.upperBound, by: 1_000) {
            let cars = try PreparedCars(first..<min(first + 1_000, numbers.upperBound))
            try await peer.store.transaction { transaction in
                for car in cars.values {
                    try await transaction.execute(
                        SheafCarQueries.insert, QueryArguments(["car": car]))
                }
            }
        }
    }

    /// Changes one field of each car, all in one transaction.
    private func update(_ numbers: Range<Int>, to mileage: Int) async throws {
        try await peer.store.transaction { transaction in
            for number in numbers {
                let value = Value.integer(Int64((mileage &+ number) % 200_000))
                try await transaction.execute(
                    SheafCarQueries.update,
                    QueryArguments([
                        "id": .string(Cars.id(UInt64(number))), "mileage": value,
                    ]))
            }
        }
    }

    /// Records the number in a document and the time, at each change.
    private func observe() throws {
        let observer = try peer.store.observe("SELECT n FROM cars WHERE _id = 'watched'") {
            [self] result in
            guard let row = result.items.first, case .integer(let n)? = try? row["n"] else {
                return
            }
            lines.withLock { $0.append("\(n):\(now())") }
        }
        observers.withLock { $0.append(observer) }
    }

    /// Connects to a peer with many documents; returns the nanoseconds until the last is observed.
    private func fetch(from address: String) async throws -> UInt64 {
        try peer.sync.registerSubscription("SELECT * FROM cars")
        let (stream, end) = AsyncStream.makeStream(of: UInt64.self)
        let last = Cars.id(0)
        let observer = try peer.store.observe(
            "SELECT _id FROM cars WHERE _id = :id", QueryArguments(["id": .string(last)])
        ) {
            if !$0.items.isEmpty { end.yield(now()) }
        }
        defer { observer.cancel() }
        let start = now()
        try transport.add(address)
        for await time in stream { return time - start }
        return 0
    }
}
