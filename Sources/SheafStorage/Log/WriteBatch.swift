import SheafBytes

/// The changes of one commit, encoded before the log reserves positions for them.
package struct WriteBatch: Sendable {
    private(set) var bytes: [UInt8] = []
    /// Records of the commit that are in files; they follow the other operations in the log.
    ///
    /// Their operations have the first numbers, because they are numbered before others exist.
    private(set) var staged: StagedRecords?
    /// The number of operations in the batch.
    package private(set) var count = 0
    /// The number of the operation to which weights and index entries belong.
    private var currentOperation = 0
    /// Whether the batch contains deltas, whose keys must have a payload.
    private(set) var hasDeltas = false

    /// Weights of keys by the number of their operation, ascending.
    private(set) var weights: [(operation: Int, weight: UInt64)] = []

    /// The changes of index entries to apply with the batch; an empty batch applies none.
    package var indexChanges = IndexChanges()
    /// Whether the commit leaves the index entries as complete as they were before it.
    package var keepsIndexProgress = false

    /// The minimum time of the commit in milliseconds since 1970, in case the clock is slow.
    package var earliestTime: UInt64 = 0

    /// Maximum number of operations.
    private let maximumCount: Int

    package init(maximumCount: Int = Limits.maximumCommitOperations) {
        self.maximumCount = maximumCount
    }

    /// Creates a batch with records that are in files; no other operation may have their keys.
    ///
    /// Throws if a staged record does not match its hash.
    package init(_ staged: StagedRecords?) throws(StorageError) {
        maximumCount = Limits.maximumCommitOperations
        // A rollback may leave an empty list.
        guard let staged, staged.count > 0 else { return }
        try staged.verify()
        self.staged = staged
        count = stagedCount
    }

    /// The number of operations that are in files.
    var stagedCount: Int { staged?.operationCount ?? 0 }

    /// The encoded length of the operations in memory in bytes.
    package var byteCount: Int { bytes.count }

    /// Reserves memory for `byteCount` bytes of operations.
    package mutating func reserve(_ byteCount: Int) {
        bytes.reserveCapacity(byteCount)
    }

    /// Sets the payload of `key`; a later operation on the same key takes precedence.
    package mutating func put(
        _ key: UnsafeRawBufferPointer, _ payload: UnsafeRawBufferPointer
    ) throws(StorageError) {
        try append(.put, key, payload)
    }

    /// Sets the payload of `key` to the byte `first` followed by `rest`.
    package mutating func put(
        _ key: UnsafeRawBufferPointer, _ first: UInt8, _ rest: UnsafeRawBufferPointer
    ) throws(StorageError) {
        try append(.put, key, rest, behind: first)
    }

    /// Appends a payload to those that `key` has since its last put.
    ///
    /// The key must have a payload at commit time, or receive one earlier in the batch. The caller
    /// must put the key again before its chain exceeds `maximumChainLength` operations.
    package mutating func appendDelta(
        _ key: UnsafeRawBufferPointer, _ payload: UnsafeRawBufferPointer
    ) throws(StorageError) {
        try append(.delta, key, payload)
        hasDeltas = true
    }

    /// Removes `key`, which need not exist.
    package mutating func remove(_ key: UnsafeRawBufferPointer) throws(StorageError) {
        try append(.remove, key, UnsafeRawBufferPointer(start: nil, count: 0))
    }

    /// Sets the payload of `key`; a later operation on the same key takes precedence.
    package mutating func put(_ key: [UInt8], _ payload: [UInt8]) throws(StorageError) {
        try key.span.withUnsafeBytes { key throws(StorageError) in
            try payload.span.withUnsafeBytes { payload throws(StorageError) in
                try put(key, payload)
            }
        }
    }

    /// Sets the payload of `key` to the byte `first` followed by `rest`.
    package mutating func put(
        _ key: [UInt8], _ first: UInt8, _ rest: [UInt8]
    ) throws(StorageError) {
        try key.span.withUnsafeBytes { key throws(StorageError) in
            try rest.span.withUnsafeBytes { rest throws(StorageError) in
                try put(key, first, rest)
            }
        }
    }

    /// Appends a payload to those that `key` has since its last put.
    package mutating func extend(_ key: [UInt8], _ payload: [UInt8]) throws(StorageError) {
        try key.span.withUnsafeBytes { key throws(StorageError) in
            try payload.span.withUnsafeBytes { payload throws(StorageError) in
                try appendDelta(key, payload)
            }
        }
    }

    /// Removes `key`, which need not exist.
    package mutating func remove(_ key: [UInt8]) throws(StorageError) {
        try key.span.withUnsafeBytes { key throws(StorageError) in try remove(key) }
    }

    /// Selects a staged operation for weights and index entries, until the next operation.
    ///
    /// Staged operations are selected in order, and before others are added.
    package mutating func select(staged number: Int) {
        precondition(number < stagedCount, "Operation \(number) is not staged.")
        currentOperation = number
    }

    /// Gives the key of the current operation a weight, which it has until its next operation.
    package mutating func weigh(_ weight: UInt64) {
        precondition(count > 0, "A weight belongs to an operation.")
        weights.append((currentOperation, weight))
    }

    /// Adds an index entry that refers to the current operation, with the weight of that key.
    package mutating func addIndexEntries(_ key: [UInt8]) throws(StorageError) {
        try key.span.withUnsafeBytes { key throws(StorageError) in try addIndexEntries(key) }
    }

    /// Adds an index entry that refers to the current operation, with the weight of that key.
    package mutating func addIndexEntries(_ key: UnsafeRawBufferPointer) throws(StorageError) {
        precondition(count > 0, "An index entry refers to an operation.")
        let weight = weights.last.flatMap { $0.operation == currentOperation ? $0.weight : nil }
        try indexChanges.addEntry(key, toOperation: currentOperation, weight: weight)
    }

    /// Makes the batch equal to a new one, but keeps the memory.
    package mutating func removeAll() {
        indexChanges.removeAll()
        keepsIndexProgress = false
        earliestTime = 0
        bytes.removeAll(keepingCapacity: true)
        weights.removeAll(keepingCapacity: true)
        staged = nil
        count = 0
        hasDeltas = false
    }

    /// Adds a put that is encoded already; a later operation on the same key takes precedence.
    package mutating func append(_ put: EncodedPut) throws(StorageError) {
        try checkRoom(for: put.bytes.count)
        bytes.append(contentsOf: put.bytes)
        currentOperation = count
        count += 1
    }

    private mutating func append(
        _ kind: Operation.Kind, _ key: UnsafeRawBufferPointer, _ payload: UnsafeRawBufferPointer,
        behind firstByte: UInt8? = nil
    ) throws(StorageError) {
        let payloadLength = payload.count + (firstByte == nil ? 0 : 1)
        try Operation.check(key, payloadLength: payloadLength)
        let headLength = Operation.headerLength + key.count + (firstByte == nil ? 0 : 1)
        try checkRoom(for: headLength + payload.count)
        // The head is appended in one call, because this code runs for every document.
        withUnsafeTemporaryAllocation(byteCount: headLength, alignment: 8) { head in
            Operation.writeHeaderAndKey(
                kind, key, firstPayloadByte: firstByte, payloadLength: payloadLength, to: head)
            bytes.append(contentsOf: UnsafeRawBufferPointer(head))
        }
        bytes.append(contentsOf: payload)
        currentOperation = count
        count += 1
    }

    /// Throws if a commit cannot have one more operation, and `length` more bytes.
    private func checkRoom(for length: Int) throws(StorageError) {
        let needed = (staged?.byteCount ?? 0) + bytes.count + length
        guard needed <= Limits.maximumCommitLength else {
            throw .limit(
                name: "maximumCommitLength", value: needed, limit: Limits.maximumCommitLength)
        }
        guard count < maximumCount else {
            throw .limit(
                name: "maximumCommitOperations", value: count + 1, limit: maximumCount)
        }
    }
}
