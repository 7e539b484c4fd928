import SheafBytes
import SheafDocument
package import SheafStorage

/// A comparison of the visible documents of two stores.
///
/// Both key ranges are merged in their order, so memory does not depend on the number of documents.
/// Documents that both logs have from their common history are not read.
package struct StoreComparison {
    /// The numbers of equal and differing documents of a collection.
    package struct Counts: Equatable {
        package let collection: String
        package internal(set) var equal = 0
        package internal(set) var onlyLeft = 0
        package internal(set) var onlyRight = 0
        package internal(set) var different = 0

        /// Whether no document differs.
        package var isEqual: Bool { onlyLeft + onlyRight + different == 0 }
    }

    private let left: DocumentSnapshot
    private let right: DocumentSnapshot
    /// The end of the common history: equal pointers before it refer to equal documents.
    private let commonEnd: LogPosition
    /// Whether both stores have the same commits.
    package let isSameLog: Bool

    /// Prepares the comparison of two snapshots.
    package init(_ left: LogSnapshot, _ right: LogSnapshot) throws(EngineError) {
        self.left = DocumentSnapshot(left, try Catalog(left))
        self.right = DocumentSnapshot(right, try Catalog(right))
        isSameLog = left.isSameLog(as: right)
        commonEnd = left.commonEnd(with: right)
    }

    /// The names of the collections of both stores, sorted.
    package var collections: [String] {
        var names = left.catalog.collections
        for name in right.catalog.collections
        where left.catalog.number(ofCollection: name) == nil {
            names.append(name)
        }
        return names.sorted { UTF8Order.compare($0, $1) < 0 }
    }

    /// Compares a collection, and calls `body` with each document that differs, in key order.
    package func compare(
        _ collection: String, _ body: (DocumentDifference) -> Void
    ) throws(EngineError) -> Counts {
        var counts = Counts(collection: collection)
        let first = DocumentCursor(left, collection)
        let second = DocumentCursor(right, collection)
        if isSameLog {
            while let document = first.document {
                if try exists(document, in: left) { counts.equal += 1 }
                first.next()
            }
            return counts
        }
        while true {
            switch (first.document, second.document) {
            case (nil, nil): return counts
            case (let one?, let other?) where one.id == other.id:
                try compare(one, other, &counts, body)
                first.next()
                second.next()
            case (let one?, let other):
                if let other, other.id.lexicographicallyPrecedes(one.id) {
                    try count(other, .onlyRight, in: right, &counts, body)
                    second.next()
                } else {
                    try count(one, .onlyLeft, in: left, &counts, body)
                    first.next()
                }
            case (nil, let other?):
                try count(other, .onlyRight, in: right, &counts, body)
                second.next()
            }
        }
    }

    private func exists(
        _ document: DocumentCursor.Found, in snapshot: DocumentSnapshot
    ) throws(EngineError) -> Bool {
        let stored = try snapshot.document(document.key)
        return try onDocument(document.key) { () throws(Malformed) in
            try stored?.read { bytes throws(Malformed) in
                try EncodedDocument(bytes).exists()
            } ?? false
        }
    }

    /// Counts a document that only one store has; a tombstone is none.
    private func count(
        _ document: DocumentCursor.Found, _ kind: DocumentDifference.Kind,
        in snapshot: DocumentSnapshot, _ counts: inout Counts,
        _ body: (DocumentDifference) -> Void
    ) throws(EngineError) {
        guard try exists(document, in: snapshot) else { return }
        switch kind {
        case .onlyLeft: counts.onlyLeft += 1
        case .onlyRight: counts.onlyRight += 1
        case .fields: counts.different += 1
        }
        body(
            DocumentDifference(
                collection: counts.collection, id: try document.value(), kind: kind))
    }

    private func compare(
        _ one: DocumentCursor.Found, _ other: DocumentCursor.Found, _ counts: inout Counts,
        _ body: (DocumentDifference) -> Void
    ) throws(EngineError) {
        if one.pointer == other.pointer, one.pointer.position <= commonEnd {
            if try exists(one, in: left) { counts.equal += 1 }
            return
        }
        let (first, second) = (try fields(of: one, in: left), try fields(of: other, in: right))
        guard let first else {
            return try count(other, .onlyRight, in: right, &counts, body)
        }
        guard let second else { return try count(one, .onlyLeft, in: left, &counts, body) }
        let differences = FieldDifference.all(first, second)
        guard !differences.isEmpty else {
            counts.equal += 1
            return
        }
        counts.different += 1
        body(
            DocumentDifference(
                collection: counts.collection, id: try one.value(), kind: .fields(differences)))
    }

    private func fields(
        of document: DocumentCursor.Found, in snapshot: DocumentSnapshot
    ) throws(EngineError) -> VisibleField? {
        let stored = try snapshot.document(document.key)
        return try onDocument(document.key) { () throws(Malformed) in
            try stored?.read { bytes throws(Malformed) in
                try EncodedDocument(bytes).visibleField(snapshot.names)
            }
        }
    }
}

/// A cursor over the documents of one collection, including tombstones.
private final class DocumentCursor {
    /// The current document.
    struct Found {
        let key: [UInt8]
        let pointer: RecordPointer
        /// The encoded id, whose order is the same in all stores.
        var id: ArraySlice<UInt8> { key[StoreKey.documentPrefixLength...] }

        /// Returns the decoded id.
        func value() throws(EngineError) -> Value {
            try onDocument(key) { () throws(Malformed) in try DocumentID.id(of: Array(id)) }
        }
    }

    private let cursor: BTreeCursor?
    private let collection: UInt16
    private(set) var document: Found?

    init(_ snapshot: DocumentSnapshot, _ name: String) {
        collection = snapshot.catalog.number(ofCollection: name) ?? 0
        guard snapshot.catalog.number(ofCollection: name) != nil else {
            cursor = nil
            return
        }
        let cursor = snapshot.log.tree.cursor()
        self.cursor = cursor
        StoreKey.documents(of: collection).lower.withUnsafeBytes { _ = cursor.seek($0) }
        load()
    }

    /// Moves to the next document.
    func next() {
        cursor?.next()
        load()
    }

    private func load() {
        while let cursor, cursor.isValid,
            StoreKey.collection(ofDocument: cursor.key) == collection
        {
            // A value that is no record pointer is skipped, as by other reads.
            if let pointer = RecordPointer(cursor.value) {
                document = Found(key: Array(cursor.key), pointer: pointer)
                return
            }
            cursor.next()
        }
        document = nil
    }
}
