/// An item of a list, told by hashes.
///
/// Two are equal if they are the same item, whatever it says: so a difference of two lists
/// is one of ids, and changes of content are looked for among what is in both.
struct DiffingItem: Hashable {
    var version: UInt64
    let id: UInt64
    var content: UInt64

    static func == (left: DiffingItem, right: DiffingItem) -> Bool { left.id == right.id }

    func hash(into hasher: inout Hasher) {
        hasher.combine(id)
    }
}

/// Two lists, of which the second is the first with some changes.
struct DiffingLists {
    let old: [DiffingItem]
    let new: [DiffingItem]

    /// Of `count` items one in a hundred is deleted, inserted, changed or moved, as many each.
    static func mixed(count: Int) -> DiffingLists {
        var numbers = Numbers()
        let old = (0..<count).map { _ in numbers.item() }
        var new = old
        for _ in 0..<count / 400 {
            new.remove(at: numbers.below(new.count))
            new.insert(numbers.item(), at: numbers.below(new.count))
            numbers.change(&new[numbers.below(new.count)])
            let moved = new.remove(at: numbers.below(new.count))
            new.insert(moved, at: numbers.below(new.count))
        }
        return DiffingLists(old: old, new: new)
    }

    /// Of `count` items every second one, on average, has changed.
    static func changed(count: Int) -> DiffingLists {
        var numbers = Numbers()
        let old = (0..<count).map { _ in numbers.item() }
        var new = old
        for index in new.indices where numbers.below(2) == 0 { numbers.change(&new[index]) }
        return DiffingLists(old: old, new: new)
    }
}

/// Numbers that are the same in each run, and of which none comes twice.
private struct Numbers {
    private var state: UInt64 = 0

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = (state ^ (state >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    mutating func below(_ bound: Int) -> Int { Int(next() % UInt64(bound)) }

    mutating func item() -> DiffingItem {
        DiffingItem(version: next(), id: next(), content: next())
    }

    mutating func change(_ item: inout DiffingItem) {
        (item.version, item.content) = (next(), next())
    }
}
