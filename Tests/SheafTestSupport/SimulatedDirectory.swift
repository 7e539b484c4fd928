/// The names in a simulated directory, and which of them the disk knows.
struct SimulatedDirectory: Sendable {
    /// A name and the number of the file that bears it.
    struct Entry: Sendable {
        let name: String
        var inode: Int
    }

    /// A change that the disk may or may not have.
    private enum Change: Sendable {
        case link(String, Int)
        case unlink(String, Int)
        case rename(to: String, Int)

        var inode: Int {
            switch self {
            case .link(_, let inode), .unlink(_, let inode), .rename(_, let inode): inode
            }
        }
    }

    /// What processes see.
    private(set) var entries: [Entry] = []
    private(set) var durable: [Entry] = []
    private var pending: [Change] = []

    /// A directory whose names are on the disk.
    init(_ durable: [Entry] = []) {
        entries = durable
        self.durable = durable
    }

    /// Whether the disk has every change.
    var isSettled: Bool { pending.isEmpty }

    /// The number of the file of that name.
    func inode(_ name: String) -> Int? {
        entries.first { $0.name == name }?.inode
    }

    /// Gives a file its name.
    mutating func link(_ name: String, _ inode: Int) {
        perform(.link(name, inode))
    }

    /// Takes the name of a file away.
    mutating func unlink(_ name: String, _ inode: Int) {
        perform(.unlink(name, inode))
    }

    /// Gives a file another name, and takes the name from the file that had it.
    mutating func rename(_ inode: Int, to newName: String) {
        perform(.rename(to: newName, inode))
    }

    /// Makes all names durable.
    mutating func synchronize() {
        guard !pending.isEmpty else { return }
        durable = entries
        pending.removeAll(keepingCapacity: true)
    }

    /// The names in one of the states in which a power cut may leave the directory.
    func afterPowerCut(_ mode: PowerCutMode, _ random: inout SeededRandom) -> [Entry] {
        guard !pending.isEmpty, mode != .nothing else { return durable }
        guard mode != .everything else { return entries }
        var image = durable
        for change in pending {
            if random.next() & 1 == 0 {
                Self.apply(change, to: &image)
            } else if mode == .anythingInOrder {
                // Disks with a journal lose the last changes, and never one in the middle.
                break
            }
        }
        return image
    }

    /// Takes the names of a file away, also those that the disk knows.
    mutating func forget(_ inode: Int) {
        entries.removeAll { $0.inode == inode }
        durable.removeAll { $0.inode == inode }
        pending.removeAll { $0.inode == inode }
    }

    /// Whether a file has a name now, on the disk, or in a state that a power cut can bring back.
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
        case .link(let name, let inode):
            set(name, inode, in: &entries)
        case .unlink(let name, let inode):
            entries.removeAll { $0.inode == inode && $0.name == name }
        case .rename(let newName, let inode):
            // One step: after it the file has this name and no other.
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
