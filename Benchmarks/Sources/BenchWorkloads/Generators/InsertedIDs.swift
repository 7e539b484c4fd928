/// The generated IDs of one collection.
///
/// An ID is used by other statements only once its document is inserted, and all earlier ones are.
struct InsertedIDs {
    private let isRising: Bool
    private let seed: UInt64
    /// The number of IDs that `next` returned.
    private var count = 0
    /// The number of the first ID whose document may not have been inserted.
    private var inserted = 0
    /// The inserted IDs after `inserted`.
    private var early: Set<Int> = []
    /// The number of the oldest ID that `oldest` has not returned.
    private var oldest = 0

    init(isRising: Bool, seed: UInt64) {
        self.isRising = isRising
        self.seed = seed
    }

    /// A copy without the set of early IDs, for choices.
    var bounds: InsertedIDs {
        var copy = self
        copy.early = []
        return copy
    }

    /// Returns the number of a new ID.
    mutating func next() -> Int {
        defer { count += 1 }
        return count
    }

    /// Records that the document of an ID was inserted.
    mutating func finish(_ number: Int) {
        early.insert(number)
        while early.remove(inserted) != nil { inserted += 1 }
    }

    /// Returns the number of an ID whose document exists, or nil if there is none.
    func choose(_ choice: Generator.IDChoice, _ random: inout RandomSource) -> Int? {
        let available = inserted - oldest
        guard available > 0 else { return nil }
        return switch choice {
        case .uniform: oldest + random.below(available)
        // The popular IDs stay the same while documents are inserted.
        case .zipf: oldest + random.zipf(count: available, exponent: 0.99)
        case .newest: inserted - 1 - random.zipf(count: available, exponent: 0.99)
        }
    }

    /// Returns the number of the oldest ID, which is not chosen again; nil if there is none.
    mutating func takeOldest() -> Int? {
        guard oldest < inserted else { return nil }
        defer { oldest += 1 }
        return oldest
    }

    /// Returns the text of an ID: digits if IDs rise, otherwise hexadecimal digits in random order.
    func text(_ number: Int) -> String {
        let spelled: String
        if isRising {
            spelled = String(number)
        } else {
            spelled = String(RandomSource.mix(UInt64(number) &+ seed), radix: 16)
        }
        return String(repeating: "0", count: max(0, 16 - spelled.count)) + spelled
    }
}
