import SheafBytes
import SheafDocument

/// Rows of the first source that wait until the partners of all of them are looked up by id.
///
/// Looking up many of them at a time overlaps the latency of memory.
final class WaitingRows {
    let join: JoinPlan
    let keys: KeyBatch
    private let evaluator: Evaluator
    @exclusivity(unchecked) private(set) var documents: [ScannedDocument] = []
    /// The row of each key, and whether equal keys imply equal values.
    @exclusivity(unchecked) private(set) var lookups: [(row: Int, isFound: Bool)] = []
    /// Number of rows that are looked up at a time.
    @exclusivity(unchecked) private var length: Int

    private static let firstLength = 64
    private static let maximumLength = 4_096

    /// Creates an empty list for the first join of a plan; nil if its rows are joined one by one.
    init?(_ plan: SelectPlan) {
        guard let join = plan.joins.first, join.kind != .right,
            case .id(let evaluator, _) = join.lookup,
            let prefix = plan.sources[join.source].collection?.keyPrefix
        else { return nil }
        self.join = join
        self.evaluator = evaluator
        keys = KeyBatch(behind: prefix)
        let needed = plan.limit.map { QueryLimits.sum($0, plan.offset) } ?? Self.firstLength
        length = plan.visitsAllRows ? Self.maximumLength : max(1, min(needed, Self.firstLength))
    }

    /// Whether the partners should be looked up.
    var isFull: Bool { documents.count >= length }

    /// Adds the document of the current row of the first source.
    func add(_ document: ScannedDocument, _ frame: RowContext) throws(StoreError) {
        if let field = join.idField, try add(document, field) { return }
        let value = try evaluator(frame)
        if let value, value != .null {
            keys.append(value)
            lookups.append((documents.count, value.isFoundByKey))
        } else if join.kind == .inner {
            return
        }
        documents.append(document)
    }

    /// Adds a document whose field is a text, an integer, null or missing, without decoding it.
    ///
    /// Returns false for other values.
    private func add(
        _ document: ScannedDocument, _ field: FieldPath
    ) throws(StoreError) -> Bool {
        let element = try onDocument(at: document.position) { () throws(Malformed) in
            try field.element(in: document.fields)
        }
        switch element.kind {
        case .string: guard keys.append(text: element.text) else { return false }
        case .integer: keys.append(.integer(element.integer))
        case .missing, .null:
            if join.kind != .inner { documents.append(document) }
            return true
        default: return false
        }
        lookups.append((documents.count, true))
        documents.append(document)
        return true
    }

    /// Removes all rows; later ones are looked up in greater numbers.
    func removeAll() {
        keys.removeAll()
        documents.removeAll(keepingCapacity: true)
        lookups.removeAll(keepingCapacity: true)
        length = min(length * 8, Self.maximumLength)
    }
}

extension Value {
    /// Whether key equality implies value equality.
    var isFoundByKey: Bool { kind == .string || kind == .number }
}
