import BenchStores
package import SheafDocument

/// The rows of a query in a form that is equal in all systems.
///
/// Columns are compared by name, and missing values equal null ones.
package struct TableRows: Equatable {
    /// The text of each row, sorted.
    private let texts: [String]
    /// The number of changed rows of a writing query.
    private let changed: Int

    /// Creates rows from their values in the order of `columns`.
    package init(columns: [String], rows: [[Value]], changed: Int = 0) {
        self.changed = changed
        let order = columns.indices.sorted { columns[$0] < columns[$1] }
        texts = rows.map { row in
            order.compactMap { index in
                if case .null = row[index] { return nil }
                return "\(columns[index]) = \(RowComparison.column(row[index]))"
            }.joined(separator: ", ")
        }.sorted()
    }

    /// The number of rows, returned or changed.
    package var count: Int { texts.isEmpty ? changed : texts.count }

    /// Returns a sentence about the first difference from other rows; nil if there is none.
    package func difference(from other: TableRows) -> String? {
        guard self != other else { return nil }
        guard count == other.count, let pair = zip(texts, other.texts).first(where: { $0 != $1 })
        else { return "\(count) rows instead of \(other.count)" }
        return "\(pair.0) instead of \(pair.1)"
    }
}

/// The rows of queries, which the first system has returned.
package final class TableResults {
    private var rows: [String: TableRows] = [:]

    package init() {}

    /// Compares the rows of a query with those of the first system; throws if they differ.
    package func compare(_ new: TableRows, of query: String) throws {
        guard let known = rows[query] else {
            rows[query] = new
            return
        }
        guard let difference = new.difference(from: known) else { return }
        throw StoreFailure(description: "\(query) returned \(difference)")
    }
}
