import SheafBytes
public import SheafDocument
public import SheafStatements

/// Results of statements as instances of a type.
///
/// `coding` is the form of dates, decimals and durations in the interpolated values and the rows.
extension Store {
    /// Returns the rows of a statement as instances of a type.
    ///
    ///     let cars: [Car] = try await store.fetchAll("SELECT * FROM cars WHERE year > \(year)")
    public nonisolated(nonsending) func fetchAll<T: Decodable>(
        _ query: DQL, _ arguments: QueryArguments = QueryArguments(), as type: T.Type = T.self,
        coding: ValueCoding = ValueCoding()
    ) async throws -> [T] {
        try await execute(query.coded(coding), arguments).items
            .map { try $0.decode(type, coding: coding) }
    }

    /// Returns the first row of a statement as an instance of a type; nil if there is no row.
    public nonisolated(nonsending) func fetchOne<T: Decodable>(
        _ query: DQL, _ arguments: QueryArguments = QueryArguments(), as type: T.Type = T.self,
        coding: ValueCoding = ValueCoding()
    ) async throws -> T? {
        try await execute(query.coded(coding), arguments).items.first?
            .decode(type, coding: coding)
    }

    /// Returns the only column of the first row of a statement.
    ///
    ///     let count: Int = try await store.fetchValue("SELECT COUNT(*) FROM cars")
    ///
    /// Without a row, and for NULL and MISSING, it returns nil if the type is optional, and throws
    /// otherwise.
    public nonisolated(nonsending) func fetchValue<T: Decodable>(
        _ query: DQL, _ arguments: QueryArguments = QueryArguments(), as type: T.Type = T.self,
        coding: ValueCoding = ValueCoding()
    ) async throws -> T {
        try await execute(query.coded(coding), arguments).singleValue(of: query)
            .decode(type, coding)
    }
}

extension StoreTransaction {
    /// Returns the rows of a statement as instances of a type.
    public nonisolated(nonsending) func fetchAll<T: Decodable>(
        _ query: DQL, _ arguments: QueryArguments = QueryArguments(), as type: T.Type = T.self,
        coding: ValueCoding = ValueCoding()
    ) async throws -> [T] {
        try await execute(query.coded(coding), arguments).items
            .map { try $0.decode(type, coding: coding) }
    }

    /// Returns the first row of a statement as an instance of a type; nil if there is no row.
    public nonisolated(nonsending) func fetchOne<T: Decodable>(
        _ query: DQL, _ arguments: QueryArguments = QueryArguments(), as type: T.Type = T.self,
        coding: ValueCoding = ValueCoding()
    ) async throws -> T? {
        try await execute(query.coded(coding), arguments).items.first?
            .decode(type, coding: coding)
    }

    /// Returns the only column of the first row of a statement, as `Store.fetchValue` does.
    public nonisolated(nonsending) func fetchValue<T: Decodable>(
        _ query: DQL, _ arguments: QueryArguments = QueryArguments(), as type: T.Type = T.self,
        coding: ValueCoding = ValueCoding()
    ) async throws -> T {
        try await execute(query.coded(coding), arguments).singleValue(of: query)
            .decode(type, coding)
    }
}

/// The value of a statement that is read for one value.
struct SingleValue {
    /// The value; nil without a row, and if the column is missing.
    private let value: Value?
    private let hasRow: Bool
    private let query: DQL

    func decode<T: Decodable>(_ type: T.Type, _ coding: ValueCoding) throws -> T {
        do { return try ValueDecoder(coding: coding).decode(type, from: value ?? .null) } catch {
            guard value == nil || value?.isNull == true else { throw error }
            throw StoreError(
                .notFound,
                hasRow
                    ? "the first row of \(query.text.shortened) has no value"
                    : "\(query.text.shortened) returned no row",
                hint: "fetch an optional, such as \(type)?, if there may be none")
        }
    }

    fileprivate init(_ result: QueryResult, _ query: DQL) throws {
        guard let columns = result.columns, columns.count == 1 else {
            throw StoreError(
                .meaning,
                "a value can be fetched only from a statement with one column; "
                    + "\(query.text.shortened) returns "
                    + (result.columns.map { "\($0.count) columns" } ?? "complete documents"),
                hint: "select one column, or use fetchOne")
        }
        self.query = query
        hasRow = !result.items.isEmpty
        value = hasRow ? try result.storage.value(0, of: columns[0]) : nil
    }
}

extension QueryResult {
    /// Returns the only column of the first row.
    func singleValue(of query: DQL) throws -> SingleValue { try SingleValue(self, query) }
}
