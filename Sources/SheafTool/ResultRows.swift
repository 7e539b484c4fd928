import Sheaf
import SheafDocument
import SheafLineEditor
import SheafQuery
import SheafStatements

/// The rows of a result, decoded one by one on each iteration.
struct ResultRows {
    private let items: ArraySlice<ResultItem>
    private let names: NameTable
    /// The columns of the projection; nil if the rows are complete documents.
    let columns: [String]?

    var count: Int { items.count }

    /// Creates the rows of a result without the row of PROFILE.
    init(_ result: ResultStorage) {
        let all = result.items
        items = Self.profile(all) == nil ? all[...] : all.dropLast()
        columns = result.columns
        names = result.names
    }

    /// Creates rows of a command.
    init(_ rows: [Object], columns: [String]) {
        items = rows.map { ResultItem(content: .object($0)) }[...]
        self.columns = columns
        names = NameTable()
    }

    /// Returns the row of PROFILE, if the result has one.
    static func profile(_ items: [ResultItem]) -> Object? {
        guard case .object(let last)? = items.last?.content, last.count == 1,
            last[profileName] != nil
        else { return nil }
        return last
    }

    /// The name of the only field in the row of PROFILE.
    static let profileName = "~request_profile"

    /// Calls `body` with each row until it returns false; Ctrl-C in a shell ends the iteration.
    func forEach(_ body: (Object) throws(StoreError) -> Bool) throws(StoreError) {
        for item in items {
            guard !TerminalSignals.isInterrupted else {
                throw StoreError(.cancelled, "interrupted")
            }
            guard try body(try item.object(names)) else { return }
        }
    }
}

/// The columns of a result, found by iterating over all rows.
struct ResultColumns {
    struct Column {
        let name: String
        /// The width of the widest cell, if cells are measured.
        var width = 0
        private(set) var hasNumbers = false
        private(set) var hasOthers = false

        /// Whether all values of the column are numbers or null, and at least one is a number.
        var isNumeric: Bool { hasNumbers && !hasOthers }

        fileprivate mutating func measure(_ value: Value) {
            switch value {
            case .integer, .float: hasNumbers = true
            case .null: break
            default: hasOthers = true
            }
        }
    }

    private(set) var all: [Column] = []
    /// Column indexes by the bytes of the name, since equal strings may differ in their bytes.
    private var numbers: [[UInt8]: Int] = [:]

    /// Maximum number of columns; a wider table would be unreadable and use too much memory.
    static let maximumCount = 1_000

    /// Creates the columns of the projection, followed by those of all other fields of the rows.
    ///
    /// The other fields are in the order of their first appearance.
    init(
        of rows: ResultRows, measuring width: ((Value) -> Int)? = nil
    ) throws(StoreError) {
        for name in rows.columns ?? [] { _ = try number(of: name) }
        try rows.forEach { (row) throws(StoreError) in
            try measure(row, width)
            return true
        }
    }

    private mutating func measure(
        _ row: Object, _ width: ((Value) -> Int)?
    ) throws(StoreError) {
        for field in row {
            let number = try number(of: field.name)
            all[number].measure(field.value)
            guard let width else { continue }
            all[number].width = max(all[number].width, width(field.value))
        }
    }

    private mutating func number(of name: String) throws(StoreError) -> Int {
        let bytes = Array(name.utf8)
        if let known = numbers[bytes] { return known }
        guard all.count < Self.maximumCount else {
            throw StoreError(
                .limit, "the rows have more than \(Self.maximumCount) different fields",
                hint: "use the mode jsonl or line")
        }
        all.append(Column(name: name))
        numbers[bytes] = all.count - 1
        return all.count - 1
    }
}
