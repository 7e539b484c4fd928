package import SheafBytes
package import SheafDocument
package import SheafEngine
package import SheafQuery
import SheafStorage

/// The view of a snapshot, and of a writer's pending changes, that statements read.
package final class SnapshotReader: QueryStore {
    package let snapshot: DocumentSnapshot
    /// Documents changed by the transaction, which replace those of the snapshot.
    private(set) var pending: PendingDocuments
    /// Whether there are such documents.
    ///
    /// It is stored, because asking `pending` would copy it for each document.
    private(set) var hasPending: Bool
    let virtual: any VirtualCollections
    /// The cache of earlier states, if there is one.
    let pastStates: PastStates?
    package let planState: PlanState?
    /// The columns of the store; nil if the reader uses none.
    let columns: ColumnCache?
    /// The number that identifies the store in the process; zero if it is not needed.
    package let storeNumber: UInt64

    /// The numbers of the pending documents read before, by key.
    private var pendingNumbers: [[UInt8]: UInt64] = [:]

    /// The bit that distinguishes positions of pending documents from those in the log.
    static let pendingBit: UInt64 = 1 << 63

    package init(
        _ snapshot: DocumentSnapshot, pending: PendingDocuments = PendingDocuments(),
        virtual: any VirtualCollections, pastStates: PastStates? = nil, planState: PlanState? = nil,
        storeNumber: UInt64 = 0, columns: ColumnCache? = nil
    ) {
        self.columns = columns
        self.snapshot = snapshot
        self.planState = planState
        self.storeNumber = storeNumber
        self.pending = pending
        hasPending = !pending.isEmpty
        self.virtual = virtual
        self.pastStates = pastStates
    }

    /// The buffers that no scan uses; scans may be nested.
    @exclusivity(unchecked) var buffers: [ScanBuffers] = []

    /// The timeout and cancellation of the reading statement; nil if there are none.
    var interruption: Interruption?
    private var readCount = 0

    /// Counts a read of a key; checks for an interruption on every 256th one.
    @inline(__always)
    private func countRead() throws(StoreError) {
        readCount &+= 1
        if readCount & 0xFF == 0 { try interruption?.check() }
    }

    /// Releases pending documents, so that the transaction can change them in place.
    ///
    /// Rows read before stay valid: those of pending documents are copies.
    func releasePending() {
        (pending, hasPending) = (PendingDocuments(), false)
    }

    package func collection(_ name: String) -> CollectionDescription? {
        guard let number = snapshot.catalog.number(ofCollection: name) else { return nil }
        let indexes = snapshot.indexes(ofCollection: number).map { definition in
            let incomplete = definition.incompleteEntries
            return snapshot.log.tree.isEmpty(in: incomplete)
                ? definition.description : definition.description.withIrregularKeys(incomplete)
        }
        return CollectionDescription(
            snapshot.catalog.descriptions[Int(number)], indexes: indexes,
            hasTombstones: snapshot.hasUsableIndexes,
            hasPendingChanges: pending.collections.contains(number))
    }

    package var names: NameTable { snapshot.names }

    package func keyPrefix(ofCollection name: String) -> [UInt8]? {
        let catalog = snapshot.catalog
        return catalog.number(ofCollection: name).map {
            catalog.descriptions[Int($0)].keyPrefix
        }
    }

    package func forEachVirtualRow(
        _ name: String, _ bounds: RowBounds, _ body: (Object) throws(StoreError) -> Bool
    ) throws(StoreError) {
        try virtual.forEachRow(of: name, in: snapshot, bounds) { (row) throws(StoreError) in
            try countRead()
            return try body(row)
        }
    }

    package var virtualNames: [String] { virtual.names }

    package func count(in range: KeyRange) -> Int { snapshot.count(in: range) }

    /// Returns the position of a pending document, which is the same on each access.
    func pendingPosition(of key: [UInt8]) -> UInt64 {
        let number = pendingNumbers[key] ?? UInt64(pendingNumbers.count)
        pendingNumbers[key] = number
        return Self.pendingBit | number
    }

    package func scanKeys(
        _ range: KeyRange, isReversed: Bool, skipping skipped: Int,
        _ body: (_ key: UnsafeRawBufferPointer, _ position: UInt64) throws(StoreError) -> Bool
    ) throws(StoreError) {
        guard let range = remainingRange(range, isReversed: isReversed, skipping: skipped) else {
            return
        }
        try snapshot.forEachEntry(in: range, reversed: isReversed) {
            (key, pointer) throws(StoreError) in
            try countRead()
            return try body(key, pointer.position.rawValue)
        }
    }

    package func read(
        _ key: [UInt8], _ body: (ScannedDocument) throws(StoreError) -> Void
    ) throws(StoreError) {
        try countRead()
        if hasPending, let found = pending[key] {
            guard let document = found.document else { return }
            let position = pendingPosition(of: key)
            return try key.span.withUnsafeBytes { (key) throws(StoreError) in
                _ = try visit(document, key, position, nil) { (documents) throws(StoreError) in
                    try body(documents[0])
                    return nil
                }
            }
        }
        let log = snapshot.log
        guard let pointer = key.span.withUnsafeBytes({ log.recordPointer(of: $0) }) else { return }
        try read(at: pointer, body)
    }

    package func read(
        _ key: UnsafeRawBufferPointer, _ body: (ScannedDocument) throws(StoreError) -> Void
    ) throws(StoreError) {
        guard !hasPending else { return try read(Array(key), body) }
        try countRead()
        guard let pointer = snapshot.log.recordPointer(of: key) else { return }
        try read(at: pointer, body)
    }

    /// Visits the document whose newest operation is at a record pointer, if it exists.
    func read(
        at pointer: RecordPointer, _ body: (ScannedDocument) throws(StoreError) -> Void
    ) throws(StoreError) {
        _ = try visit(try operation(at: pointer), at: pointer, nil) {
            (documents) throws(StoreError) in
            try body(documents[0])
            return nil
        }
    }

    package func read(
        _ keys: KeyBatch, _ body: (_ number: Int, ScannedDocument) throws(StoreError) -> Bool
    ) throws(StoreError) {
        guard !hasPending else {
            var goesOn = true
            for number in 0..<keys.count where goesOn {
                try read(Array(keys[number])) { (document) throws(StoreError) in
                    goesOn = try body(number, document)
                }
            }
            return
        }
        let lookup = KeyLookup(keys, snapshot.log)
        lookup.run()
        var pointers: [RecordPointer] = []
        var numbers: [Int] = []
        pointers.reserveCapacity(keys.count)
        numbers.reserveCapacity(keys.count)
        for number in 0..<keys.count {
            guard let pointer = lookup[number] else { continue }
            pointers.append(pointer)
            numbers.append(number)
        }
        try pointers.span.withUnsafeBufferPointer { (pointers) throws(StoreError) in
            try visit(pointers) { (index, document) throws(StoreError) in
                try body(numbers[index], document)
            }
        }
    }
}

/// The buffers of a scan.
final class ScanBuffers {
    let operations = OperationBatch(capacity: DocumentBatch.capacity)
    let documents = DocumentBatch()
    /// The numbers of rows in columns.
    let rows = UnsafeMutablePointer<UInt16>.allocate(capacity: DocumentBatch.capacity)

    deinit {
        rows.deallocate()
    }
}

extension PlanState {
    /// Creates the state of a store in a snapshot.
    init(of snapshot: DocumentSnapshot, storeNumber: UInt64) {
        self.init(
            store: storeNumber, commit: snapshot.log.commit, nameCount: snapshot.names.count,
            hasIndexes: snapshot.log.indexMark.commit == snapshot.log.commit)
    }
}
