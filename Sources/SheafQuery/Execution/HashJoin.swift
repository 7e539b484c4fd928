import SheafDocument

/// The rows of a joined source in a hash table, or a part of them that fits in memory.
///
/// If the table would take more memory than allowed, the run is repeated for parts of the hashes:
/// each pass joins the preceding rows of one part with the rows of the same part.
final class HashJoin {
    /// The rows whose hashes begin with some bits.
    private struct Part {
        var depth: UInt64 = 0
        var prefix: UInt64 = 0

        func contains(_ hash: UInt64) -> Bool { depth == 0 || hash >> (64 - depth) == prefix }

        /// The two halves of the part.
        var halves: (Part, Part) {
            (
                Part(depth: depth + 1, prefix: prefix << 1),
                Part(depth: depth + 1, prefix: prefix << 1 | 1)
            )
        }
    }

    private enum State {
        case empty
        case built
        /// The rows of a few keys exceed the memory, so they are scanned for each preceding row.
        case scanned
    }

    private enum Entry {
        case row(Row)
        /// The key of a document whose bytes are valid only while it is visited.
        case key([UInt8])
    }

    private let join: JoinPlan
    private let lookup: HashLookup
    private let source: SourcePlan
    private let access: AccessRun
    private let frame: RowContext
    private let tally: AccessTally?
    private let maximumBytes: Int

    @exclusivity(unchecked) private var state = State.empty
    @exclusivity(unchecked) private var part = Part()
    /// The parts of the following passes, the next one last.
    @exclusivity(unchecked) private var rest: [Part] = []
    @exclusivity(unchecked) private var isFirstPass = true
    @exclusivity(unchecked) private var table = GroupTable()
    @exclusivity(unchecked) private var entries: [Entry] = []
    /// The first and last entry of each key, and the entry after each entry, or -1.
    @exclusivity(unchecked) private var ends: [(first: Int, last: Int)] = []
    @exclusivity(unchecked) private var following: [Int] = []
    @exclusivity(unchecked) private var writer = GroupKeyWriter()
    @exclusivity(unchecked) private var visits = 0

    /// Depth at which a part has few keys besides one that does not fit.
    private static let maximumDepth = 16

    init(
        _ join: JoinPlan, _ lookup: HashLookup, _ source: SourcePlan,
        _ access: AccessRun, _ frame: RowContext, _ tally: AccessTally?, maximumBytes: Int
    ) {
        self.join = join
        self.lookup = lookup
        self.source = source
        self.access = access
        self.frame = frame
        self.tally = tally
        self.maximumBytes = maximumBytes
    }

    /// Turns to the next part of the rows; returns false after the last one.
    func advance() -> Bool {
        guard let next = rest.popLast() else { return false }
        part = next
        isFirstPass = false
        clear()
        return true
    }

    /// Turns to the first part of the rows.
    func restart() {
        guard !isFirstPass else { return }
        part = Part()
        isFirstPass = true
        clear()
    }

    /// Visits the matches of the preceding rows until `body` returns false.
    ///
    /// Returns false if the preceding rows belong to another pass.
    func visit(
        _ body: (Row, _ position: UInt64, _ isFound: Bool) throws(StoreError) -> Bool
    ) throws(StoreError) -> Bool {
        writer.removeAll()
        var isFound = true
        for evaluator in lookup.outer {
            guard let value = try evaluator(frame), value != .null else { return isFirstPass }
            isFound = isFound && value.isFoundByKey
            writer.append(value)
        }
        let hash = writer.hash
        if state == .empty {
            let key = writer
            try build()
            writer = key
        }
        guard part.contains(hash) else { return false }
        guard state == .built else {
            try access.run(lookup.access, tally, filter: lookup.filter) {
                (row, position) throws(StoreError) in try body(row, position, false)
            }
            return true
        }
        guard let key = table.known(writer) else { return true }
        var next = ends[key].first
        while next >= 0, try visit(entries[next], isFound, body) { next = following[next] }
        return true
    }

    private func visit(
        _ entry: Entry, _ isFound: Bool,
        _ body: (Row, _ position: UInt64, _ isFound: Bool) throws(StoreError) -> Bool
    ) throws(StoreError) -> Bool {
        visits &+= 1
        if visits & 0x3FF == 0 { try frame.context.interruption?.check() }
        switch entry {
        case .row(let row): return try body(row, row.position, isFound)
        case .key(let key):
            var continues = true
            try access.store.read(key) { (document) throws(StoreError) in
                continues = try body(Row(document), document.position, isFound)
            }
            return continues
        }
    }

    // MARK: The table

    /// Fills the table with the rows of the part, which becomes smaller until they fit.
    private func build() throws(StoreError) {
        while try !fill() {
            clear()
            guard part.depth < Self.maximumDepth else {
                state = .scanned
                return
            }
            let (first, second) = part.halves
            rest.append(second)
            part = first
        }
        state = .built
    }

    private func clear() {
        state = .empty
        table = GroupTable()
        entries = []
        ends = []
        following = []
    }

    /// Adds the rows of the part; returns false if they take too much memory.
    private func fill() throws(StoreError) -> Bool {
        var byteCount = 0
        let saved = frame.rows[join.source]
        defer { frame.rows[join.source] = saved }
        try access.run(lookup.access, tally, filter: lookup.filter) {
            (row, _) throws(StoreError) in
            frame.rows[join.source] = row
            guard try writeKey(), part.contains(writer.hash) else { return true }
            let key = table.find(writer)
            if key == ends.count {
                ends.append((entries.count, entries.count))
                byteCount += writer.byteCount + GroupTable.overhead
            } else {
                following[ends[key].last] = entries.count
                ends[key].last = entries.count
            }
            let entry = entry(of: row)
            if case .key(let key) = entry { byteCount += key.count + Self.arrayOverhead }
            entries.append(entry)
            following.append(-1)
            byteCount += MemoryLayout<Entry>.stride + MemoryLayout<Int>.stride
            return byteCount <= maximumBytes
        }
        return byteCount <= maximumBytes
    }

    private static let arrayOverhead = 32

    /// Writes the compared values of the current row of the source.
    ///
    /// Returns false if one of them is null or missing, because it has no equals.
    private func writeKey() throws(StoreError) -> Bool {
        writer.removeAll()
        for evaluator in lookup.inner {
            guard let value = try evaluator(frame), value != .null else { return false }
            writer.append(value)
        }
        return true
    }

    private func entry(of row: Row) -> Entry {
        guard !row.isLasting, let id = row.id, let collection = source.collection else {
            return .row(row)
        }
        return .key(collection.keyPrefix + id)
    }
}
