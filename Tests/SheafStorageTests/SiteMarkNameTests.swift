import SheafStorage
import SheafTestSupport
import Synchronization
import Testing

/// The random names of the marks of a directory.
@Suite struct SiteMarkNameTests {
    @Test(arguments: [0, 1, 14, 15, 16, 17] as [UInt64])
    func `a mark gets the first of 16 random names that no file has`(taken: UInt64) throws {
        let volume = SimulatedVolume(seed: 1)
        let drawn = Mutex<UInt64>(0)
        var options = LogStoreOptions()
        options.random = {
            drawn.withLock { drawn in
                drawn += 1
                return drawn
            }
        }
        let engine = try StoreEngine(opening: volume, options: options)
        let first = drawn.withLock { $0 } + 1
        for number in 0..<taken {
            try volume.open(FileName.name(ofSiteMark: first + number), .create).close()
        }
        if taken < 16 {
            #expect(try engine.makeSiteMark().name == FileName.name(ofSiteMark: first + taken))
        } else {
            #expect(throws: StorageError.self) { try engine.makeSiteMark() }
            #expect(drawn.withLock { $0 } == first + 15)
        }
        try engine.close()
    }
}
