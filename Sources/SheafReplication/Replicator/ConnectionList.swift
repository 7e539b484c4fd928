/// The lists of a table that contain a connection.
///
/// A list may also hold former members, which have only its `held` mark.
struct ConnectionMarks: OptionSet {
    let rawValue: UInt16

    static let removed = Self(rawValue: 1 << 0)
    static let unfinished = Self(rawValue: 1 << 1)
    static let touched = Self(rawValue: 1 << 2)
    static let touchedHeld = Self(rawValue: 1 << 3)
    static let unfollowed = Self(rawValue: 1 << 4)
    static let unfollowedHeld = Self(rawValue: 1 << 5)
    static let working = Self(rawValue: 1 << 6)
    static let workingHeld = Self(rawValue: 1 << 7)
    static let followers = Self(rawValue: 1 << 8)
    static let followersHeld = Self(rawValue: 1 << 9)
    static let behind = Self(rawValue: 1 << 10)
    static let behindHeld = Self(rawValue: 1 << 11)
    static let serving = Self(rawValue: 1 << 12)
    static let servingHeld = Self(rawValue: 1 << 13)
    static let awaiting = Self(rawValue: 1 << 14)
    static let awaitingHeld = Self(rawValue: 1 << 15)
}

/// A set of connections in the order of their numbers.
///
/// It may change while it is visited with `next(after:)`: a connection inserted with a greater
/// number than the current one is visited, too.
struct ConnectionList {
    typealias Connection = Replicator.Connection

    private let member: ConnectionMarks
    private let held: ConnectionMarks
    /// The members and former members, by number.
    private var entries: [(number: UInt64, connection: Connection)] = []
    private(set) var count = 0

    /// Number of former members that are always permitted.
    private static let slack = 32

    init(_ member: ConnectionMarks, holding held: ConnectionMarks) {
        (self.member, self.held) = (member, held)
    }

    var isEmpty: Bool { count == 0 }

    func contains(_ connection: Connection) -> Bool { connection.marks.contains(member) }

    mutating func insert(_ connection: Connection) {
        guard !connection.marks.contains(member) else { return }
        connection.marks.insert(member)
        count += 1
        guard !connection.marks.contains(held) else { return }
        connection.marks.insert(held)
        let index = index(after: connection.number)
        entries.insert((connection.number, connection), at: index)
    }

    mutating func remove(_ connection: Connection) {
        guard connection.marks.contains(member) else { return }
        connection.marks.remove(member)
        count -= 1
        // The cost of removing former members is less than that of their insertions.
        if entries.count > 2 * count + Self.slack { removeFormer() }
    }

    /// Adds or removes a connection.
    mutating func set(_ connection: Connection, _ isMember: Bool) {
        if isMember { insert(connection) } else { remove(connection) }
    }

    /// Removes a connection, and all references to it.
    mutating func forget(_ connection: Connection) {
        guard connection.marks.contains(held) else { return }
        if connection.marks.contains(member) { count -= 1 }
        connection.marks.remove([member, held])
        entries.remove(at: index(after: connection.number) - 1)
    }

    /// Returns the first member whose number exceeds `number`; nil if there is none.
    func next(after number: UInt64?) -> Connection? {
        var index = number.map { self.index(after: $0) } ?? 0
        while index < entries.count {
            if contains(entries[index].connection) { return entries[index].connection }
            index += 1
        }
        return nil
    }

    /// All members.
    var members: [Connection] {
        entries.compactMap { contains($0.connection) ? $0.connection : nil }
    }

    private mutating func removeFormer() {
        for entry in entries where !contains(entry.connection) {
            entry.connection.marks.remove(held)
        }
        let member = member
        entries.removeAll { !$0.connection.marks.contains(member) }
    }

    /// Returns the index of the first entry whose number exceeds `number`.
    private func index(after number: UInt64) -> Int {
        guard let last = entries.last, last.number > number else { return entries.count }
        var (low, high) = (0, entries.count - 1)
        while low < high {
            let middle = (low + high) / 2
            if entries[middle].number > number { high = middle } else { low = middle + 1 }
        }
        return low
    }
}
