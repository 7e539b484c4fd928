import SheafBytes
import SheafDocument
import SheafEngine
import SheafQuery
import SheafStorage

/// The rows of `system:conflicts`: fields with several values, which were written concurrently.
struct ConflictRows {
    private let snapshot: DocumentSnapshot
    private let bounds: RowBounds

    init(_ snapshot: DocumentSnapshot, _ bounds: RowBounds) {
        self.snapshot = snapshot
        self.bounds = bounds
    }

    /// A concurrent value of a field.
    private struct Candidate {
        let value: Value
        let stamp: Stamp
    }

    /// Visits the fields, document by document, until `body` returns false.
    func forEach(_ body: (Object) throws(StoreError) -> Bool) throws(StoreError) {
        for (number, collection) in snapshot.catalog.collections.enumerated() {
            if let wanted = bounds.collection, wanted != collection { continue }
            guard let keys = keys(in: collection, number) else { continue }
            var goesOn = true
            try snapshot.forEachEntry(in: keys) {
                (key, pointer) throws(StoreError) in
                goesOn = try visit(key, pointer, collection, body)
                return goesOn
            }
            guard goesOn else { return }
        }
    }

    /// Returns the keys of the wanted documents; nil if the id is that of no document.
    private func keys(in collection: String, _ number: Int) -> KeyRange? {
        guard let wanted = bounds.document else { return StoreKey.documents(of: UInt16(number)) }
        let key = (try? snapshot.key(collection: collection, id: wanted)) ?? nil
        return key.map(KeyRange.only)
    }

    private func visit(
        _ key: UnsafeRawBufferPointer, _ pointer: RecordPointer, _ collection: String,
        _ body: (Object) throws(StoreError) -> Bool
    ) throws(StoreError) -> Bool {
        let found: [(path: [String], candidates: [Candidate])]
        let id: Value
        do throws(EngineError) {
            let (_, document) = try snapshot.document(at: pointer)
            let key = Array(key)
            found = try onDocument(key) { () throws(Malformed) in
                try document.read { bytes throws(Malformed) in
                    try conflicts(of: try EncodedDocument(bytes))
                }
            }
            guard !found.isEmpty else { return true }
            id = try onDocument(key) { () throws(Malformed) in
                try DocumentID.id(of: Array(key.dropFirst(StoreKey.documentPrefixLength)))
            }
        } catch {
            throw StoreError(error)
        }
        for (path, candidates) in found {
            guard try body(row(collection, id, path, candidates)) else { return false }
        }
        return true
    }

    /// Returns the fields with several values, in the order of the document.
    private func conflicts(
        of document: EncodedDocument
    ) throws(Malformed) -> [(path: [String], candidates: [Candidate])] {
        // Concurrent writes come from several sites.
        guard try document.exists(), try document.header().siteCount > 1 else { return [] }
        var fields: [(path: [String], candidates: [Candidate])] = []
        try DotWalk.visit(document, snapshot.names) { item in
            guard let value = item.value, let stamp = item.stamp, stamp != .initial else { return }
            switch item.kind {
            case .value, .token: break
            default: return
            }
            let candidate = Candidate(value: value, stamp: stamp)
            if let last = fields.last, last.path == item.path {
                fields[fields.count - 1].candidates.append(candidate)
            } else {
                fields.append((item.path, [candidate]))
            }
        }
        return fields.filter { $0.candidates.count > 1 }
    }

    private func row(
        _ collection: String, _ id: Value, _ path: [String], _ candidates: [Candidate]
    ) -> Object {
        // The latest value is shown.
        let sorted = candidates.sorted { $1.stamp < $0.stamp }
        let values = sorted.enumerated().map { number, candidate in
            Value.object([
                "value": candidate.value, "site": .string(candidate.stamp.site.text),
                "time": .integer(Int64(clamping: candidate.stamp.time.milliseconds)),
                "isShown": .bool(number == 0),
            ])
        }
        let field = PathText.of(path)
        return [
            "_id": .string("\(collection).\(id.json).\(field)"), "collection": .string(collection),
            "document": id, "field": .string(field), "values": .array(values),
        ]
    }
}
