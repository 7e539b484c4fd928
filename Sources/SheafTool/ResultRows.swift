import SheafDocument
import SheafQuery

/// The rows of a result, which are decoded one by one each time that somebody goes over them.
struct ResultRows {
    private let items: ArraySlice<ResultItem>
    private let names: NameTable
    /// The columns of the projection; none where rows are whole documents.
    let columns: [String]?

    var count: Int { items.count }

    /// The rows without that of PROFILE.
    init(_ rows: QueryRows, _ names: NameTable) {
        items = Self.profile(rows) == nil ? rows.items[...] : rows.items.dropLast()
        columns = rows.columns
        self.names = names
    }

    /// What PROFILE has found out, if it was asked to.
    static func profile(_ rows: QueryRows) -> Object? {
        guard case .object(let last)? = rows.items.last?.content, last.count == 1,
            last[profileName] != nil
        else { return nil }
        return last
    }

    /// What the row of PROFILE is called.
    static let profileName = "~request_profile"

    /// Calls `body` with each row, until it returns false.
    func forEach(_ body: (Object) throws(QueryError) -> Bool) throws(QueryError) {
        for item in items {
            guard try body(try item.object(names)) else { return }
        }
    }
}

/// The columns that a result has, found by a first look at all its rows.
struct ResultColumns {
    struct Column {
        let name: String
        /// The widest of its cells, where they are measured.
        var width = 0
        private(set) var hasNumbers = false
        private(set) var hasOthers = false

        /// Whether nothing but numbers is in it.
        var isNumeric: Bool { hasNumbers && !hasOthers }

        fileprivate mutating func note(_ value: Value) {
            switch value {
            case .integer, .float: hasNumbers = true
            case .null: break
            default: hasOthers = true
            }
        }
    }

    private(set) var all: [Column] = []
    /// By the bytes of their names: two that look the same may be spelled differently.
    private var numbers: [[UInt8]: Int] = [:]

    /// More would make the rows of a table useless, and all of them together endless.
    static let maximumCount = 1_000

    /// The columns of the projection, and behind them those that only some rows have, in the order
    /// in which they appear.
    init(
        of rows: ResultRows, measuring width: ((Value) -> Int)? = nil
    ) throws(QueryError) {
        for name in rows.columns ?? [] { _ = try number(of: name) }
        try rows.forEach { (row) throws(QueryError) in
            try note(row, width)
            return true
        }
    }

    private mutating func note(
        _ row: Object, _ width: ((Value) -> Int)?
    ) throws(QueryError) {
        for field in row {
            let number = try number(of: field.name)
            all[number].note(field.value)
            guard let width else { continue }
            all[number].width = max(all[number].width, width(field.value))
        }
    }

    private mutating func number(of name: String) throws(QueryError) -> Int {
        let bytes = Array(name.utf8)
        if let known = numbers[bytes] { return known }
        guard all.count < Self.maximumCount else {
            throw QueryError(
                .limit, "the rows have more than \(Self.maximumCount) different fields",
                hint: "the modes json and line print them")
        }
        all.append(Column(name: name))
        numbers[bytes] = all.count - 1
        return all.count - 1
    }
}
