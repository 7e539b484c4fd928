import BenchHarness
import BenchStores
import Sheaf

/// The cost of the public asynchronous read call beyond the synchronous call inside it.
final class CarOverheadTrial: Trial {
    enum Part {
        case difference, call, core
    }

    private let store: SheafCars
    private let cars: PreparedCars
    private let part: Part
    private let gets: Int
    private static let turn = 1_000

    init(_ stage: Stage, _ part: Part) async throws {
        self.part = part
        cars = try PreparedCars(0..<20_000)
        gets = stage.scale.pick(400_000, quick: 100_000)
        let store = try await SheafCars.peer.filled(stage.disk.path, cars)
        guard let store = store as? SheafCars else {
            throw StoreFailure(description: "the trial requires SheafCars")
        }
        self.store = store
    }

    /// Returns nanoseconds per get; both calls alternate, so that disturbances affect both.
    func run(round: Int) async throws -> Sample {
        let indices = cars.draws(gets, round: round)
        let session = store.session()
        var (call, core) = (0.0, 0.0)
        for first in stride(from: 0, to: gets, by: Self.turn) {
            let indices = indices[first..<first + Self.turn]
            call += try await timeCalls(session, indices)
            let start = now()
            sink(try get(indices))
            core += seconds(since: start)
        }
        return sample(call, core)
    }

    private func sample(_ call: Double, _ core: Double) -> Sample {
        let total =
            switch part {
            case .difference: call - core
            case .call: call
            case .core: core
            }
        return Sample(total / Double(gets) * 1e9)
    }

    // Inlining this function or the next crashes the compiler.
    @inline(never)
    private func timeCalls(
        _ session: any CarSession, _ indices: ArraySlice<Int>
    ) async throws -> Double {
        let start = now()
        sink(try await session.get(cars, indices))
        return seconds(since: start)
    }

    @inline(never)
    private func get(_ indices: ArraySlice<Int>) throws -> UInt64 {
        var sum: UInt64 = 0
        for index in indices {
            let (statement, values) = try store.store.queries.prepare(
                SheafCarQueries.get, SheafCarQueries.id(cars, index))
            let found = try store.store.queries.execute(statement, values)
            sum &+= try SheafCarQueries.read(QueryResult(found))
        }
        return sum
    }

    func finish() async throws {
        try await store.close()
    }
}
