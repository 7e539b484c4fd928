package import SheafBytes
package import SheafDocument
import SheafStorage

/// Documents encoded before the transaction that inserts them (`NewDocumentEncoder`).
///
/// A bulk load encodes documents on one thread while another one writes those before them.
package struct NewDocuments: Sendable {
    /// A document and its row in the source.
    package struct Row: Sendable {
        package var key: DocumentKey
        /// The bytes of the document.
        let state: Range<Int>
        let spellsNames: Bool
        /// Whether the document may contain an attachment token, which is encoded differently.
        let mayHaveTokens: Bool
        package let number: UInt64
        /// Whether the store has no document with the key; decided by `selectNew`.
        fileprivate(set) var isNew = false
    }

    /// The documents; in order of their keys after `sort`.
    package fileprivate(set) var rows: [Row] = []
    /// The states of all documents.
    private var bytes: [UInt8] = []

    package init() {}

    /// Creates an empty set with room for as many documents and bytes as another one has.
    package init(sizedLike other: NewDocuments) {
        rows.reserveCapacity(other.count)
        bytes.reserveCapacity(other.byteCount)
    }

    package var count: Int { rows.count }
    package var byteCount: Int { bytes.count }

    /// Appends the last document of an encoder.
    package mutating func append(
        _ document: borrowing NewDocumentEncoder, _ key: [UInt8], row number: UInt64
    ) {
        let start = bytes.count
        document.append(to: &bytes)
        let mayHaveTokens = bytes.span.withUnsafeBytes {
            AttachmentTexts.isAny(in: UnsafeRawBufferPointer(rebasing: $0[start...]))
        }
        rows.append(
            Row(
                key: DocumentKey(key), state: start..<bytes.count,
                spellsNames: document.spellsNames, mayHaveTokens: mayHaveTokens, number: number))
    }

    /// Removes the documents of some rows.
    package mutating func removeRows(where isRemoved: (UInt64) -> Bool) {
        rows.removeAll { isRemoved($0.number) }
    }

    /// Sets the number of the collection in all keys.
    package mutating func setCollection(_ number: UInt16) {
        let prefix = StoreKey.document(collection: number, id: []).bytes
        for index in rows.indices where !rows[index].key.bytes.starts(with: prefix) {
            rows[index].key = DocumentKey(prefix + rows[index].key.bytes.dropFirst(prefix.count))
        }
    }

    /// Sorts the documents by key; documents with equal keys keep their order.
    package mutating func sort() {
        let isSorted = rows.indices.dropFirst().allSatisfy {
            Self.compare(rows[$0 - 1], rows[$0]) < 0
        }
        guard !isSorted else { return }
        rows.sort { left, right in
            let order = Self.compare(left, right)
            return order == 0 ? left.number < right.number : order < 0
        }
    }

    private static func compare(_ left: Row, _ right: Row) -> Int {
        left.key.bytes.span.withUnsafeBytes { left in
            right.key.bytes.span.withUnsafeBytes { UTF8Order.compare(left, $0) }
        }
    }

    /// Whether a neighbor of a sorted row has the same key.
    fileprivate func isDuplicate(_ index: Int) -> Bool {
        let key = rows[index].key
        return index > 0 && rows[index - 1].key == key
            || index + 1 < rows.count && rows[index + 1].key == key
    }

    /// Returns the content of a document.
    package func object(at index: Int, _ names: NameTable) throws(Malformed) -> Object {
        try bytes.span.withUnsafeBytes { bytes throws(Malformed) in
            let state = UnsafeRawBufferPointer(rebasing: bytes[rows[index].state])
            return try EncodedDocument(state).fields()?.value(names) ?? Object()
        }
    }

    /// Calls `body` with each name that a document spells out.
    fileprivate func forEachSpelledName(
        at index: Int, _ body: (UnsafeRawBufferPointer) -> Void
    ) throws(Malformed) {
        guard rows[index].spellsNames else { return }
        try bytes.span.withUnsafeBytes { bytes throws(Malformed) in
            let state = UnsafeRawBufferPointer(rebasing: bytes[rows[index].state])
            try EncodedDocument(state).forEachSpelledName(body)
        }
    }

    /// Returns the names without a number that at least two of the documents have.
    package func sharedNames() throws(Malformed) -> Set<[UInt8]> {
        var found: Set<[UInt8]> = []
        var shared: Set<[UInt8]> = []
        for index in rows.indices {
            try forEachSpelledName(at: index) { spelling in
                let name = Array(spelling)
                if !found.insert(name).inserted { shared.insert(name) }
            }
        }
        return shared
    }

    /// Encodes the documents that spell out names again, with the numbers of another table.
    package mutating func rename(
        from names: NameTable, to others: NameTable
    ) throws(Malformed) {
        var renamed = NewDocuments()
        renamed.bytes.reserveCapacity(bytes.count)
        for row in rows {
            let state = try bytes.span.withUnsafeBytes { bytes throws(Malformed) -> [UInt8]? in
                guard row.spellsNames else { return nil }
                let state = UnsafeRawBufferPointer(rebasing: bytes[row.state])
                return try EncodedDocument(state).renamed(from: names, to: others)
            }
            let start = renamed.bytes.count
            renamed.bytes.append(contentsOf: state?[...] ?? bytes[row.state])
            let spellsNames = try renamed.bytes.span.withUnsafeBytes { bytes throws(Malformed) in
                var spellsNames = false
                guard row.spellsNames else { return false }
                let state = UnsafeRawBufferPointer(rebasing: bytes[start...])
                try EncodedDocument(state).forEachSpelledName { _ in spellsNames = true }
                return spellsNames
            }
            renamed.rows.append(
                Row(
                    key: row.key, state: start..<renamed.bytes.count, spellsNames: spellsNames,
                    mayHaveTokens: row.mayHaveTokens, number: row.number))
        }
        self = renamed
    }

    fileprivate mutating func setStamp(_ stamp: Stamp) {
        bytes.withUnsafeMutableBytes { bytes in
            for row in rows {
                NewDocumentEncoder.setStamp(stamp, at: row.state.lowerBound, in: bytes)
            }
        }
    }

    fileprivate func withState(
        of row: Row, _ body: (UnsafeRawBufferPointer) throws(EngineError) -> Void
    ) throws(EngineError) {
        try bytes.span.withUnsafeBytes { (bytes) throws(EngineError) in
            try body(UnsafeRawBufferPointer(rebasing: bytes[row.state]))
        }
    }
}

extension DocumentTransaction {
    /// Selects those of the sorted documents that are new to the store, for `insert`.
    ///
    /// Returns the indices of the others, in order of their rows: `apply` must insert them, before
    /// `insert` is called.
    package mutating func selectNew(
        of documents: inout NewDocuments
    ) throws(EngineError) -> [Int] {
        let mayExist = !isFree(documents.rows)
        var isPending: Set<Int> = []
        pending.forEachPending(of: documents.rows) { isPending.insert($0) }
        var others: [Int] = []
        for index in documents.rows.indices {
            let isNew =
                !documents.rows[index].mayHaveTokens
                && documents.rows[index].state.count <= lengthWithinLimits
                && !documents.isDuplicate(index)
                && !(mayExist && contains(documents.rows[index].key))
                && (isPending.isEmpty || !isPending.contains(index))
            documents.rows[index].isNew = isNew
            if !isNew { others.append(index) }
        }
        return others.sorted { documents.rows[$0].number < documents.rows[$1].number }
    }

    /// Whether the snapshot has no document between the first and the last of sorted rows.
    private func isFree(_ rows: [NewDocuments.Row]) -> Bool {
        guard let first = rows.first, let last = rows.last else { return true }
        return snapshot.tree.isEmpty(
            in: KeyRange(from: first.key.bytes, to: last.key.bytes + [0]))
    }

    /// Whether the snapshot has a document, its tombstone or its remnant.
    private func contains(_ key: DocumentKey) -> Bool {
        key.bytes.span.withUnsafeBytes { snapshot.tree.find($0) } != nil
    }

    /// Inserts the documents that `selectNew` selected, without decoding them.
    package mutating func insert(_ documents: inout NewDocuments) throws(EngineError) {
        guard documents.rows.contains(where: \.isNew) else { return }
        documents.setStamp(try sharedStamp())
        isListed = false
        reserveEncoded(encoded.count + documents.count)
        for row in documents.rows where row.isNew {
            try addLength(row.state.count)
            try documents.withState(of: row) { (state) throws(EngineError) in
                try pending.append(
                    row.key, DocumentPayload.stateKind, state, spellsNames: row.spellsNames)
            }
        }
    }

    /// Writes the progress in shards of a hub log.
    func writeStoredShards(into batch: inout WriteBatch) throws(EngineError) {
        for (number, stored) in storedShards {
            try onStorage { () throws(StorageError) in
                try batch.put(StoreKey.storedShard(number).bytes, stored.bytes)
            }
        }
    }

    /// Writes or removes the progress of an import.
    func writeImportProgress(into batch: inout WriteBatch) throws(EngineError) {
        guard let (hash, progress) = importProgress else { return }
        let key = StoreKey.importProgress(hash).bytes
        try onStorage { () throws(StorageError) in
            guard let progress else { return try batch.remove(key) }
            try batch.put(key, progress.bytes)
        }
    }
}
