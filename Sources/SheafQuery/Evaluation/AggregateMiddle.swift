import SheafDocument

/// All numbers of a group, for those in their middle.
struct NumberList: Sendable {
    private var numbers: [Value] = []

    /// Adds a number; everything else is no part of the list.
    mutating func add(_ value: Value) {
        if value.kind == .number { numbers.append(value) }
    }

    /// The lower one of the two in the middle, or the one there.
    var lowerMiddle: Value? {
        numbers.isEmpty ? nil : numbers.sorted()[(numbers.count - 1) / 2]
    }

    /// The number in the middle, or the mean of the two there, which is a float.
    var median: Value? {
        guard !numbers.isEmpty else { return nil }
        let sorted = numbers.sorted()
        let upper = sorted[sorted.count / 2]
        if sorted.count % 2 == 1 { return upper }
        var sum = NumberSum()
        sum.add(sorted[sorted.count / 2 - 1])
        sum.add(upper)
        return sum.mean
    }
}
