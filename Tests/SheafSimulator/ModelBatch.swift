import SheafBytes
import SheafStorage
import SheafTestSupport

/// A batch for a store, and the same changes for its model.
struct ModelBatch {
    private(set) var batch = WriteBatch()
    private(set) var changes: [StoreModel.Change] = []
    /// Whether some of the puts are in files already.
    private(set) var hasStaged = false
    /// Whether each key has a payload after the changes.
    private var isPresent: [Bool]

    /// Starts the commit that follows the last one of `model`.
    init(after model: StoreModel) {
        isPresent = model.states.last?.map { !$0.isEmpty } ?? []
    }

    /// Starts a commit with puts of different keys that are written to files before it.
    ///
    /// All commits must be durable, and the other changes must be those of other keys. Some puts
    /// are removed and added again, as after a rollback.
    init(
        after model: StoreModel, staging puts: [(key: Int, payload: [UInt8])],
        in engine: StoreEngine, _ random: inout SeededRandom
    ) throws(StorageError) {
        self.init(after: model)
        let snapshot = engine.snapshot()
        var encoded = EncodedPuts(firstLength: 64)
        var locations: [EncodedPuts.Location] = []
        var failures = 0
        while locations.count < puts.count {
            let (key, payload) = (
                StoreModel.key(puts[locations.count].key), puts[locations.count].payload
            )
            do throws(StorageError) {
                try encoded.stageIfNeeded(in: engine, after: snapshot)
            } catch {
                // A failed statement is rolled back, but others before and after it may succeed.
                failures += 1
                guard failures < 3, random.chance(1, in: 2) else { break }
                continue
            }
            let location = try key.span.withUnsafeBytes { key throws(StorageError) in
                try payload.span.withUnsafeBytes { payload throws(StorageError) in
                    try encoded.append(
                        key, payload[0], UnsafeRawBufferPointer(rebasing: payload[1...]))
                }
            }
            locations.append(location)
            guard random.chance(1, in: 12) else { continue }
            let kept = random.below(locations.count)
            encoded.remove(from: locations[kept])
            locations.removeSubrange(kept...)
        }
        batch = try WriteBatch(encoded.staged)
        hasStaged = encoded.stagedCount > 0
        for location in locations[encoded.stagedCount...] {
            try batch.append(encoded.put(location))
        }
        for (key, payload) in puts.prefix(locations.count) {
            record(key, .put, XXH3.hash64(payload))
        }
    }

    mutating func put(_ key: Int, _ payload: [UInt8]) throws(StorageError) {
        try batch.put(StoreModel.key(key), payload)
        record(key, .put, XXH3.hash64(payload))
    }

    mutating func remove(_ key: Int) throws(StorageError) {
        try batch.remove(StoreModel.key(key))
        record(key, .remove, 0)
    }

    /// Appends a delta record to a key, or puts the payload if the key is absent.
    mutating func appendDelta(_ key: Int, _ payload: [UInt8]) throws(StorageError) {
        guard isPresent[key] else { return try put(key, payload) }
        try batch.extend(StoreModel.key(key), payload)
        record(key, .delta, XXH3.hash64(payload))
    }

    /// Adds a delta record for an absent key; returns false if all keys have payloads.
    mutating func appendDeltaToAbsentKey() throws(StorageError) -> Bool {
        guard let key = isPresent.firstIndex(of: false) else { return false }
        try batch.extend(StoreModel.key(key), [1])
        return true
    }

    private mutating func record(_ key: Int, _ kind: SheafStorage.Operation.Kind, _ payload: UInt64)
    {
        changes.append(StoreModel.Change(key: key, kind: kind, payload: payload))
        isPresent[key] = kind != .remove
    }
}
