import SheafBytes

/// The changes of one commit, gathered and encoded before the log is asked for a place.
package struct WriteBatch: Sendable {
    private(set) var bytes: [UInt8] = []
    /// How many operations the batch has.
    package private(set) var count = 0
    /// Where the operation begins that was added last.
    private var lastOperation = 0
    /// Whether an operation extends its key, which then has to have a payload.
    private(set) var hasExtensions = false

    /// What becomes of links when the batch gets its place; a batch without operations gets none.
    package var links = LinkChanges()
    /// Whether all links are right behind this commit that were right before it.
    package var keepsLinks = false

    /// The commit is to be at least as late, in milliseconds since 1970, whatever the clock says.
    package var earliestTime: UInt64 = 0

    package init() {}

    /// How many bytes of operations there are.
    package var byteCount: Int { bytes.count }

    /// Makes room for `byteCount` bytes of operations.
    package mutating func reserve(_ byteCount: Int) {
        bytes.reserveCapacity(byteCount)
    }

    /// Gives `key` a payload; a later operation on the same key wins.
    package mutating func put(
        _ key: UnsafeRawBufferPointer, _ payload: UnsafeRawBufferPointer
    ) throws(StorageError) {
        try append(.put, key, payload)
    }

    /// Gives `key` a payload that begins with a byte and goes on with others.
    package mutating func put(
        _ key: UnsafeRawBufferPointer, _ first: UInt8, _ rest: UnsafeRawBufferPointer
    ) throws(StorageError) {
        try append(.put, key, rest, behind: first)
    }

    /// Adds a payload to those that `key` has since its last put.
    ///
    /// The key must have a payload when the batch is committed, or have got one in the batch before.
    /// Who extends sees to a new put before `maximumChainLength` operations stand on one another.
    package mutating func extend(
        _ key: UnsafeRawBufferPointer, _ payload: UnsafeRawBufferPointer
    ) throws(StorageError) {
        try append(.extend, key, payload)
        hasExtensions = true
    }

    /// Takes `key` away.
    package mutating func remove(_ key: UnsafeRawBufferPointer) throws(StorageError) {
        try append(.remove, key, UnsafeRawBufferPointer(start: nil, count: 0))
    }

    /// Gives `key` a payload; a later operation on the same key wins.
    package mutating func put(_ key: [UInt8], _ payload: [UInt8]) throws(StorageError) {
        try key.span.withUnsafeBytes { key throws(StorageError) in
            try payload.span.withUnsafeBytes { payload throws(StorageError) in
                try put(key, payload)
            }
        }
    }

    /// Adds a payload to those that `key` has since its last put.
    package mutating func extend(_ key: [UInt8], _ payload: [UInt8]) throws(StorageError) {
        try key.span.withUnsafeBytes { key throws(StorageError) in
            try payload.span.withUnsafeBytes { payload throws(StorageError) in
                try extend(key, payload)
            }
        }
    }

    /// Takes `key` away.
    package mutating func remove(_ key: [UInt8]) throws(StorageError) {
        try key.span.withUnsafeBytes { key throws(StorageError) in try remove(key) }
    }

    /// Lets `key` lead to the operation that was added last.
    package mutating func link(_ key: [UInt8]) throws(StorageError) {
        precondition(count > 0, "A link leads to an operation.")
        try links.link(key, toOperationAt: lastOperation)
    }

    /// Forgets all operations and links, and keeps the memory.
    package mutating func removeAll() {
        links.removeAll()
        keepsLinks = false
        bytes.removeAll(keepingCapacity: true)
        count = 0
        hasExtensions = false
    }

    private mutating func append(
        _ kind: Operation.Kind, _ key: UnsafeRawBufferPointer, _ payload: UnsafeRawBufferPointer,
        behind firstByte: UInt8? = nil
    ) throws(StorageError) {
        let payloadLength = payload.count + (firstByte == nil ? 0 : 1)
        guard let first = key.first, Keyspace.isLogged(firstByte: first) else {
            throw .invalidKey("a key has at least one byte, and its first byte is not 0 or 255")
        }
        guard key.count <= Limits.maximumKeyLength else {
            throw .limit(
                name: "maximumKeyLength", value: key.count, limit: Limits.maximumKeyLength)
        }
        guard payloadLength <= Limits.maximumPayloadLength else {
            throw .limit(
                name: "maximumPayloadLength", value: payloadLength,
                limit: Limits.maximumPayloadLength)
        }
        let length = Operation.headerLength + key.count + payloadLength
        guard bytes.count + length <= Limits.maximumCommitLength else {
            throw .limit(
                name: "maximumCommitLength", value: bytes.count + length,
                limit: Limits.maximumCommitLength)
        }
        guard count < Limits.maximumCommitOperations else {
            throw .limit(
                name: "maximumCommitOperations", value: count + 1,
                limit: Limits.maximumCommitOperations)
        }
        lastOperation = bytes.count
        // One append of the header instead of one for each field: this runs for every document.
        withUnsafeTemporaryAllocation(
            byteCount: Operation.headerLength, alignment: 8
        ) { header in
            header[0..<Operation.headerLength].update(repeating: 0)
            header.store(kind.rawValue, at: Operation.Layout.kind)
            header.store(UInt16(key.count), at: Operation.Layout.keyLength)
            header.store(UInt32(payloadLength), at: Operation.Layout.payloadLength)
            bytes.append(contentsOf: UnsafeRawBufferPointer(header))
        }
        bytes.append(contentsOf: key)
        if let firstByte { bytes.append(firstByte) }
        bytes.append(contentsOf: payload)
        count += 1
    }
}
