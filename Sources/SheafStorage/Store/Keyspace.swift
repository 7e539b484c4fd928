import SheafBytes

/// The tree of a store, and how many bytes of each segment it still needs.
///
/// A key that has a payload is in the tree as it is. A key that was removed is in it behind a zero
/// byte, with the place of its removal, until compaction has folded the removal away: so a chain
/// goes on when the key comes back, and a count of the live keys stays exact. Behind all keys come
/// links, which lead to the newest operations of other keys and are not in the log.
///
/// An extension leaves what its key had alive. Only the log knows what that is, so where it becomes
/// garbage, the place is noted from which it can be found.
struct Keyspace: ~Copyable {
    var tree: BTree
    /// The bytes of operations that a key still stands on.
    var live: LiveBytes
    private(set) var removedCount = 0
    /// The extensions that a put or a removal has superseded: what they stood on is garbage, and
    /// still counts as live until somebody has looked it up in the log.
    var orphans: [LogPosition] = []

    /// The keys that have a payload.
    static let present = KeyRange(from: [1], to: [linkByte])
    /// The keys that were removed, each behind a zero byte.
    static let removed = KeyRange(from: [0], to: [1])
    /// The keys that the log has, be they removed.
    static let logged = KeyRange(to: [linkByte])
    /// The keys that lead to operations of others.
    static let links = LinkChanges.all
    /// The first byte of each link.
    static let linkByte = LinkChanges.firstByte

    /// Whether a key of the log can begin with this byte.
    @inline(__always)
    static func isLogged(firstByte: UInt8) -> Bool { firstByte != 0 && firstByte != linkByte }

    /// Starts empty.
    init() {
        tree = BTree()
        live = LiveBytes()
    }

    /// Takes over a tree and counts what it needs.
    init(adopting tree: consuming BTree, live: LiveBytes) {
        removedCount = tree.count(in: Self.removed)
        self.tree = tree
        self.live = live
    }

    /// How many keys have a payload.
    var count: Int { tree.count(in: Self.present) }

    /// Notes that the newest operation of `key` is a payload at `place`; returns the one before.
    mutating func put(_ key: UnsafeRawBufferPointer, at place: Place) -> LogPosition {
        live.add(place)
        if let old = tree.put(key, place.value).flatMap(Place.init) {
            supersede(old)
            return old.position
        }
        guard removedCount > 0, let removal = forgetRemoval(of: key) else { return .none }
        return removal.position
    }

    /// Refuses to extend the keys at `ranges` of `bytes` if one of them has no payload.
    func checkPresent(_ ranges: [Range<Int>], in bytes: [UInt8]) throws(StorageError) {
        for range in ranges {
            let isPresent = bytes.withUnsafeBytes { tree.find($0.slice(range)) != nil }
            guard isPresent else { throw .nothingToExtend(key: Array(bytes[range])) }
        }
    }

    /// Notes that the newest operation of `key` is an extension at `place`; returns the one before.
    mutating func extend(_ key: UnsafeRawBufferPointer, at place: Place) -> LogPosition {
        live.add(place)
        if let old = tree.put(key, place.value).flatMap(Place.init) { return old.position }
        // Compaction has folded away what it stood on, for something newer comes; or it is damaged.
        guard removedCount > 0, let removal = forgetRemoval(of: key) else { return .none }
        return removal.position
    }

    /// Notes that the newest operation of `key` is a removal at `place`; returns the one before.
    mutating func remove(_ key: UnsafeRawBufferPointer, at place: Place) -> LogPosition {
        live.add(place)
        let present = tree.remove(key).flatMap(Place.init)
        let earlier = Self.withRemovedKey(key) { tree.put($0, place.value) }.flatMap(Place.init)
        if earlier == nil { removedCount += 1 }
        if let present { supersede(present) }
        if let earlier { live.subtract(earlier) }
        return present?.position ?? earlier?.position ?? .none
    }

    /// Forgets removals that the log no longer holds; `removedKeys` are as the tree has them.
    mutating func forget(_ removedKeys: ArraySlice<(key: [UInt8], position: LogPosition)>) {
        for (key, position) in removedKeys {
            key.withUnsafeBytes { key in
                guard let place = tree.find(key).flatMap(Place.init),
                    place.position == position
                else { return }
                _ = tree.remove(key)
                removedCount -= 1
                live.subtract(place)
            }
        }
    }

    /// Forgets the removals up to `position`, because compaction has taken them from the log.
    ///
    /// A checkpoint has them still if it was written before a commit showed a tree without them.
    mutating func forgetRemovals(through position: LogPosition) {
        guard removedCount > 0, position > .none else { return }
        var forgotten: [(key: [UInt8], position: LogPosition)] = []
        tree.forEach(in: Self.removed) { key, value in
            if let place = Place(value), place.position <= position {
                forgotten.append((Array(key), place.position))
            }
            return true
        }
        forget(forgotten[...])
    }

    /// Runs `body` with the key under which the removal of `key` is kept.
    static func withRemovedKey<Result>(
        _ key: UnsafeRawBufferPointer, _ body: (UnsafeRawBufferPointer) -> Result
    ) -> Result {
        withUnsafeTemporaryAllocation(byteCount: key.count + 1, alignment: 1) { buffer in
            buffer[0] = 0
            UnsafeMutableRawBufferPointer(rebasing: buffer[1...]).copyMemory(from: key)
            return body(UnsafeRawBufferPointer(buffer))
        }
    }

    @inline(__always)
    private mutating func supersede(_ old: Place) {
        live.subtract(old)
        if old.isExtension { orphans.append(old.position) }
    }

    private mutating func forgetRemoval(of key: UnsafeRawBufferPointer) -> Place? {
        guard let place = Self.withRemovedKey(key, { tree.remove($0) }).flatMap(Place.init) else {
            return nil
        }
        removedCount -= 1
        live.subtract(place)
        return place
    }
}
