import SheafBytes

/// The newest operation found of each key, independent of the order in which files are read.
///
/// If that is a delta, the newest operation that is not a delta is kept, too.
struct SalvageIndex: ~Copyable {
    /// The location of an operation in the files.
    struct Location {
        let position: LogPosition
        let file: Int
        let offset: Int
        let isDelta: Bool

        init(position: LogPosition, file: Int, offset: Int, isDelta: Bool) {
            self.position = position
            self.file = file
            self.offset = offset
            self.isDelta = isDelta
        }

        fileprivate init(_ value: BTreeValue) {
            position = LogPosition(rawValue: value.low)
            isDelta = value.high >> 63 == 1
            file = Int(value.high >> 32 & 0x7FFF_FFFF)
            offset = Int(value.high & 0xFFFF_FFFF)
        }

        fileprivate var value: BTreeValue {
            let location = UInt64(file) << 32 | UInt64(offset)
            return BTreeValue(
                low: position.rawValue, high: location | (isDelta ? 1 << 63 : 0), count: 16)
        }
    }

    private var tree = BTree()
    /// The newest operation that is not a delta, for keys whose newest operation is one.
    private var foundations = BTree()

    /// Adds an operation if it is the newest of its key, or the newest that is not a delta.
    mutating func add(_ operation: Operation, _ location: Location) {
        add(operation.key, location)
    }

    /// Adds the operations of another index.
    mutating func add(_ other: borrowing SalvageIndex) {
        other.foundations.forEach { key, value in
            add(key, Location(value))
            return true
        }
        other.tree.forEach { key, value in
            add(key, Location(value))
            return true
        }
    }

    private mutating func add(_ key: UnsafeRawBufferPointer, _ location: Location) {
        guard let known = tree.find(key).map(Location.init) else {
            tree.put(key, location.value)
            return
        }
        let (older, newer) =
            known.position < location.position ? (known, location) : (location, known)
        if newer.position > known.position { tree.put(key, newer.value) }
        guard newer.isDelta, !older.isDelta else { return }
        if let found = foundations.find(key), found.low >= older.position.rawValue { return }
        foundations.put(key, older.value)
    }

    /// Returns the newest operation of `key` that is not a delta; nil if no newer delta exists.
    func foundation(of key: UnsafeRawBufferPointer) -> Location? {
        foundations.find(key).map(Location.init)
    }

    /// Returns the location of the newest operation of `key`.
    func location(of key: UnsafeRawBufferPointer) -> Location? {
        tree.find(key).map(Location.init)
    }

    /// Calls `body` with the newest operation of each key, in key order.
    func forEach(
        _ body: (_ key: UnsafeRawBufferPointer, Location) throws(StorageError) -> Void
    ) throws(StorageError) {
        try tree.forEach { key, value throws(StorageError) in
            try body(key, Location(value))
            return true
        }
    }
}
