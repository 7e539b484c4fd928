import SheafBytes
import SheafDocument

/// The conversion of rows of a table to objects.
///
/// NULL is a missing field. Columns that are declared BOOLEAN have `false` and `true` where a row
/// has 0 and 1, and texts of columns that are declared JSON are parsed.
struct SQLiteRowDecoding {
    /// The reason why a row is refused.
    struct Refusal: Error {
        let reason: String
    }

    private enum Kind {
        case plain, boolean, json
    }

    private struct Field {
        let name: String
        let kind: Kind
    }

    private let fields: [Field]
    /// Indexes of the columns of the id, which is an object if there are several; empty if the
    /// store assigns ids.
    private let idIndexes: [Int]

    private static let idName = "_id"

    init(_ table: SQLiteTable, _ options: SQLiteSource.Options) throws(ImportError) {
        for name in options.jsonColumns where table.index(of: name) == nil {
            throw Self.missing(name, "--json-columns", table)
        }
        fields = table.columns.map { column in
            let kind: Kind =
                if column.type.contains("json")
                    || options.jsonColumns.contains(where: { column.isNamed($0) })
                {
                    .json
                } else if column.type.hasPrefix("bool") {
                    .boolean
                } else {
                    .plain
                }
            return Field(name: column.name, kind: kind)
        }
        if let name = options.idColumn {
            guard let index = table.index(of: name) else {
                throw Self.missing(name, "--id", table)
            }
            idIndexes = [index]
        } else if let index = table.index(of: Self.idName) {
            idIndexes = [index]
        } else {
            idIndexes = table.key.compactMap { table.index(of: $0.name) }
        }
        if let index = table.index(of: Self.idName), idIndexes != [index] {
            throw .usage(
                "the table \(table.name.shortened) has a column _id; omit --id, or rename the "
                    + "column")
        }
    }

    private static func missing(
        _ name: String, _ option: String, _ table: SQLiteTable
    ) -> ImportError {
        let names = table.columns.map { $0.name.shortened(to: 30) }
        return .usage(
            "\(option) names '\(name.shortened)', and the table \(table.name.shortened) has the "
                + "columns " + names.prefix(10).joined(separator: ", ")
                + (names.count > 10 ? " and \(names.count - 10) more" : ""))
    }

    /// Returns the object of the current row.
    func object(of statement: SQLiteStatement) throws(Refusal) -> Object {
        var found: [Object.Field] = []
        var id: [Object.Field] = []
        found.reserveCapacity(fields.count + 1)
        for (index, field) in fields.enumerated() {
            guard let value = try value(of: statement, index, field) else { continue }
            if idIndexes.contains(index) {
                id.append(Object.Field(field.name, value))
            } else {
                found.append(Object.Field(field.name, value))
            }
        }
        if !idIndexes.isEmpty {
            guard id.count == idIndexes.count else {
                let names = idIndexes.map { fields[$0].name.shortened }
                throw Refusal(reason: "\(names.joined(separator: ", ")), the id, is NULL")
            }
            let value = id.count == 1 ? id[0].value : .object(Object(sorting: id))
            found.append(Object.Field(Self.idName, value))
        }
        return Object(sorting: found)
    }

    private func value(
        of statement: SQLiteStatement, _ index: Int, _ field: Field
    ) throws(Refusal) -> Value? {
        switch statement.column(index) {
        case .null: return nil
        case .integer(let value):
            guard case .boolean = field.kind, value == 0 || value == 1 else {
                return .integer(value)
            }
            return .bool(value == 1)
        case .float(let value): return .float(value)
        case .blob(let bytes): return .bytes(Array(bytes))
        case .text(let bytes):
            if case .json = field.kind {
                do throws(JSONError) { return try JSONReader.read(bytes) } catch {
                    throw Refusal(
                        reason: "the column \(field.name.shortened) is not valid JSON: \(error)")
                }
            }
            guard let text = String(validating: bytes, as: UTF8.self) else {
                throw Refusal(
                    reason: "the column \(field.name.shortened) is not valid UTF-8")
            }
            return .string(text)
        }
    }
}
