import SheafBytes

/// The newest operation that was found of each key, in whatever order the files are read.
struct SalvageIndex: ~Copyable {
    /// Where an operation stands in the files.
    struct Location {
        let position: LogPosition
        let file: Int
        let offset: Int

        init(position: LogPosition, file: Int, offset: Int) {
            self.position = position
            self.file = file
            self.offset = offset
        }

        fileprivate init(_ value: BTreeValue) {
            position = LogPosition(rawValue: value.low)
            file = Int(value.high >> 32)
            offset = Int(value.high & 0xFFFF_FFFF)
        }

        fileprivate var value: BTreeValue {
            BTreeValue(low: position.rawValue, high: UInt64(file) << 32 | UInt64(offset), count: 16)
        }
    }

    private var tree = BTree()

    /// Notes an operation, unless a newer one of its key is known.
    mutating func add(_ operation: Operation, _ location: Location) {
        guard operation.key.first != 0 else { return }
        if let known = tree.find(operation.key), known.low >= location.position.rawValue { return }
        tree.put(operation.key, location.value)
    }

    /// Takes over what another index has found.
    mutating func add(_ other: borrowing SalvageIndex) {
        other.tree.forEach { key, value in
            if let known = tree.find(key), known.low >= value.low { return true }
            tree.put(key, value)
            return true
        }
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
