import Glibc
package import SheafDocument

/// The rows of a statement in both systems.
///
/// SQLite has no booleans, and neither arrays nor objects: they are compared as the numbers and
/// JSON texts that `json_extract` returns. NULL stands for missing values too.
package struct RowComparison {
    private let sheaf: [String]
    private let sqlite: [String]

    /// Creates a comparison of rows, each with a value for each column.
    package init(sheaf: [[Value]], sqlite: [[Value]]) {
        self.sheaf = sheaf.map(Self.text)
        self.sqlite = sqlite.map(Self.text)
    }

    /// Whether both have the same rows in the same order.
    package var isSameSequence: Bool { sheaf == sqlite }

    /// Whether both have the same rows in any order.
    package var isSameSet: Bool { sheaf.sorted() == sqlite.sorted() }

    /// Whether all rows of Sheaf are among those of SQLite.
    package var isSubset: Bool {
        var counts: [String: Int] = [:]
        for row in sqlite { counts[row, default: 0] += 1 }
        return sheaf.allSatisfy { row in
            counts[row, default: 0] -= 1
            return counts[row, default: 0] >= 0
        }
    }

    /// The numbers of rows, and the first ones that differ.
    package var description: String {
        var text = "sheaf returns \(sheaf.count), sqlite \(sqlite.count)"
        let (first, second) = (Set(sheaf), Set(sqlite))
        if let row = sheaf.first(where: { !second.contains($0) }) {
            text += "; only sheaf: \(WorkloadFileError.shortened(row, to: 200))"
        }
        if let row = sqlite.first(where: { !first.contains($0) }) {
            text += "; only sqlite: \(WorkloadFileError.shortened(row, to: 200))"
        }
        return text
    }

    private static func text(_ row: [Value]) -> String {
        if row.count == 1, case .object(let object) = row[0] { return canonical(object) }
        return row.map(column).joined(separator: " | ")
    }

    /// Returns a complete document; numbers without a fraction are equal as integers and floats.
    private static func canonical(_ object: Object) -> String { number(.object(object)).json }

    /// Returns the text of a value that is equal in all systems.
    static func column(_ value: Value) -> String {
        switch value {
        case .bool(let flag): flag ? "1" : "0"
        case .array, .object: number(value).json
        case .string(let text):
            // `json_extract` returns arrays and objects as texts.
            if text.hasPrefix("[") || text.hasPrefix("{"), let parsed = try? Value(json: text) {
                number(parsed).json
            } else {
                value.json
            }
        default: number(value).json
        }
    }

    /// Returns a value in which each float that an integer equals is that integer.
    private static func number(_ value: Value) -> Value {
        switch value {
        case .float(let float):
            let rounded = Double(significant(float)) ?? float
            return Int64(exactly: rounded).map { .integer($0) } ?? .float(rounded)
        case .array(let elements): return .array(elements.map(number))
        case .object(let object):
            return .object(Object(object.map { ($0.name, number($0.value)) }))
        default: return value
        }
    }

    /// Returns a number with twelve significant digits.
    ///
    /// The last digits of a sum depend on the order of its additions.
    private static func significant(_ number: Double) -> String {
        var bytes = [CChar](repeating: 0, count: 40)
        let length = withVaList([number]) { vsnprintf(&bytes, bytes.count, "%.11e", $0) }
        return String(
            decoding: bytes.prefix(Int(length)).map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}
