import SheafEngine
import SheafStorage
import SheafTestSupport

extension DocumentEngine {
    /// Opens an empty store in memory, with the time of a clock, and the engine of its documents.
    static func inMemory(
        _ clock: FakeClock, _ change: (inout LogStoreOptions) -> Void = { _ in }
    ) throws -> (store: StoreEngine, engine: DocumentEngine) {
        var options = LogStoreOptions()
        options.clock = clock.clock
        change(&options)
        let store = try StoreEngine(opening: SimulatedVolume(seed: 1), options: options)
        return (store, try DocumentEngine(store))
    }
}
