import SheafDocument

/// The numbers of a group, for MEDIAN and MID.
struct NumberList: Sendable {
    private var numbers: [Value] = []

    /// Adds a number; other values are ignored.
    mutating func add(_ value: Value) {
        if value.kind == .number { numbers.append(value) }
    }

    /// The middle number; of two middle numbers, the lower one.
    var lowerMiddle: Value? {
        numbers.isEmpty ? nil : numbers.sorted()[(numbers.count - 1) / 2]
    }

    /// The middle number; of two middle numbers, their mean as a float.
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
