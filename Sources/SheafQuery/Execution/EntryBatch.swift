import SheafBytes
import SheafDocument

/// Entries of a covering index that are added to groups together.
final class EntryBatch {
    /// The source of a column in an index entry.
    private enum Source {
        case field(Int)
        case id(IDPath)
    }

    /// The row of the last entry.
    let row: EntryRow
    private let grouper: Grouper
    private let sources: [Source]
    private let numbers: [Int]
    private let elements: UnsafeMutablePointer<FieldElement>
    private let columns: UnsafeMutablePointer<UnsafePointer<FieldElement>>
    /// The bytes of the entries, to which texts refer.
    private let bytes: UnsafeMutableRawPointer
    @exclusivity(unchecked) private var end = 0
    @exclusivity(unchecked) private var count = 0

    private static let capacity = DocumentBatch.capacity
    private static let byteCapacity = capacity * 256
    private static let rows = (0..<capacity).map { UInt16($0) }

    /// Creates an empty batch; nil if the groups need more than elements of entries.
    init?(_ index: IndexDescription, _ grouper: Grouper) {
        guard let wanted = grouper.sourceColumns else { return nil }
        row = EntryRow(index)
        var sources: [Source] = []
        for column in wanted {
            switch column.path {
            case .field(let path):
                guard path.isShown, let number = row.number(of: path.names) else { return nil }
                sources.append(.field(number))
            case .id(let path):
                sources.append(row.number(of: path).map(Source.field) ?? .id(path))
            }
        }
        self.sources = sources
        self.grouper = grouper
        numbers = Array(sources.indices)
        elements = .allocate(capacity: max(sources.count, 1) * Self.capacity)
        columns = .allocate(capacity: max(sources.count, 1))
        columns.initialize(to: UnsafePointer(elements))
        for number in sources.indices {
            (columns + number).initialize(to: UnsafePointer(elements + number * Self.capacity))
        }
        bytes = .allocate(byteCount: Self.byteCapacity, alignment: 8)
    }

    deinit {
        elements.deallocate()
        columns.deallocate()
        bytes.deallocate()
    }

    /// Whether the batch must be flushed before the next entry.
    var isFull: Bool {
        count == Self.capacity || end + Limits.maximumEntryLength > Self.byteCapacity
    }

    private enum Limits {
        /// Longer entries are grouped one by one.
        static let maximumEntryLength = 2_048
    }

    /// Reads an entry and adds its elements; returns false if it must be grouped alone.
    ///
    /// That is an entry with a value that must be decoded, or one that is too long for the batch.
    func add(_ key: UnsafeRawBufferPointer) throws(StoreError) -> Bool {
        guard key.count <= Limits.maximumEntryLength, let base = key.baseAddress else {
            try row.read(key)
            return false
        }
        let copy = bytes + end
        copy.copyMemory(from: base, byteCount: key.count)
        try row.read(UnsafeRawBufferPointer(start: copy, count: key.count))
        for (number, source) in sources.enumerated() {
            let element: FieldElement
            switch source {
            case .field(let field): element = row.element(field)
            case .id(let path):
                element = try onDocument(at: 0) { () throws(Malformed) in
                    try path.element(in: row.id)
                }
            }
            guard element.kind != .other else { return false }
            (elements + (number * Self.capacity + count)).initialize(to: element)
        }
        end += key.count
        count += 1
        return true
    }

    /// Adds the entries to their groups.
    func flush() throws(StoreError) {
        guard count > 0 else { return }
        let (columns, count) = (columns, count)
        try Self.rows.span.withUnsafeBufferPointer { (rows) throws(StoreError) in
            try grouper.add(
                ColumnBatch(
                    columns, rows: UnsafeBufferPointer(rebasing: rows[..<count]), isLasting: false),
                numbers)
        }
        self.count = 0
        end = 0
    }
}
