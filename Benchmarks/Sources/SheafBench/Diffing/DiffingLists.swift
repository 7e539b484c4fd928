/// A list item, represented by hashes.
///
/// Items are equal if their IDs are, so list differences ignore content; changes are found
/// afterwards.
struct DiffingItem: Hashable {
    var version: UInt64
    let id: UInt64
    var content: UInt64

    static func == (left: DiffingItem, right: DiffingItem) -> Bool { left.id == right.id }

    func hash(into hasher: inout Hasher) {
        hasher.combine(id)
    }
}

/// Two lists, the second derived from the first.
struct DiffingLists {
    let old: [DiffingItem]
    let new: [DiffingItem]

    /// Creates lists where `count / 400` items each are deleted, inserted, changed and moved.
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

    /// Creates lists where about half of `count` items have changed.
    static func changed(count: Int) -> DiffingLists {
        var numbers = Numbers()
        let old = (0..<count).map { _ in numbers.item() }
        var new = old
        for index in new.indices where numbers.below(2) == 0 { numbers.change(&new[index]) }
        return DiffingLists(old: old, new: new)
    }
}

/// A deterministic sequence of distinct numbers.
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
