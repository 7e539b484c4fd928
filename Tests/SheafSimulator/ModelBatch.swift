import SheafBytes
import SheafStorage
import SheafTestSupport

/// A batch for a store, and the same changes for its model.
struct ModelBatch {
    private(set) var batch = WriteBatch()
    private(set) var changes: [StoreModel.Change] = []
    /// Whether each key has a payload after the changes.
    private var isPresent: [Bool]

    /// Starts the commit that follows the last one of `model`.
    init(after model: StoreModel) {
        isPresent = model.states.last?.map { !$0.isEmpty } ?? []
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
