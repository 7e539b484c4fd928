import SheafDocument

/// The functions of generators; the raw value is the name in the file.
enum GeneratorFunction: String, CaseIterable {
    case sequence, uniform, normal, zipf, text, hex, pick, weighted, chance, maybe, join, time
    case clock, id
    case repeated = "repeat"
    case newID = "new_id"
    case oldestID = "oldest_id"

    /// An argument of a call.
    struct Argument {
        let generator: Generator
        /// The number, if the argument is one.
        let bound: Generator.Bound?
        let offset: Int

        /// The text, if the argument is one.
        var text: String? {
            guard case .constant(.string(let text)) = generator else { return nil }
            return text
        }

        /// The integer, if the argument is one.
        var integer: Int64? {
            guard case .constant(.integer(let number)) = generator else { return nil }
            return number
        }
    }

    /// The form of a call, for error messages.
    private var form: String {
        switch self {
        case .sequence: "sequence(START, STEP), or sequence without arguments"
        case .uniform: "uniform(LOW, HIGH)"
        case .normal: "normal(MEAN, DEVIATION)"
        case .zipf: "zipf(COUNT) or zipf(COUNT, EXPONENT)"
        case .text: "text(LENGTH) or text(SHORTEST, LONGEST)"
        case .hex: "hex(LENGTH)"
        case .pick: "pick(VALUE, …)"
        case .weighted: "weighted(WEIGHT, VALUE, …)"
        case .chance: "chance(SHARE) with a share from 0 to 1"
        case .maybe: "maybe(SHARE, VALUE) with a share from 0 to 1"
        case .join: "join(VALUE, …)"
        case .time: "time(\"2026-01-01\", \"2026-12-31\")"
        case .clock: "clock(\"2026-01-01\", \"1s\")"
        case .id: "id(\"COLLECTION\"), with \"zipf\" or \"newest\" as a second argument"
        case .repeated: "repeat(COUNT, VALUE) or repeat(FEWEST, MOST, VALUE)"
        case .newID: "new_id(\"COLLECTION\"), with \"rising\" as a second argument"
        case .oldestID: "oldest_id(\"COLLECTION\")"
        }
    }

    /// Maximum length of texts, and maximum number of array elements.
    private static let maximumLength: Int64 = 1_000_000

    /// Checks the arguments of a call, and returns its generator.
    func generator(
        _ arguments: [Argument], at start: Int, _ parser: inout GeneratorParser
    ) throws(WorkloadFileError) -> Generator {
        if let generator = try numbers(arguments, &parser) { return generator }
        if let generator = try texts(arguments) { return generator }
        if let generator = try ids(arguments, at: start, &parser) { return generator }
        throw parser.error("invalid arguments of \(rawValue)", hint: "write \(form)", at: start)
    }

    private func numbers(
        _ arguments: [Argument], _ parser: inout GeneratorParser
    ) throws(WorkloadFileError) -> Generator? {
        let bounds = arguments.compactMap(\.bound)
        switch self {
        case .sequence:
            let numbers = arguments.compactMap(\.integer)
            guard numbers.count == arguments.count, numbers.count <= 2 else { return nil }
            let slot = parser.context.sequenceCount
            parser.context.sequenceCount += 1
            return .sequence(
                slot: slot, start: numbers.first ?? 0, step: numbers.count == 2 ? numbers[1] : 1)
        case .uniform:
            guard arguments.count == 2, bounds.count == 2 else { return nil }
            guard bounds[0].value <= bounds[1].value else {
                throw parser.error(
                    "the lower bound \(bounds[0].text) exceeds the upper bound \(bounds[1].text)",
                    hint: "write \(form)", at: arguments[0].offset)
            }
            return .uniform(bounds[0], bounds[1])
        case .normal:
            guard arguments.count == 2, bounds.count == 2, bounds[1].value >= 0 else { return nil }
            return .normal(bounds[0], bounds[1])
        case .zipf:
            guard let count = arguments.first?.integer, (1...1_000_000_000).contains(count),
                arguments.count == bounds.count, arguments.count <= 2
            else { return nil }
            let exponent = arguments.count == 2 ? bounds[1].value : 0.99
            guard (0.01...10).contains(exponent) else {
                throw parser.error(
                    "the exponent must be from 0.01 to 10", at: arguments[1].offset)
            }
            return .zipf(count: Int(count), exponent: exponent)
        case .chance:
            guard arguments.count == 1, let share = share(arguments[0]) else { return nil }
            return .chance(share)
        case .clock:
            guard arguments.count == 2,
                let first = arguments[0].text.flatMap(GeneratorTime.milliseconds),
                let step = arguments[1].text.flatMap(GeneratorTime.duration)
            else { return nil }
            let slot = parser.context.sequenceCount
            parser.context.sequenceCount += 1
            return .clock(slot: slot, start: first, step: step)
        default: return nil
        }
    }

    private func texts(_ arguments: [Argument]) throws(WorkloadFileError) -> Generator? {
        switch self {
        case .text: return lengths(arguments[...]).map { .text($0) }
        case .hex:
            guard arguments.count == 1, let range = lengths(arguments[...]) else { return nil }
            return .hex(range.upperBound)
        case .pick: return arguments.isEmpty ? nil : .pick(arguments.map(\.generator))
        case .weighted:
            guard !arguments.isEmpty, arguments.count.isMultiple(of: 2) else { return nil }
            var choices: [(weight: Double, value: Generator)] = []
            for index in stride(from: 0, to: arguments.count, by: 2) {
                guard let weight = arguments[index].bound?.value, weight > 0 else { return nil }
                choices.append((weight, arguments[index + 1].generator))
            }
            return .weighted(choices)
        case .maybe:
            guard arguments.count == 2, let share = share(arguments[0]) else { return nil }
            return .maybe(share, arguments[1].generator)
        case .repeated:
            guard (2...3).contains(arguments.count), let element = arguments.last,
                let range = lengths(arguments.dropLast())
            else { return nil }
            return .repeated(range, element.generator)
        case .join: return arguments.isEmpty ? nil : .join(arguments.map(\.generator))
        case .time:
            let moments = arguments.compactMap { $0.text.flatMap(GeneratorTime.milliseconds) }
            guard arguments.count == 2, moments.count == 2, moments[0] <= moments[1] else {
                return nil
            }
            return .time(moments[0]...moments[1])
        default: return nil
        }
    }

    private func share(_ argument: Argument) -> Double? {
        guard let share = argument.bound?.value, (0...1).contains(share) else { return nil }
        return share
    }

    private func lengths(_ arguments: ArraySlice<Argument>) -> ClosedRange<Int>? {
        let lengths = arguments.compactMap(\.integer)
        guard lengths.count == arguments.count, let low = lengths.first, let high = lengths.last,
            lengths.count <= 2, 0 <= low, low <= high, high <= Self.maximumLength
        else { return nil }
        return Int(low)...Int(high)
    }

    private func ids(
        _ arguments: [Argument], at start: Int, _ parser: inout GeneratorParser
    ) throws(WorkloadFileError) -> Generator? {
        guard self == .newID || self == .id || self == .oldestID,
            (1...2).contains(arguments.count), let collection = arguments[0].text
        else { return nil }
        let option = arguments.count == 2 ? arguments[1].text ?? "" : nil
        if self != .newID { parser.context.uses.append((collection, parser.location(of: start))) }
        switch self {
        case .newID:
            guard option == nil || option == "rising" else { return nil }
            let isRising = option != nil
            guard parser.context.risingIDs[collection, default: isRising] == isRising else {
                throw parser.error(
                    "new_id(\"\(WorkloadFileError.shortened(collection))\") occurs with and "
                        + "without \"rising\"", at: start)
            }
            parser.context.risingIDs[collection] = isRising
            return .newID(collection: collection, isRising: isRising)
        case .id:
            guard let choice = Generator.IDChoice(rawValue: option ?? "uniform") else { return nil }
            return .id(collection: collection, choice)
        default: return option == nil ? .oldestID(collection: collection) : nil
        }
    }
}
