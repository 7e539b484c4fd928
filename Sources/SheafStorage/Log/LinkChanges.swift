package import SheafBytes

/// What becomes of links: keys of the tree that lead to operations of other keys.
///
/// Who makes links decides what they mean. They take no room in the log: whoever opens a store makes
/// those anew that changed behind its checkpoint. All that is taken away goes first.
package struct LinkChanges: Sendable {
    /// A key, and the operation of a batch to which it leads.
    struct OperationLink {
        let key: Range<Int>
        /// Where the operation begins in the batch.
        let operation: Int
    }

    /// The keys, one behind the other.
    private(set) var bytes: [UInt8] = []
    /// In the order of their operations.
    private(set) var toOperations: [OperationLink] = []
    private(set) var toPlaces: [(key: Range<Int>, place: Place)] = []
    private(set) var removed: [Range<Int>] = []
    private(set) var removedRanges: [KeyRange] = []

    /// What it costs to make the links to places again, compared with reading so much of a log.
    var lengthToPlaces: Int { toPlaces.isEmpty ? 0 : bytes.count }

    /// The first byte of each link.
    package static let firstByte: UInt8 = 0xFF
    /// All links.
    package static let all = KeyRange(from: [firstByte])

    package init() {}

    package var isEmpty: Bool {
        toOperations.isEmpty && toPlaces.isEmpty && removed.isEmpty && removedRanges.isEmpty
    }

    /// Lets `key` lead to an operation that is in the log.
    package mutating func link(_ key: [UInt8], to place: Place) throws(StorageError) {
        toPlaces.append((try add(key), place))
    }

    /// Takes a link away, if it is there.
    package mutating func unlink(_ key: [UInt8]) throws(StorageError) {
        removed.append(try add(key))
    }

    /// Takes all links in `range` away.
    package mutating func unlink(_ range: KeyRange) {
        removedRanges.append(range.intersection(Keyspace.links))
    }

    /// Puts the links to places in the order of their keys: a tree takes them faster.
    package mutating func sort() {
        let bytes = bytes
        bytes.withUnsafeBytes { bytes in
            let prefix = toPlaces.reduce(toPlaces.first?.key.count ?? 0) { length, link in
                let first = bytes.slice(toPlaces[0].key)
                let key = bytes.slice(link.key)
                let limit = min(length, key.count)
                var equal = 0
                while equal < limit, key[equal] == first[equal] { equal += 1 }
                return equal
            }
            // Most keys differ in the eight bytes behind what all of them begin with.
            var heads = toPlaces.indices.map { index in
                (
                    head: Self.head(of: bytes.slice(toPlaces[index].key), behind: prefix),
                    index: index
                )
            }
            heads.sort { left, right in
                if left.head != right.head { return left.head < right.head }
                return bytes.slice(toPlaces[left.index].key).compare(
                    bytes.slice(toPlaces[right.index].key)) < 0
            }
            toPlaces = heads.map { toPlaces[$0.index] }
        }
    }

    private static func head(of key: UnsafeRawBufferPointer, behind prefix: Int) -> UInt64 {
        guard key.count < prefix + 8 else {
            return UInt64(bigEndian: key.loadUnaligned(fromByteOffset: prefix, as: UInt64.self))
        }
        return (0..<8).reduce(0) { head, index in
            head << 8 | UInt64(prefix + index < key.count ? key[prefix + index] : 0)
        }
    }

    mutating func link(_ key: [UInt8], toOperationAt offset: Int) throws(StorageError) {
        toOperations.append(OperationLink(key: try add(key), operation: offset))
    }

    mutating func removeAll() {
        guard !isEmpty else { return }
        self = LinkChanges()
    }

    private mutating func add(_ key: [UInt8]) throws(StorageError) -> Range<Int> {
        guard key.first == Keyspace.linkByte else {
            throw .invalidKey("the first byte of a link is 255")
        }
        guard key.count <= Limits.maximumLinkLength else {
            throw .limit(
                name: "maximumLinkLength", value: key.count, limit: Limits.maximumLinkLength)
        }
        let start = bytes.count
        bytes.append(contentsOf: key)
        return start..<bytes.count
    }
}
