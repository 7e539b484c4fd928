import SheafBytes
import SheafDocument
import SheafQuery
import SheafStorage

/// Holds the links of a state against what its documents say, made in another way: the entries of
/// indexes, and the links to tombstones.
///
/// Where links are right up to an older commit, those are looked at that nothing has changed since.
package struct IndexVerifier {
    private struct Link {
        let key: [UInt8]
        let place: Place

        var isTombstone: Bool { TombstoneLink.isTombstone(key) }
    }

    package private(set) var findings: [DocumentVerifier.Finding] = []
    /// How many links were found to be right.
    package private(set) var rightCount = 0

    private let snapshot: DocumentSnapshot
    /// More mistakes are not listed.
    private static let maximumFindings = 64

    /// Checks all indexes; of links that lead nowhere nothing is believed.
    package static func verify(_ snapshot: DocumentSnapshot) throws(EngineError) -> IndexVerifier {
        var verifier = IndexVerifier(snapshot: snapshot)
        guard snapshot.log.linked.commit > 0 else { return verifier }
        verifier.compare(try verifier.expected(), verifier.found())
        return verifier
    }

    private init(snapshot: DocumentSnapshot) {
        self.snapshot = snapshot
    }

    private func isUnchanged(_ place: Place?) -> Bool {
        place.map { $0.position < snapshot.log.linked.end } ?? false
    }

    /// The indexes that had links when the links were right.
    private var indexes: [IndexDefinition] {
        snapshot.directory.indexes.values.joined().filter { definition in
            isUnchanged(definition.key.withUnsafeBytes { snapshot.log.place(of: $0) })
        }
    }

    /// The links that there have to be, in order.
    private func expected() throws(EngineError) -> [Link] {
        var links = try expectedTombstones()
        for definition in indexes {
            let range = StoreKey.documents(of: definition.collection)
            try snapshot.log.tree.forEach(in: range) { (key, value) throws(EngineError) in
                let key = Array(key)
                guard let place = Place(value), isUnchanged(place),
                    let link = try link(to: key, in: definition)
                else { return true }
                links.append(Link(key: link, place: place))
                return true
            }
        }
        return links.sorted { $0.key.lexicographicallyPrecedes($1.key) }
    }

    /// The links to what is left of documents.
    private func expectedTombstones() throws(EngineError) -> [Link] {
        var links: [Link] = []
        try snapshot.log.tree.forEach(in: StoreKey.documents) { (key, value) throws(EngineError) in
            let key = Array(key)
            guard let place = Place(value), isUnchanged(place),
                let document = try snapshot.document(key)
            else { return true }
            let isTombstone = try onDocument(key) { () throws(Malformed) in
                try document.read { bytes throws(Malformed) in
                    try EncodedDocument(bytes).value(snapshot.names) == nil
                }
            }
            if isTombstone {
                links.append(Link(key: TombstoneLink.key(toDocument: key), place: place))
            }
            return true
        }
        return links
    }

    /// The key that leads to a document; none where it does not exist.
    ///
    /// The document is decoded whole, while those who make links read its fields in place.
    private func link(
        to key: [UInt8], in definition: IndexDefinition
    ) throws(EngineError) -> [UInt8]? {
        guard let document = try snapshot.document(key) else { return nil }
        return try onDocument(key) { () throws(Malformed) in
            let id = Array(key.dropFirst(3))
            let object = try document.read { bytes throws(Malformed) in
                let document = try EncodedDocument(bytes)
                return try document.exists() ? try document.value(snapshot.names) : nil
            }
            guard let object else { return nil }
            var fields = Array(object.map { ($0.name, $0.value) }.filter { $0.0 != "_id" })
            fields.append((IndexKeyMaker.idName, try DocumentID.id(of: id)))
            let whole = Value.object(Object(fields))
            let values = definition.fields.map { whole.value(at: $0.path) }
            return IndexEntry.key(of: definition, values, id: id)
        }
    }

    /// The links that there are, in order, but for those of what has changed since.
    private func found() -> [Link] {
        var links: [Link] = []
        let isWhole = snapshot.log.linked.commit == snapshot.log.commit
        let known = indexes
        snapshot.forEachEntry(in: LinkChanges.all) { key, place in
            let link = Link(key: Array(key), place: place)
            if isWhole || isCurrent(link, known) { links.append(link) }
            return true
        }
        return links
    }

    /// Whether a link is one of an index that is there still, and leads to what is.
    private func isCurrent(_ link: Link, _ known: [IndexDefinition]) -> Bool {
        guard
            TombstoneLink.isTombstone(link.key)
                || known.contains(where: { $0.entries.contains(link.key) }),
            let found = try? snapshot.log.operation(at: link.place)
        else { return false }
        return snapshot.log.place(of: found.operation.key) == link.place
    }

    private mutating func compare(_ expected: [Link], _ found: [Link]) {
        var (left, right) = (expected[...], found[...])
        while findings.count < Self.maximumFindings {
            switch (left.first, right.first) {
            case (nil, nil): return
            case (let wanted?, let there?) where wanted.key == there.key:
                if wanted.place == there.place {
                    rightCount += 1
                } else {
                    let what = wanted.isTombstone ? "the link to a tombstone" : "an index"
                    note(wanted.place, "\(what) leads to \(there.place.position) instead")
                }
                (left, right) = (left.dropFirst(), right.dropFirst())
            case (let wanted?, let there)
            where there.map { wanted.key.lexicographicallyPrecedes($0.key) } ?? true:
                note(
                    wanted.place,
                    wanted.isTombstone
                        ? "nothing links to the tombstone" : "the document is missing in an index")
                left = left.dropFirst()
            case (_, let there?):
                note(
                    there.place,
                    there.isTombstone
                        ? "what is linked to as a tombstone is none"
                        : "an index has what its documents have not")
                right = right.dropFirst()
            case (_, nil): return
            }
        }
    }

    private mutating func note(_ place: Place, _ reason: String) {
        findings.append(
            DocumentVerifier.Finding(position: place.position, reason: reason))
    }
}
