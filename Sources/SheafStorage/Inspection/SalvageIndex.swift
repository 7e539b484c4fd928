import SheafBytes

/// The newest operation that was found of each key, in whatever order the files are read; where that
/// is an extension, the newest one that is none as well.
struct SalvageIndex: ~Copyable {
    /// Where an operation stands in the files.
    struct Location {
        let position: LogPosition
        let file: Int
        let offset: Int
        let isExtension: Bool

        init(position: LogPosition, file: Int, offset: Int, isExtension: Bool) {
            self.position = position
            self.file = file
            self.offset = offset
            self.isExtension = isExtension
        }

        fileprivate init(_ value: BTreeValue) {
            position = LogPosition(rawValue: value.low)
            isExtension = value.high >> 63 == 1
            file = Int(value.high >> 32 & 0x7FFF_FFFF)
            offset = Int(value.high & 0xFFFF_FFFF)
        }

        fileprivate var value: BTreeValue {
            let place = UInt64(file) << 32 | UInt64(offset)
            return BTreeValue(
                low: position.rawValue, high: place | (isExtension ? 1 << 63 : 0), count: 16)
        }
    }

    private var tree = BTree()
    /// The newest operations that are no extensions, of keys that have an extension in `tree`.
    private var foundations = BTree()

    /// Notes an operation, unless a newer one of its key is known.
    mutating func add(_ operation: Operation, _ location: Location) {
        guard Keyspace.isLogged(firstByte: operation.key.first ?? 0) else { return }
        add(operation.key, location)
    }

    /// Takes over what another index has found.
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
        guard newer.isExtension, !older.isExtension else { return }
        if let found = foundations.find(key), found.low >= older.position.rawValue { return }
        foundations.put(key, older.value)
    }

    /// Where the newest operation of `key` was found that is no extension, if its newest one is.
    func foundation(of key: UnsafeRawBufferPointer) -> Location? {
        foundations.find(key).map(Location.init)
    }

    /// Where the newest operation of `key` was found.
    func location(of key: UnsafeRawBufferPointer) -> Location? {
        tree.find(key).map(Location.init)
    }

    /// Calls `body` with the newest operation of each key, in the order of the keys.
    func forEach(
        _ body: (_ key: UnsafeRawBufferPointer, Location) throws(StorageError) -> Void
    ) throws(StorageError) {
        try tree.forEach { key, value throws(StorageError) in
            try body(key, Location(value))
            return true
        }
    }
}
