import BenchHarness

/// Gets of cars by ID, one statement each.
final class CarGetTrial: Trial {
    private let store: any CarBenchmarkStore
    private let session: any CarSession
    private let cars: PreparedCars
    private let gets: Int

    init(_ peer: CarPeer, _ stage: Stage) async throws {
        cars = try PreparedCars(0..<PreparedCars.count)
        gets = stage.scale.pick(400_000, quick: 100_000)
        store = try await peer.filled(stage.disk.path, cars)
        session = try store.session()
        sink(try await session.get(cars, Array(cars.ids.indices)[...]))
    }

    func run(round: Int) async throws -> Sample {
        let indices = cars.draws(gets, round: round)
        let start = now()
        let sum = try await session.get(cars, indices[...])
        let elapsed = seconds(since: start)
        sink(sum)
        return Sample(Double(gets) / elapsed)
    }

    func finish() async throws {
        session.close()
        try await store.close()
    }
}

/// A load of an empty database in durable transactions of 1,000 cars.
final class CarLoadTrial: Trial {
    private let peer: CarPeer
    private let folder: Folder
    private let cars: PreparedCars

    init(_ peer: CarPeer, _ stage: Stage, count: Int) throws {
        self.peer = peer
        folder = stage.disk
        cars = try PreparedCars(0..<count, asValues: !peer.blocks, asTexts: peer.blocks)
    }

    func run(round: Int) async throws -> Sample {
        let folder = try folder.child("round-\(round)")
        defer { folder.remove() }
        let store = try await peer.open(folder.path, true, false)
        let session = try store.session()
        let start = now()
        // The warm-up needs no large store.
        let count = round == 0 ? cars.count / 10 : cars.count
        for first in stride(from: 0, to: count, by: CarPeer.count) {
            try await session.insert(cars, first..<first + CarPeer.count)
        }
        let elapsed = seconds(since: start)
        session.close()
        try await store.close()
        return Sample(Double(count) / elapsed)
    }

    func finish() {}
}

/// Updates of an indexed field, or deletions, in durable transactions of 1,000 cars.
final class CarChangeTrial: Trial {
    enum Change {
        case update, delete
    }

    private let store: any CarBenchmarkStore
    private let session: any CarSession
    private let cars: PreparedCars
    private let change: Change
    private let perRound: Int

    init(_ peer: CarPeer, _ stage: Stage, _ change: Change) async throws {
        self.change = change
        cars = try PreparedCars(0..<PreparedCars.count)
        // Each round deletes different cars.
        perRound =
            change == .delete
            ? cars.count / (stage.scale.rounds + 1) / CarPeer.count * CarPeer.count
            : stage.scale.pick(50_000, quick: 10_000)
        store = try await peer.filled(stage.disk.path, cars, hasIndex: change == .update)
        session = try store.session()
    }

    func run(round: Int) async throws -> Sample {
        let indices = cars.draws(perRound, round: round)
        let start = now()
        for first in stride(from: 0, to: perRound, by: CarPeer.count) {
            switch change {
            case .update:
                try await session.update(
                    cars, indices[first..<first + CarPeer.count], mileage: round * 7_919)
            case .delete:
                let first = round * perRound + first
                try await session.delete(cars, first..<first + CarPeer.count)
            }
        }
        return Sample(Double(perRound) / seconds(since: start))
    }

    func finish() async throws {
        session.close()
        try await store.close()
    }
}
