import Sheaf
import SheafStatements
import SheafStorage
import SheafStore
import SheafTestSupport

/// The stores of the scenes, and the documents in them.
struct FirstSyncStores {
    /// The collection of the first sync, and a small one beside it.
    static let collections = ["cars", "notes"]
    private static let documentsPerStatement = 1_000
    private static let words = [
        "amber", "brake", "cabin", "clutch", "diesel", "engine", "filter", "gasket", "hybrid",
        "idle", "jack", "key", "lever", "mirror", "needle", "oil", "piston", "quiet", "radio",
        "spare", "torque", "urban", "valve", "wheel",
    ]

    let directory: String
    /// The beginning of the names of stores.
    var prefix = ""
    var server: String { "\(directory)/\(prefix)server" }

    func receiver(_ name: String) -> String { "\(directory)/\(prefix)receiver-\(name)" }

    /// Opens a store as a peer without transports, so that its versions are in the tree.
    private func open(_ path: String) async throws -> Peer {
        try await Peer.open(
            at: path,
            configuration: PeerConfiguration(
                databaseID: NetworkCommand.databaseID, key: .random(), transports: []))
    }

    /// Fills the store of the server with documents of about 200 bytes.
    func fill(_ count: Int) async throws {
        let peer = try await open(server)
        for first in stride(from: 0, to: count, by: Self.documentsPerStatement) {
            let numbers = first..<min(first + Self.documentsPerStatement, count)
            let parameters = numbers.map { ":d\($0 - first)" }.map { "(\($0))" }
            let cars = numbers.map { ("d\($0 - first)", Self.car($0)) }
            try await peer.store.execute(
                DQL(verbatim: "INSERT INTO cars DOCUMENTS \(parameters.joined(separator: ", "))"),
                QueryArguments(Dictionary(uniqueKeysWithValues: cars)))
        }
        try await peer.store.execute("INSERT INTO notes DOCUMENTS ({'_id': 'first'})")
        try await peer.close()
    }

    /// Changes random documents of the server.
    func change(_ changes: Int, of count: Int, _ random: inout SeededRandom) async throws {
        var numbers = Set<Int>()
        while numbers.count < min(changes, count) { numbers.insert(random.below(count)) }
        let peer = try await open(server)
        for number in numbers.sorted() {
            try await peer.store.execute(
                "UPDATE cars SET km = \(number + 1_000_000) WHERE _id = \(Self.id(number))")
        }
        try await peer.close()
    }

    private static func id(_ number: Int) -> String {
        let digits = String(number)
        return "car " + String(repeating: "0", count: max(9 - digits.count, 0)) + digits
    }

    private static func car(_ number: Int) -> Value {
        var random = SeededRandom(seed: UInt64(number), "car")
        let text = (0..<18).map { _ in words[random.below(words.count)] }
        return [
            "_id": .string(id(number)), "make": .string("make \(number % 97)"),
            "model": .string("model \(number % 1_013)"),
            "year": .integer(Int64(1_990 + number % 35)),
            "km": .integer(Int64(random.below(300_000))),
            "text": .string(text.joined(separator: " ")),
        ]
    }

    static func integer(_ value: Value?) -> Int? {
        guard case .integer(let number)? = value else { return nil }
        return Int(number)
    }
}
