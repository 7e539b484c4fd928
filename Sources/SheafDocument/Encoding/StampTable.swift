import SheafBytes

/// The stamps of a document being written, by reference (`format-spec/documents.md`, table 1).
struct StampTable {
    let vector: VersionVector
    /// Stamps other than the latest of their site, in order of first use.
    var older: [Stamp] { list?.stamps ?? first.map { [$0] } ?? [] }
    /// The only older stamp, as in most documents that were changed once.
    private var first: Stamp?
    /// The older stamps; nil while there are none, or only `first`.
    private var list: List?
    /// A hash index for many stamps; few stamps are searched linearly.
    private var references: [Stamp: UInt32] = [:]

    private static let searched = 12

    /// A reference type, so that removed content can be read while new content is written.
    final class List {
        var stamps: [Stamp] = []
    }

    init(_ vector: VersionVector, older: [Stamp] = []) {
        self.vector = vector
        if !older.isEmpty { makeList().stamps = older }
    }

    private mutating func makeList() -> List {
        if let list { return list }
        let made = List()
        if let first { made.stamps = [first] }
        (list, first) = (made, nil)
        return made
    }

    /// Calls `body` with each older stamp, in order.
    func forEachOlder(_ body: (Stamp) -> Void) {
        if let first { body(first) }
        list?.stamps.forEach(body)
    }

    /// Returns the current stamps, unaffected by truncation to `count` older ones.
    mutating func memory(behind count: Int) -> StampMemory {
        let list = makeList()
        return StampMemory(
            vector: vector, list: list, count: count, rest: Array(list.stamps[count...]))
    }

    /// Number of stamps.
    var count: Int { vector.entries.count + olderCount }
    /// Number of older stamps.
    var olderCount: Int { list?.stamps.count ?? (first == nil ? 0 : 1) }

    /// Returns the reference to a stamp; adds an older stamp on first use.
    mutating func reference(to stamp: Stamp) -> UInt32 {
        if stamp == .initial { return .max }
        let sites = vector.entries
        if let index = vector.index(of: stamp.site), sites[index].time == stamp.time {
            return UInt32(index)
        }
        if list == nil {
            guard let first else {
                first = stamp
                return UInt32(sites.count)
            }
            if first == stamp { return UInt32(sites.count) }
        }
        if older.count <= Self.searched {
            for index in older.indices where older[index] == stamp {
                return UInt32(sites.count + index)
            }
        } else {
            if references.count < older.count {
                for index in references.count..<older.count {
                    references[older[index]] = UInt32(sites.count + index)
                }
            }
            if let reference = references[stamp] { return reference }
        }
        makeList().stamps.append(stamp)
        return UInt32(sites.count + olderCount - 1)
    }

    /// Removes the older stamps from index `count` on.
    mutating func truncate(olderCount count: Int) {
        guard olderCount > count else { return }
        guard let list else {
            first = nil
            return
        }
        // The index contains only the first stamps, up to the last search.
        if references.count > count {
            for stamp in older[count..<references.count] { references[stamp] = nil }
        }
        list.stamps.removeSubrange(count...)
    }

    /// Returns the width of references in bytes; the greatest reference is reserved for INITIAL.
    static func width(forCount count: Int) -> Int {
        count <= 0xFF ? 1 : count <= 0xFFFF ? 2 : 4
    }
}

/// The stamps of content that was written and removed.
struct StampMemory: StampSource {
    let vector: VersionVector
    fileprivate let list: StampTable.List
    /// Number of stamps still valid in the list.
    fileprivate let count: Int
    fileprivate let rest: [Stamp]

    func stamp(_ reference: UInt32) throws(Malformed) -> Stamp {
        if reference == .max { return .initial }
        let sites = vector.entries
        var index = Int(reference)
        if index < sites.count { return Stamp(sites[index].time, sites[index].site) }
        index -= sites.count
        if index < count { return list.stamps[index] }
        guard index - count < rest.count else {
            throw .tooLong(
                at: 0, length: UInt64(reference), limit: UInt64(sites.count + count + rest.count))
        }
        return rest[index - count]
    }
}
