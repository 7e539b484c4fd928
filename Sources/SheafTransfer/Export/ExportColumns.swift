import SheafBytes
import SheafDocument

/// The columns of exported rows, found by reading all of them.
struct ExportColumns {
    /// The types of the values of a column.
    struct Kinds: OptionSet {
        let rawValue: UInt8

        static let null = Kinds(rawValue: 1)
        static let boolean = Kinds(rawValue: 2)
        static let integer = Kinds(rawValue: 4)
        static let float = Kinds(rawValue: 8)
        static let bytes = Kinds(rawValue: 16)
        static let string = Kinds(rawValue: 32)
        static let nested = Kinds(rawValue: 64)

        init(rawValue: UInt8) { self.rawValue = rawValue }

        init(_ value: Value) {
            switch value {
            case .null: self = .null
            case .bool: self = .boolean
            case .integer: self = .integer
            case .float: self = .float
            case .bytes: self = .bytes
            case .string: self = .string
            case .array, .object: self = .nested
            }
        }
    }

    struct Column {
        let name: String
        /// The bytes of the name, since equal strings may differ in their bytes.
        fileprivate let spelling: [UInt8]
        private(set) var kinds: Kinds = []
        /// Whether a string of the column can only be text, so that an import of CSV infers it.
        private(set) var hasPlainText = false
        /// Whether a string of the column contains U+0000.
        private(set) var hasNUL = false
        /// Whether a value is or contains one that JSON cannot have.
        private(set) var needsFullExport = false

        fileprivate init(_ name: String, _ spelling: [UInt8]) {
            (self.name, self.spelling) = (name, spelling)
        }

        fileprivate mutating func add(_ value: Value) {
            kinds.insert(Kinds(value))
            switch value {
            case .string(let text):
                if !hasPlainText, !CSVCells.isAmbiguous(text) { hasPlainText = true }
                if !hasNUL, text.utf8.contains(0) { hasNUL = true }
            case .float, .bytes, .array, .object:
                if !needsFullExport { needsFullExport = value.isLostInJSON }
            case .null, .bool, .integer: break
            }
        }
    }

    private(set) var all: [Column] = []
    /// Number of rows.
    private(set) var rowCount = 0
    private var numbers: [[UInt8]: Int] = [:]
    private let maximumCount: Int

    /// Maximum number of columns of a text, which bounds the memory of a row.
    static let maximumTextCount = 65_536

    /// Reads all rows.
    ///
    /// The columns of a projection come first, or else `_id`, then all others in the order of their
    /// first appearance.
    init(
        of source: RowSource, maximumCount: Int = maximumTextCount,
        _ progress: ExportProgress
    ) throws(ExportError) {
        self.maximumCount = maximumCount
        var others: [Int] = []
        let projected = try source.forEachObject { (row) throws(ExportError) in
            try add(row, &others)
            try progress.reportScan(rowCount)
        }
        try arrange(projected)
    }

    private mutating func add(_ row: Object, _ guesses: inout [Int]) throws(ExportError) {
        rowCount += 1
        // Most rows have the fields of the row before them.
        if guesses.count != row.count { guesses = Array(repeating: 0, count: row.count) }
        for (index, field) in row.enumerated() {
            var number = guesses[index]
            if number >= all.count || !all[number].spelling.elementsEqual(field.name.utf8) {
                number = try self.number(of: field.name)
                guesses[index] = number
            }
            all[number].add(field.value)
        }
    }

    private mutating func number(of name: String) throws(ExportError) -> Int {
        let spelling = Array(name.utf8)
        if let known = numbers[spelling] { return known }
        guard all.count < maximumCount else {
            throw .failed(
                "the rows have more than \(maximumCount) different fields, too many for columns; "
                    + "--format jsonl has no limit")
        }
        all.append(Column(name, spelling))
        numbers[spelling] = all.count - 1
        return all.count - 1
    }

    private mutating func arrange(_ projected: [String]?) throws(ExportError) {
        let first = projected ?? ["_id"]
        for name in first where projected != nil || numbers[Array(name.utf8)] != nil {
            _ = try number(of: name)
        }
        var order = first.compactMap { numbers[Array($0.utf8)] }
        var isPlaced = Array(repeating: false, count: all.count)
        for number in order { isPlaced[number] = true }
        order += all.indices.filter { !isPlaced[$0] }
        all = order.map { all[$0] }
    }
}

extension Value {
    /// Whether the value is or contains bytes, an infinity or NaN.
    fileprivate var isLostInJSON: Bool {
        switch self {
        case .bytes: true
        case .float(let value): !value.isFinite
        case .array(let values): values.contains { $0.isLostInJSON }
        case .object(let object): object.contains { $0.value.isLostInJSON }
        case .null, .bool, .integer, .string: false
        }
    }
}
