import BenchHarness
import Sheaf

/// A scan of all documents of a store for references to attachments; there are none.
final class ReferenceScanTrial: Trial {
    private let cars: SheafCars
    private let count: Int

    init(_ stage: Stage) async throws {
        count = stage.scale.pick(1_000_000, quick: 100_000)
        cars = try await SheafCars(stage.memory.path, isDurable: false, hasIndex: false)
        let session = cars.session()
        for start in stride(from: 0, to: count, by: CarPeer.count) {
            let some = try PreparedCars(start..<min(start + CarPeer.count, count))
            try await session.insert(some, 0..<some.count)
        }
        session.close()
    }

    func run(round: Int) async throws -> Sample {
        let wanted = Set([AttachmentID(bytes: [UInt8](repeating: 1, count: 32))].compactMap { $0 })
        let start = now()
        sink(UInt64(try cars.store.queries.snapshot().referencedAttachments(among: wanted).count))
        return Sample(Double(count) / seconds(since: start) / 1e6)
    }

    func finish() async throws {
        try await cars.close()
    }
}
