import SheafBytes
import Synchronization

/// A bound of a field, which a running scan replaces as it finds rows.
///
/// Documents whose field is missing or of another type than the bound are within it.
package final class FieldBound: Sendable {
    let path: FieldPath
    /// The comparisons with the bound that are accepted.
    private let outcomes: FieldFilter.Outcomes
    private let names: NameTable
    private let current = Mutex<(value: Value, filter: FieldFilter)?>(nil)

    /// Creates a bound that all documents are within.
    package init(_ path: FieldPath, _ outcomes: FieldFilter.Outcomes, _ names: NameTable) {
        self.path = path
        self.outcomes = outcomes
        self.names = names
    }

    /// Replaces the bound; all documents are within a missing one.
    package func replace(with value: Value?) {
        let bound = value.map { ($0, FieldFilter.within($0, path, outcomes, names)) }
        current.withLock { $0 = bound }
    }

    /// The value to compare with, and the accepted results; nil if all documents are within.
    var currentComparison: (value: Value, outcomes: FieldFilter.Outcomes)? {
        current.withLock { $0?.value }.map { ($0, outcomes) }
    }

    /// The filter for documents within the bound at the time of their batch.
    package var filter: FieldFilter {
        let filter = FieldFilter { [self] (fields) throws(Malformed) in
            guard let filter = current.withLock({ $0?.filter }) else { return .yes }
            return try filter.evaluate(fields)
        } _: { [self] (indexes, count, documents) throws(Malformed) in
            guard let filter = current.withLock({ $0?.filter }) else { return count }
            return try filter.select(indexes, count, of: documents)
        }
        return path.isShown ? filter.decided(by: .bound(self)) : filter
    }
}

extension FieldFilter {
    /// Returns a filter for documents whose field compares to a value with an accepted result, or
    /// with none.
    fileprivate static func within(
        _ value: Value, _ path: FieldPath, _ outcomes: Outcomes, _ names: NameTable
    ) -> FieldFilter {
        guard path.isShown else { return compare(path, outcomes, value, names).allowingUnknown }
        switch value {
        case .integer(let bound):
            return FieldFilter { (fields) throws(Malformed) in
                try isWithin(try path.find(in: fields), outcomes, bound) ? .yes : .no
            } _: { (indexes, count, documents) throws(Malformed) in
                try select(indexes, count, documents, path) { (entry) throws(Malformed) in
                    try isWithin(entry, outcomes, bound)
                }
            }
        case .float(let bound):
            return FieldFilter { (fields) throws(Malformed) in
                try isWithin(try path.find(in: fields), outcomes, bound) ? .yes : .no
            } _: { (indexes, count, documents) throws(Malformed) in
                try select(indexes, count, documents, path) { (entry) throws(Malformed) in
                    try isWithin(entry, outcomes, bound)
                }
            }
        case .string(let text):
            let bound = Array(text.utf8)
            return FieldFilter { (fields) throws(Malformed) in
                try isWithin(try path.find(in: fields), outcomes, bound) ? .yes : .no
            } _: { (indexes, count, documents) throws(Malformed) in
                try select(indexes, count, documents, path) { (entry) throws(Malformed) in
                    try isWithin(entry, outcomes, bound)
                }
            }
        default: return compare(path, outcomes, value, names).allowingUnknown
        }
    }

    /// Runs the loop of a batch filter on one field.
    @inline(__always)
    private static func select(
        _ indexes: UnsafeMutablePointer<UInt16>, _ count: Int,
        _ documents: UnsafePointer<EncodedObject>, _ path: FieldPath,
        where holds: (EncodedEntry?) throws(Malformed) -> Bool
    ) throws(Malformed) -> Int {
        guard path.steps.count == 1 else {
            return try select(indexes, count, documents) { (fields) throws(Malformed) in
                try holds(try path.find(in: fields))
            }
        }
        let name = path.steps[0].name
        return try select(indexes, count, documents) { (fields) throws(Malformed) in
            try holds(try fields.find(name))
        }
    }

    @inline(__always)
    private static func isWithin(
        _ entry: EncodedEntry?, _ outcomes: Outcomes, _ bound: Int64
    ) throws(Malformed) -> Bool {
        let element = try FieldElement(entry)
        switch element.kind {
        case .integer: return outcomes.accept(NumberOrder.compare(element.integer, bound))
        case .float: return outcomes.accept(-NumberOrder.compare(bound, element.float))
        default: return true
        }
    }

    @inline(__always)
    private static func isWithin(
        _ entry: EncodedEntry?, _ outcomes: Outcomes, _ bound: Double
    ) throws(Malformed) -> Bool {
        let element = try FieldElement(entry)
        switch element.kind {
        case .integer: return outcomes.accept(NumberOrder.compare(element.integer, bound))
        case .float: return outcomes.accept(NumberOrder.compare(element.float, bound))
        default: return true
        }
    }

    @inline(__always)
    private static func isWithin(
        _ entry: EncodedEntry?, _ outcomes: Outcomes, _ bound: [UInt8]
    ) throws(Malformed) -> Bool {
        let element = try FieldElement(entry)
        guard element.kind == .string else { return true }
        return bound.span.withUnsafeBytes {
            outcomes.accept(UTF8Order.compare(element.text, $0))
        }
    }
}

extension FieldFilter.Outcomes {
    /// Whether the result of a comparison is accepted.
    @inline(__always)
    fileprivate func accept(_ order: Int) -> Bool {
        contains(order < 0 ? .less : order == 0 ? .equal : .greater)
    }
}
