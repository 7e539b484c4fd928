/// The names in a simulated directory, current and durable.
struct SimulatedDirectory: Sendable {
    /// A name and the index of its inode.
    package struct Entry: Sendable {
        let name: String
        var inode: Int
    }

    /// A name change that may or may not be durable.
    private enum Change: Sendable {
        case addName(String, Int)
        case removeName(String, Int)
        case rename(to: String, Int)

        var inode: Int {
            switch self {
            case .addName(_, let inode), .removeName(_, let inode), .rename(_, let inode): inode
            }
        }
    }

    /// The entries that processes see.
    private(set) var entries: [Entry] = []
    private(set) var durable: [Entry] = []
    private var pending: [Change] = []

    /// Creates a directory with these durable entries.
    init(_ durable: [Entry] = []) {
        entries = durable
        self.durable = durable
    }

    /// Whether all changes are durable.
    var isSettled: Bool { pending.isEmpty }

    /// Returns the inode index of a name.
    func inode(_ name: String) -> Int? {
        entries.first { $0.name == name }?.inode
    }

    /// Adds a name for an inode.
    mutating func addName(_ name: String, _ inode: Int) {
        perform(.addName(name, inode))
    }

    /// Removes a name of an inode.
    mutating func removeName(_ name: String, _ inode: Int) {
        perform(.removeName(name, inode))
    }

    /// Renames an inode, replacing the file that had the new name.
    mutating func rename(_ inode: Int, to newName: String) {
        perform(.rename(to: newName, inode))
    }

    /// Applies all pending changes to the durable entries.
    mutating func synchronize() {
        guard !pending.isEmpty else { return }
        durable = entries
        pending.removeAll(keepingCapacity: true)
    }

    /// Returns the entries of one possible state after a power cut.
    func afterPowerCut(_ mode: PowerCutMode, _ random: inout SeededRandom) -> [Entry] {
        guard !pending.isEmpty, mode != .nothing else { return durable }
        guard mode != .everything else { return entries }
        var image = durable
        for change in pending {
            if random.next() & 1 == 0 {
                Self.apply(change, to: &image)
            } else if mode == .anythingInOrder {
                // A journaled disk loses a suffix of the changes, never one in the middle.
                break
            }
        }
        return image
    }

    /// Removes all names of an inode, durable and pending.
    mutating func forget(_ inode: Int) {
        entries.removeAll { $0.inode == inode }
        durable.removeAll { $0.inode == inode }
        pending.removeAll { $0.inode == inode }
    }

    /// Whether an inode may have a name in the current, the durable, or a post-crash state.
    func mentions(_ inode: Int) -> Bool {
        !pending.isEmpty || durable.contains { $0.inode == inode }
            || entries.contains { $0.inode == inode }
    }

    private mutating func perform(_ change: Change) {
        Self.apply(change, to: &entries)
        pending.append(change)
    }

    private static func apply(_ change: Change, to entries: inout [Entry]) {
        switch change {
        case .addName(let name, let inode):
            set(name, inode, in: &entries)
        case .removeName(let name, let inode):
            entries.removeAll { $0.inode == inode && $0.name == name }
        case .rename(let newName, let inode):
            // The rename is atomic: afterwards the file has this name and no other.
            entries.removeAll { $0.inode == inode && $0.name != newName }
            set(newName, inode, in: &entries)
        }
    }

    private static func set(_ name: String, _ inode: Int, in entries: inout [Entry]) {
        if let index = entries.firstIndex(where: { $0.name == name }) {
            entries[index].inode = inode
        } else {
            entries.append(Entry(name: name, inode: inode))
        }
    }
}
