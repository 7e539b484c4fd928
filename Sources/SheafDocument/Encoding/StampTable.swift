import SheafBytes

/// The stamps of a document that is being written, each with the reference by which entries name
/// it (`format-spec/documents.md`, table 1).
struct StampTable {
    let vector: VersionVector
    /// Stamps that are older than what the vector has of their sites, in the order of first use.
    var older: [Stamp] { list.stamps }
    private let list = List()
    /// Found by search where there are few, and by hash where there are many.
    private var references: [Stamp: UInt32] = [:]

    private static let searched = 12

    /// Held by reference, so that what was written can be read while more is.
    final class List {
        var stamps: [Stamp] = []
    }

    init(_ vector: VersionVector, older: [Stamp] = []) {
        self.vector = vector
        list.stamps = older
    }

    /// What knows the stamps so far, also when those behind the first `count` older ones have been
    /// taken back and others have come in their place.
    func memory(behind count: Int) -> StampMemory {
        StampMemory(vector: vector, list: list, count: count, rest: Array(list.stamps[count...]))
    }

    /// How many stamps there are.
    var count: Int { vector.entries.count + older.count }

    /// The reference to a stamp, which becomes one of the older ones if it is none yet.
    mutating func reference(to stamp: Stamp) -> UInt32 {
        if stamp == .initial { return .max }
        let sites = vector.entries
        if let index = vector.index(of: stamp.site), sites[index].time == stamp.time {
            return UInt32(index)
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
        list.stamps.append(stamp)
        return UInt32(sites.count + list.stamps.count - 1)
    }

    /// Takes back the stamps that were added since there were `count` older ones.
    mutating func truncate(olderCount count: Int) {
        guard older.count > count else { return }
        // The table knows the first of them, and only as many as it was asked for.
        if references.count > count {
            for stamp in older[count..<references.count] { references[stamp] = nil }
        }
        list.stamps.removeSubrange(count...)
    }

    /// How many bytes references need: the greatest one is kept free, for INITIAL.
    static func width(forCount count: Int) -> Int {
        count <= 0xFF ? 1 : count <= 0xFFFF ? 2 : 4
    }
}

/// The stamps of something that was written and taken back.
struct StampMemory: StampSource {
    let vector: VersionVector
    fileprivate let list: StampTable.List
    /// So many of the list are as they were.
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
