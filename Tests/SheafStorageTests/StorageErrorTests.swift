import SheafStorage
import SheafTestSupport
import Testing

@Suite struct StorageErrorTests {
    @Test func `a full disk is reported with what helps, and stays the reason afterwards`() throws {
        let volume = SimulatedVolume()
        let engine = try StoreEngine(opening: volume)
        volume.quota = 0
        var errors: [String] = []
        for _ in 0..<2 {
            var batch = WriteBatch()
            try batch.put([1], [2])
            do throws(StorageError) {
                _ = try engine.append(batch)
                try engine.flush()
            } catch {
                errors.append(error.description)
            }
        }
        let first = try #require(errors.first)
        #expect(first.hasPrefix("the disk is full: cannot "))
        #expect(first.hasSuffix("; make room, then open the store again"))
        #expect(
            errors.last
                == "the store accepts no more writes until it is opened again, since: \(first)")
    }
}
