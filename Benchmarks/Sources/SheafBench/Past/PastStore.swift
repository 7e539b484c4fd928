import BenchHarness
import BenchStores
import SheafDocument
import SheafEngine
import SheafStatements
import SheafStorage

/// A store of cars whose last hundred commits have changed some of them.
final class PastStore {
    let documents: DocumentEngine
    let count: Int
    /// The time of the commit before the last one.
    private(set) var previousTime: UInt64 = 0
    private let store: StoreEngine

    /// The number of cars per commit while the store is filled.
    private static let batch: UInt64 = 1_000
    /// The number of commits that change cars before the last one.
    private static let smallCommits: UInt64 = 99

    init(_ stage: Stage) throws {
        let volume = try PosixVolume(
            path: "\(stage.memory.path)/past.sheaf", creatingDirectory: true)
        store = try StoreEngine(opening: volume)
        documents = try DocumentEngine(store)
        count = stage.scale.pick(1_000_000, quick: 100_000)
        let total = UInt64(count)
        for start in stride(from: 0, to: total, by: Int(Self.batch)) {
            try commit(
                (start..<min(start + Self.batch, total)).map { index in
                    guard case .object(let car) = try Value(json: Cars.text(index)) else {
                        throw StoreFailure(description: "a car is no object")
                    }
                    return DocumentChange("cars", .string(Cars.id(index)), .insert(car))
                })
        }
        // Together with the last commit, they change a thirtieth of the cars.
        for number in 0..<Self.smallCommits {
            try change(total / 30_000, seed: number)
        }
        previousTime = documents.snapshot().log.commitAt
        // The last commit must not be of the same millisecond.
        let start = now()
        while seconds(since: start) < 0.002 {}
        try change(total / 35, seed: Self.smallCommits)
    }

    /// Changes one field of some cars in a commit.
    private func change(_ changed: UInt64, seed: UInt64) throws {
        try commit(
            (0..<changed).map { number in
                let index = Entries.mix(number ^ seed << 32) % UInt64(count)
                return DocumentChange(
                    "cars", .string(Cars.id(index)),
                    .edit([.set(path: ["mileage"], to: .integer(Int64(number)))]))
            })
    }

    private func commit(_ changes: [DocumentChange]) throws {
        let store = store
        _ = try documents.commit(changes) { batch throws(StorageError) in try store.append(batch) }
        while try store.flush() {}
    }

    func close() { try? store.close() }
}

/// The store that all systems of a case read.
final class SharedPastStore {
    private var store: PastStore?
    private var users = 0

    func open(_ stage: Stage) throws -> PastStore {
        let opened = try store ?? PastStore(stage)
        store = opened
        users += 1
        return opened
    }

    /// Closes the store after its last user.
    func release() {
        users -= 1
        guard users == 0 else { return }
        store?.close()
        store = nil
    }
}
