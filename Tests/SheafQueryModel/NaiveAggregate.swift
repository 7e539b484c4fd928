import SheafDocument
import SheafQuery

/// Aggregates computed from the complete list of values.
enum NaiveAggregate {
    static func result(_ kind: AggregateKind, _ all: [Value], isDistinct: Bool) -> Value? {
        var values = all.filter { $0 != .null }
        switch kind {
        case .count: values.removeAll { $0 == .bool(false) }
        case .sum, .avg, .median, .mid: values.removeAll { $0.kind != .number }
        case .min, .max: break
        }
        if isDistinct {
            values = Set(values).map { NaiveForm.first(of: values, equalTo: $0) }
        }
        values.sort()
        switch kind {
        case .count: return .integer(Int64(values.count))
        case .min: return values.first.map { NaiveForm.first(of: values, equalTo: $0) }
        case .max: return values.last.map { NaiveForm.first(of: values, equalTo: $0) }
        case .mid: return values.isEmpty ? nil : values[(values.count - 1) / 2]
        case .sum, .avg, .median:
            // The compensated summation of floats has separate tests.
            var sum = Aggregate(kind)
            for value in values { sum.add(value) }
            return sum.result()
        }
    }
}

/// The preferred form among equal values: integers before floats, zero before negative zero.
enum NaiveForm {
    static func precedes(_ left: Value?, _ right: Value?) -> Bool {
        forms(left).lexicographicallyPrecedes(forms(right))
    }

    static func first(of values: [Value], equalTo value: Value) -> Value {
        values.filter { $0 == value }.min { precedes($0, $1) } ?? value
    }

    private static func forms(_ value: Value?) -> [Int] {
        switch value {
        case .float(let float)?: [float == 0 && float.sign == .minus ? 2 : 1]
        case .array(let values)?: values.flatMap(forms)
        case .object(let object)?: object.flatMap { forms($0.value) }
        default: [0]
        }
    }
}
