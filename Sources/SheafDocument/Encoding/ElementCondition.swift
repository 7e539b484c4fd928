import SheafBytes

/// A condition that the elements of fields decide, unless one of them is of the kind `other`.
package indirect enum ElementCondition: Sendable {
    case comparison(FieldPath, FieldFilter.Outcomes, Value)
    /// Whether a document is within a bound, which a running scan replaces.
    case bound(FieldBound)
    case prefix(FieldPath, [UInt8])
    /// The answer for each kind of element.
    case kind(FieldPath, [FieldFilter.Answer])
    case all([ElementCondition])
    case any([ElementCondition])
    case negated(ElementCondition)

    /// The paths whose elements decide the condition, each at least once.
    package var paths: [FieldPath] {
        switch self {
        case .comparison(let path, _, _), .prefix(let path, _), .kind(let path, _): [path]
        case .bound(let bound): [bound.path]
        case .all(let parts), .any(let parts): parts.flatMap(\.paths)
        case .negated(let part): part.paths
        }
    }

    /// Returns the answer for each kind of element, in the order of the raw values.
    ///
    /// The answer must not depend on the value of a number or a text.
    static func answers(_ question: (Value?) -> FieldFilter.Answer) -> [FieldFilter.Answer] {
        let examples: [Value?] = [
            nil, .null, .bool(false), .bool(true), .integer(0), .float(0), .string(""),
        ]
        return examples.map(question)
    }
}

/// The elements of several fields of some documents: columns by their number, then rows.
package typealias ElementColumns = UnsafePointer<UnsafePointer<FieldElement>>

/// A filter on columns of elements, compiled to closures.
///
/// The closures are in this module for the same reason as those of `FieldFilter`.
package struct ElementFilter: Sendable {
    typealias Answer = FieldFilter.Answer
    private typealias Evaluation = @Sendable (ElementColumns, _ row: Int) -> Answer
    /// Keeps the indexes of matching rows, and returns their number.
    private typealias Selection =
        @Sendable (ElementColumns, UnsafeMutablePointer<UInt16>, _ count: Int) -> Int

    /// The conditions, all of which must hold.
    private let selections: [Selection]

    /// Creates a filter; `number` returns the number of the column of a path.
    package init(_ condition: ElementCondition, _ number: (FieldPath) -> Int) {
        let parts = if case .all(let parts) = condition { parts } else { [condition] }
        selections = parts.map { Self.selection($0, number) }
    }

    /// Keeps the indexes of matching rows; returns their number.
    package func select(
        _ indexes: UnsafeMutablePointer<UInt16>, _ count: Int, of columns: ElementColumns
    ) -> Int {
        var count = count
        for selection in selections where count > 0 { count = selection(columns, indexes, count) }
        return count
    }

    // MARK: Loops

    private static func selection(
        _ condition: ElementCondition, _ number: (FieldPath) -> Int
    ) -> Selection {
        switch condition {
        case .comparison(let path, let outcomes, let value):
            return comparison(number(path), outcomes, value)
        case .bound(let bound):
            let column = number(bound.path)
            return { (columns, indexes, count) in
                guard let (value, outcomes) = bound.currentComparison else { return count }
                switch value {
                case .integer(let integer):
                    return select(columns[column], indexes, count) {
                        $0.compare(integer, outcomes) != .no
                    }
                case .string(let text):
                    return Array(text.utf8).withUnsafeBytes { bytes in
                        select(columns[column], indexes, count) {
                            $0.compare(bytes, outcomes) != .no
                        }
                    }
                default:
                    return select(columns[column], indexes, count) {
                        $0.compare(with: value, outcomes) != .no
                    }
                }
            }
        case .kind(let path, let answers):
            let (column, answers) = (number(path), answers.map { $0 == .yes })
            return { (columns, indexes, count) in
                select(columns[column], indexes, count) { answers[Int($0.kind.rawValue)] }
            }
        default:
            let evaluate = evaluation(condition, number)
            return { (columns, indexes, count) in
                var kept = 0
                for index in 0..<count {
                    let row = indexes[index]
                    indexes[kept] = row
                    if evaluate(columns, Int(row)) == .yes { kept &+= 1 }
                }
                return kept
            }
        }
    }

    private static func comparison(
        _ column: Int, _ outcomes: FieldFilter.Outcomes, _ value: Value
    ) -> Selection {
        switch value {
        case .integer(let integer):
            return { (columns, indexes, count) in
                select(columns[column], indexes, count) { $0.compare(integer, outcomes) == .yes }
            }
        case .string(let text) where outcomes == .equal:
            let key = TextKey(text)
            return { (columns, indexes, count) in
                select(columns[column], indexes, count) { key.isEqual(to: $0) }
            }
        case .string(let text):
            let bytes = Array(text.utf8)
            return { (columns, indexes, count) in
                bytes.withUnsafeBytes { bytes in
                    select(columns[column], indexes, count) {
                        $0.compare(bytes, outcomes) == .yes
                    }
                }
            }
        default:
            return { (columns, indexes, count) in
                select(columns[column], indexes, count) {
                    $0.compare(with: value, outcomes) == .yes
                }
            }
        }
    }

    /// Runs the loop of a condition on one column around an inlined predicate.
    @inline(__always)
    private static func select(
        _ elements: UnsafePointer<FieldElement>, _ indexes: UnsafeMutablePointer<UInt16>,
        _ count: Int, where holds: (FieldElement) -> Bool
    ) -> Int {
        var kept = 0
        for index in 0..<count {
            let row = indexes[index]
            indexes[kept] = row
            kept &+= holds(elements[Int(row)]) ? 1 : 0
        }
        return kept
    }

    // MARK: Single rows

    private static func evaluation(
        _ condition: ElementCondition, _ number: (FieldPath) -> Int
    ) -> Evaluation {
        switch condition {
        case .comparison(let path, let outcomes, let value):
            let column = number(path)
            return { (columns, row) in columns[column][row].compare(with: value, outcomes) }
        case .bound(let bound):
            let column = number(bound.path)
            return { (columns, row) in
                guard let (value, outcomes) = bound.currentComparison else { return .yes }
                return columns[column][row].compare(with: value, outcomes) == .no ? .no : .yes
            }
        case .prefix(let path, let prefix):
            let column = number(path)
            return { (columns, row) in
                let element = columns[column][row]
                guard element.kind == .string else { return .unknown }
                return element.text.starts(with: prefix) ? .yes : .no
            }
        case .kind(let path, let answers):
            let column = number(path)
            return { (columns, row) in answers[Int(columns[column][row].kind.rawValue)] }
        case .all(let parts):
            let parts = parts.map { evaluation($0, number) }
            return { (columns, row) in
                var answer = Answer.yes
                for part in parts {
                    switch part(columns, row) {
                    case .no: return .no
                    case .unknown: answer = .unknown
                    case .yes: break
                    }
                }
                return answer
            }
        case .any(let parts):
            let parts = parts.map { evaluation($0, number) }
            return { (columns, row) in
                var answer = Answer.no
                for part in parts {
                    switch part(columns, row) {
                    case .yes: return .yes
                    case .unknown: answer = .unknown
                    case .no: break
                    }
                }
                return answer
            }
        case .negated(let part):
            let part = evaluation(part, number)
            return { (columns, row) in part(columns, row).negated }
        }
    }
}

/// A text to compare with those of columns.
private struct TextKey: Sendable {
    private let bytes: [UInt8]
    /// The first eight bytes, and the bits of them that are in the text.
    private let head: UInt64
    private let mask: UInt64

    private static let headCount = MemoryLayout<UInt64>.size

    init(_ text: String) {
        bytes = Array(text.utf8)
        let first = bytes.prefix(Self.headCount)
        head = first.reversed().reduce(0) { $0 << 8 | UInt64($1) }
        mask = first.count == Self.headCount ? .max : (1 << (8 * UInt64(first.count))) - 1
    }

    /// Whether the element is this text; only for elements of columns.
    @inline(__always)
    func isEqual(to element: FieldElement) -> Bool {
        guard element.kind == .string, element.textCount == bytes.count,
            let base = element.text.baseAddress,
            UInt64(littleEndian: base.loadUnaligned(as: UInt64.self)) & mask == head
        else { return false }
        guard bytes.count > Self.headCount else { return true }
        return bytes.withUnsafeBytes { element.text.hasSameBytes(as: $0) }
    }
}

extension FieldElement {
    /// Compares the element with a value; unknown if it is of another type.
    fileprivate func compare(
        with value: Value, _ outcomes: FieldFilter.Outcomes
    ) -> FieldFilter.Answer {
        switch (value, kind) {
        case (.integer(let integer), _): compare(integer, outcomes)
        case (.float(let other), .integer): outcomes.answer(NumberOrder.compare(integer, other))
        case (.float(let other), .float): outcomes.answer(NumberOrder.compare(float, other))
        case (.string(let text), .string):
            Array(text.utf8).withUnsafeBytes { compare($0, outcomes) }
        case (.bool(let flag), .yes): outcomes.answer(flag ? 0 : 1)
        case (.bool(let flag), .no): outcomes.answer(flag ? -1 : 0)
        default: .unknown
        }
    }

    @inline(__always)
    fileprivate func compare(
        _ other: Int64, _ outcomes: FieldFilter.Outcomes
    ) -> FieldFilter.Answer {
        switch kind {
        case .integer: outcomes.answer(NumberOrder.compare(integer, other))
        case .float: outcomes.answer(-NumberOrder.compare(other, float))
        default: .unknown
        }
    }

    @inline(__always)
    fileprivate func compare(
        _ bytes: UnsafeRawBufferPointer, _ outcomes: FieldFilter.Outcomes
    ) -> FieldFilter.Answer {
        guard kind == .string else { return .unknown }
        return outcomes.answer(UTF8Order.compare(text, bytes))
    }
}
