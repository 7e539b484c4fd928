package import SheafDocument

/// A description of random values.
package indirect enum Generator: Sendable {
    /// A number as it was written, with its number of decimals.
    package struct Bound: Equatable, Sendable {
        package let value: Double
        /// The number of digits after the point; nil for an integer.
        package let decimals: Int?
    }

    /// The distribution of the IDs that `id` returns.
    package enum IDChoice: String, CaseIterable, Sendable {
        /// Each ID equally often.
        case uniform
        /// A few IDs most of the time.
        case zipf
        /// Recent IDs most of the time.
        case newest
    }

    case constant(Value)
    case array([Generator])
    case object([(name: String, value: Generator)])
    /// A counter; `slot` is its number in the file.
    case sequence(slot: Int, start: Int64, step: Int64)
    case uniform(Bound, Bound)
    case normal(Bound, Bound)
    /// Numbers below `count`; small ones are frequent.
    case zipf(count: Int, exponent: Double)
    /// Words with blanks, of together this length.
    case text(ClosedRange<Int>)
    case hex(Int)
    case pick([Generator])
    case weighted([(weight: Double, value: Generator)])
    case chance(Double)
    /// A value that is left out of its object or array in the other cases.
    case maybe(Double, Generator)
    case repeated(ClosedRange<Int>, Generator)
    /// The texts of several values, joined.
    case join([Generator])
    /// A moment of a range, in milliseconds.
    case time(ClosedRange<Int64>)
    /// Moments one step after the other, in milliseconds.
    case clock(slot: Int, start: Int64, step: Int64)
    case newID(collection: String, isRising: Bool)
    case id(collection: String, IDChoice)
    /// The oldest ID that no earlier call returned.
    case oldestID(collection: String)
}

extension Generator {
    /// The type of the generated values, as far as SQLite must know it.
    package enum Kind: Equatable, Sendable {
        case scalar, boolean, array, object
        /// Values of several of these types.
        case mixed
    }

    package var kind: Kind {
        switch self {
        case .constant(.bool), .chance: .boolean
        case .constant(.array), .array, .repeated: .array
        case .constant(.object), .object: .object
        case .pick(let choices): Self.common(choices)
        case .weighted(let choices): Self.common(choices.map(\.value))
        case .maybe(_, let value): value.kind
        default: .scalar
        }
    }

    private static func common(_ choices: [Generator]) -> Kind {
        let kinds = choices.map(\.kind)
        return kinds.allSatisfy { $0 == kinds[0] } ? kinds[0] : .mixed
    }
}

extension Generator {
    /// The canonical text of the generator.
    package var text: String {
        switch self {
        case .constant(let value): value.json
        case .array(let elements): "[\(Self.list(elements))]"
        case .object(let fields):
            "{"
                + fields.map { "\(Value.string($0.name).json): \($0.value.text)" }
                .joined(separator: ", ") + "}"
        case .sequence(_, let start, let step): "sequence(\(start), \(step))"
        case .uniform(let low, let high): "uniform(\(low.text), \(high.text))"
        case .normal(let mean, let deviation): "normal(\(mean.text), \(deviation.text))"
        case .zipf(let count, let exponent): "zipf(\(count), \(exponent))"
        case .text(let lengths): "text(\(lengths.lowerBound), \(lengths.upperBound))"
        case .hex(let length): "hex(\(length))"
        case .pick(let choices): "pick(\(Self.list(choices)))"
        case .weighted(let choices):
            "weighted(" + choices.map { "\($0.weight), \($0.value.text)" }.joined(separator: ", ")
                + ")"
        case .chance(let share): "chance(\(share))"
        case .maybe(let share, let value): "maybe(\(share), \(value.text))"
        case .repeated(let counts, let element):
            "repeat(\(counts.lowerBound), \(counts.upperBound), \(element.text))"
        case .join(let pieces): "join(\(Self.list(pieces)))"
        case .time(let range):
            "time(\(GeneratorTime.text(range.lowerBound)), \(GeneratorTime.text(range.upperBound)))"
        case .clock(_, let start, let step):
            "clock(\(GeneratorTime.text(start)), \"\(step)ms\")"
        case .newID(let collection, let isRising):
            "new_id(\(Value.string(collection).json)" + (isRising ? ", \"rising\")" : ")")
        case .id(let collection, let choice):
            "id(\(Value.string(collection).json), \"\(choice.rawValue)\")"
        case .oldestID(let collection): "oldest_id(\(Value.string(collection).json))"
        }
    }

    private static func list(_ generators: [Generator]) -> String {
        generators.map(\.text).joined(separator: ", ")
    }
}

extension Generator.Bound {
    /// The number with its decimals.
    var text: String {
        guard let decimals else { return "\(Int64(value))" }
        var digits = "\(value)"
        let point = digits.firstIndex(of: ".").map {
            digits.distance(from: $0, to: digits.endIndex)
        }
        let missing = decimals - ((point ?? 1) - 1)
        if missing > 0, !digits.contains("e") { digits += String(repeating: "0", count: missing) }
        return digits
    }
}
