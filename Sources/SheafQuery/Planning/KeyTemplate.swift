import SheafBytes
import SheafDocument

/// The key ranges selected by comparisons of the leading fields of an index, or of the id.
///
/// Computes the same ranges as `AccessPlanner`, but only for equalities and one range after them.
struct KeyTemplate {
    /// The comparisons of a field with operands.
    struct FieldComparisons {
        let operands: [(operation: ComparisonOperator, operand: Operand)]
        let isDescending: Bool
    }

    private let access: Access
    private let prefix: [UInt8]
    private let parts: [FieldComparisons]

    /// Creates the keys of an access path; nil if only `AccessPlanner` can compute its ranges.
    init?(_ access: Access, _ collection: CollectionDescription, _ terms: [TermTemplate]) {
        self.access = access
        let fields: [IndexDescription.Field]
        switch access {
        case .ids(let keys) where keys.count == 1:
            (prefix, fields) = (collection.keyPrefix, [AccessPlanner.idOrder])
        case .index(let scan): (prefix, fields) = (scan.index.keyPrefix, scan.index.fields)
        default: return nil
        }
        var parts: [FieldComparisons] = []
        for field in fields {
            var operands: [(operation: ComparisonOperator, operand: Operand)] = []
            for term in terms {
                if case .fixed(let condition) = term, condition.isAnything { continue }
                guard case .comparison(let path, let operation, let operand) = term else {
                    return nil
                }
                if path.isSpelled(field.path) { operands.append((operation, operand)) }
            }
            if operands.isEmpty { break }
            parts.append(FieldComparisons(operands: operands, isDescending: field.isDescending))
            if operands.count == 1, operands[0].operation == .equal { continue }
            guard operands.allSatisfy({ $0.operation.isOneRange }) else { return nil }
            break
        }
        if case .ids = access, parts.first?.operands[0].operation != .equal { return nil }
        self.parts = parts
    }

    /// Returns the access with the keys that arguments select; nil if they require a new plan.
    func access(_ arguments: ArgumentValues) -> Access? {
        var writer = SortKeyWriter(behind: prefix)
        for part in parts {
            if part.operands.count == 1, part.operands[0].operation == .equal {
                guard let value = part.operands[0].operand.value(arguments), value != .null else {
                    return nil
                }
                writer.append(value, descending: part.isDescending)
                continue
            }
            guard let range = Self.range(part, arguments) else { return nil }
            return access(range.keys(behind: writer.components, isDescending: part.isDescending))
        }
        if case .ids = access { return .ids([writer.components]) }
        return access(KeyRange.prefix(writer.components))
    }

    private func access(_ range: KeyRange) -> Access? {
        guard case .index(let scan) = access else { return nil }
        return .index(scan.with([range] + (scan.index.irregularKeys.map { [$0] } ?? [])))
    }

    /// Returns the values that satisfy all comparisons of a field; nil if there are none.
    private static func range(
        _ part: FieldComparisons, _ arguments: ArgumentValues
    ) -> ComponentRange? {
        var range: ComponentRange?
        for (operation, operand) in part.operands {
            guard let value = operand.value(arguments),
                let found = ComponentRange.values(operation, value).first
            else { return nil }
            range = range?.intersection(found) ?? found
        }
        guard let range, !range.isEmpty else { return nil }
        return range
    }
}

extension IndexScan {
    /// Returns the scan of other ranges of the same index.
    fileprivate func with(_ ranges: [KeyRange]) -> IndexScan {
        var scan = IndexScan(index, ranges)
        (scan.isReversed, scan.isCovering) = (isReversed, isCovering)
        return scan
    }
}

extension ComparisonOperator {
    /// Whether a comparison is true for one range of values, and not only for one value.
    fileprivate var isOneRange: Bool { self != .notEqual && self != .equal }
}

extension Access {
    /// Returns the number of documents or index entries of an access by keys.
    func count(_ count: (KeyRange) -> Int) -> Int {
        switch self {
        case .ids(let keys): keys.count
        case .index(let scan): scan.ranges.reduce(0) { $0 + count($1) }
        case .documents(let ranges, _): ranges.reduce(0) { $0 + count($1) }
        default: 0
        }
    }
}
