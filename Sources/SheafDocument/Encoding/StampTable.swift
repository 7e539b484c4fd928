/// The stamps of a document that is being written, each with the reference by which entries name
/// it (`format-spec/documents.md`, table 1).
struct StampTable {
    let vector: VersionVector
    /// Stamps that are older than what the vector has of their sites, in the order of first use.
    private(set) var older: [Stamp] = []
    /// Found by search where there are few, and by hash where there are many.
    private var references: [Stamp: UInt32] = [:]

    private static let searched = 12

    init(_ vector: VersionVector) {
        self.vector = vector
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
        older.append(stamp)
        return UInt32(sites.count + older.count - 1)
    }

    /// Takes back the stamps that were added since there were `count` older ones.
    mutating func truncate(olderCount count: Int) {
        guard older.count > count else { return }
        older.removeSubrange(count...)
        references.removeAll(keepingCapacity: true)
    }

    /// How many bytes references need: the greatest one is kept free, for INITIAL.
    static func width(forCount count: Int) -> Int {
        count <= 0xFF ? 1 : count <= 0xFFFF ? 2 : 4
    }
}
