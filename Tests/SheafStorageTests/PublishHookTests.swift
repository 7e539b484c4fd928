import SheafStorage
import Synchronization
import Testing

struct PublishHookTests {
    /// Stack addresses, one per call.
    private final class Depths: Sendable {
        let addresses = Mutex<[Int]>([])

        func record() {
            var ownCount = 0
            withUnsafePointer(to: &ownCount) { pointer in
                let address = Int(bitPattern: pointer)
                addresses.withLock { $0.append(address) }
            }
        }
    }

    @Test func `the stack depth of publish callbacks does not grow with their number`() throws {
        let engine = try StoreEngine(opening: MemoryVolume())
        let depths = Depths()
        engine.onPublishing { depths.record() }
        for number in 0..<2_000 {
            var batch = WriteBatch()
            try batch.put([0x10, UInt8(number % 256)], [1])
            _ = try engine.append(batch)
            #expect(try engine.flush())
        }
        let addresses = depths.addresses.withLock { $0 }
        #expect(addresses.count == 2_000)
        // Sanitizers move stack variables, but do not nest the calls deeper.
        let isSinking = zip(addresses, addresses.dropFirst()).allSatisfy { $1 < $0 }
        #expect(!isSinking, "each call is deeper in the stack than the previous one")
        try engine.close()
    }
}
