import Sheaf
import SheafDocument
import SheafEngine
import SheafQuery
import SheafStatements
import SheafStorage
import SheafTestSupport

/// A file of `Plans`: a statement, the contents of the store, and the expected plan.
///
///     -- The purpose of the case.
///     documents 20
///     index CREATE INDEX by_color ON cars (color)
///     change DELETE FROM cars WHERE _id = 'c02'
///     pending DELETE FROM cars WHERE _id = 'c03'
///     statement SELECT * FROM cars
///
///     projection *
///       scan cars (rows 20)
struct PlanCase {
    private(set) var documents = 20
    /// Statements that create indexes or change documents.
    private(set) var changes: [String] = []
    /// Statements that are run but not flushed before the plan is made.
    private(set) var pending: [String] = []
    private(set) var statement = ""
    private(set) var plan = ""

    /// The names of all files.
    static let names: [String] = {
        let found = try? PosixVolume(path: directory(), creatingDirectory: false).names()
        return (found ?? []).filter { $0.hasSuffix(".txt") }.sorted()
    }()

    private static func directory(_ path: String = #filePath) -> String {
        let parts = path.split(separator: "/", omittingEmptySubsequences: false).dropLast()
        return parts.joined(separator: "/") + "/Plans"
    }

    init(_ name: String) throws {
        let volume = try PosixVolume(path: Self.directory(), creatingDirectory: false)
        let text = String(decoding: try volume.bytes(of: name), as: UTF8.self)
        var lines = text.split(separator: "\n", omittingEmptySubsequences: false)[...]
        while let line = lines.popFirst(), !line.isEmpty {
            guard let space = line.firstIndex(of: " ") else { continue }
            let rest = String(line[line.index(after: space)...])
            switch line[..<space] {
            case "documents": documents = Int(rest) ?? 0
            case "index", "change": changes.append(rest)
            case "pending": pending.append(rest)
            case "statement": statement = rest
            default: break
            }
        }
        plan = lines.joined(separator: "\n")
        while plan.last == "\n" { plan.removeLast() }
    }
}

/// A store of cars and their owners, and statements on them.
final class CarFixtureStore {
    private let store: StoreEngine
    let queries: QueryEngine
    private static let colors: [Value] = ["blue", "green", "red", "white"]

    init() throws {
        var options = LogStoreOptions()
        options.clock = FakeClock().clock
        store = try StoreEngine(opening: SimulatedVolume(seed: 1), options: options)
        queries = QueryEngine(try DocumentEngine(store))
    }

    /// Inserts `count` cars, named `c00` and so on, and ten owners.
    func fill(_ count: Int) throws {
        let width = max("\(max(count - 1, 0))".utf8.count, 2)
        for start in stride(from: 0, to: count, by: 1_000) {
            let cars = (start..<min(start + 1_000, count)).map { number in
                let digits = "\(number)"
                let id = "c" + String(repeating: "0", count: width - digits.utf8.count) + digits
                let car: Object = [
                    "_id": .string(id), "color": Self.colors[number % 4],
                    "mileage": .integer(Int64(number * 500)),
                    "year": .integer(
                        Int64(2_000 + number % 10)),
                    "owner": .integer(Int64(number % 10)),
                    "engine": ["fuel": number % 2 == 0 ? "gas" : "diesel"],
                ]
                return Value.object(car)
            }
            let list = cars.indices.map { "(:d\($0))" }.joined(separator: ", ")
            try execute(
                "INSERT INTO cars DOCUMENTS \(list)",
                Dictionary(uniqueKeysWithValues: cars.enumerated().map { ("d\($0)", $1) }))
        }
        let owners = (0..<10).map { "({'_id': \($0), 'name': 'Owner \($0)', 'city': 'A'})" }
        try execute("INSERT INTO owners DOCUMENTS \(owners.joined(separator: ", "))")
        try flush()
    }

    func flush() throws {
        while try store.flush() {}
    }

    @discardableResult
    func execute(
        _ text: String, _ arguments: [String: Value] = [:]
    ) throws -> ResultStorage {
        let store = store
        let (statement, values) = try queries.prepare(
            DQL(verbatim: text), QueryArguments(arguments))
        return try queries.execute(
            statement, values,
            CommitSink(
                append: { batch throws(StorageError) in try store.append(batch) },
                flush: { () throws(StorageError) in while try store.flush() {} }))
    }

    func rows(_ text: String, _ arguments: [String: Value] = [:]) throws -> [Value] {
        let outcome = try execute(text, arguments)
        return try outcome.items.map { .object(try $0.object(outcome.names)) }
    }

    /// Returns the plan of a statement after changes that are not durable.
    func planText(of text: String, behind pending: [String]) throws -> String {
        for statement in pending { try execute(statement) }
        guard !pending.isEmpty else { return try queries.planText(try Parser.parse(text)) }
        // A writer's reader sees changes that are not durable.
        var transaction = queries.documents.begin()
        defer { queries.documents.rollBack(&transaction) }
        let reader = queries.reader(of: transaction)
        let options = QueryOptions(now: 0, clock: { 0 }, newID: { "new" })
        return try QueryRun(try Parser.parse(text), on: reader, options).planText()
    }
}
