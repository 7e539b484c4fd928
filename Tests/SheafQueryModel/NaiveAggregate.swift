import SheafDocument
import SheafQuery

/// Aggregates over all their values at once.
enum NaiveAggregate {
    static func result(_ kind: AggregateKind, _ all: [Value], isDistinct: Bool) -> Value? {
        var values = all.filter { $0 != .null }
        switch kind {
        case .count: values.removeAll { $0 == .bool(false) }
        case .sum, .avg, .median, .mid: values.removeAll { $0.kind != .number }
        case .min, .max: break
        }
        if isDistinct { values = Array(Set(values)) }
        values.sort()
        switch kind {
        case .count: return .integer(Int64(values.count))
        case .min: return values.first
        case .max: return values.last
        case .mid: return values.isEmpty ? nil : values[(values.count - 1) / 2]
        case .sum, .avg, .median:
            // How floats are added without losing anything has tests of its own.
            var sum = Aggregate(kind)
            for value in values { sum.add(value) }
            return sum.result()
        }
    }
}
