import Glibc
package import SheafDocument

/// The values of an operation, and the random source that they are taken from.
package struct GeneratorRun {
    package var random: RandomSource
    package let state: GeneratorState
    /// The IDs for new documents since the last call of `takeNewIDs`.
    private var newIDs: [GeneratorState.NewID] = []

    /// Creates a run with its own random source.
    package init(_ state: GeneratorState, _ random: RandomSource) {
        self.state = state
        self.random = random
    }

    /// Returns and removes the IDs for new documents.
    package mutating func takeNewIDs() -> [GeneratorState.NewID] {
        defer { newIDs = [] }
        return newIDs
    }

    /// Returns the next value of a generator, or nil if it must be left out.
    package mutating func value(
        of generator: Generator
    ) throws(GeneratorState.Failure) -> Value? {
        switch generator {
        case .constant(let value): return value
        case .array(let elements): return .array(try values(of: elements))
        case .object(let fields):
            var pairs: [(String, Value)] = []
            for field in fields {
                if let value = try value(of: field.value) { pairs.append((field.name, value)) }
            }
            return .object(Object(pairs))
        case .repeated(let counts, let element):
            let count = Int.random(in: counts, using: &random)
            return .array(try values(of: Array(repeating: element, count: count)))
        case .pick(let choices): return try value(of: choices[random.below(choices.count)])
        case .weighted(let choices): return try value(of: weighted(choices))
        case .maybe(let share, let generator):
            return random.unit() < share ? try value(of: generator) : nil
        case .join(let pieces):
            let texts = try values(of: pieces).map { value in
                if case .string(let text) = value { text } else { value.json }
            }
            return .string(texts.joined())
        case .newID(let collection, _):
            let (text, id) = try state.newID(collection)
            newIDs.append(id)
            return .string(text)
        case .id(let collection, let choice):
            return .string(try state.id(collection, choice, &random))
        case .oldestID(let collection): return .string(try state.oldestID(collection))
        default: return simple(generator)
        }
    }

    private mutating func values(
        of generators: [Generator]
    ) throws(GeneratorState.Failure) -> [Value] {
        var values: [Value] = []
        for generator in generators {
            if let value = try value(of: generator) { values.append(value) }
        }
        return values
    }

    private mutating func weighted(_ choices: [(weight: Double, value: Generator)]) -> Generator {
        var rest = random.unit() * choices.reduce(0) { $0 + $1.weight }
        for choice in choices.dropLast() {
            rest -= choice.weight
            if rest < 0 { return choice.value }
        }
        return choices[choices.count - 1].value
    }

    /// Returns a value of a generator without parts.
    private mutating func simple(_ generator: Generator) -> Value {
        switch generator {
        case .sequence(let slot, let start, let step):
            return .integer(start &+ state.count(slot) &* step)
        case .clock(let slot, let start, let step):
            return GeneratorTime.value(start &+ state.count(slot) &* step)
        case .uniform(let low, let high): return uniform(low, high)
        case .normal(let mean, let deviation):
            return Self.rounded(
                mean.value + random.normal() * deviation.value, like: mean, deviation)
        case .zipf(let count, let exponent):
            return .integer(Int64(random.zipf(count: count, exponent: exponent)))
        case .text(let lengths): return .string(words(Int.random(in: lengths, using: &random)))
        case .hex(let length): return .string(hexadecimal(length))
        case .chance(let share): return .bool(random.unit() < share)
        case .time(let range):
            return GeneratorTime.value(Int64.random(in: range, using: &random))
        default: preconditionFailure("A generator with parts is not simple.")
        }
    }

    private mutating func uniform(_ low: Generator.Bound, _ high: Generator.Bound) -> Value {
        if low.decimals == nil, high.decimals == nil, abs(low.value) < 0x1p53,
            abs(high.value) < 0x1p53
        {
            return .integer(Int64.random(in: Int64(low.value)...Int64(high.value), using: &random))
        }
        return Self.rounded(
            low.value + random.unit() * (high.value - low.value), like: low, high)
    }

    /// Rounds a number to the decimals with which its bounds are written.
    private static func rounded(
        _ number: Double, like first: Generator.Bound, _ second: Generator.Bound
    ) -> Value {
        guard first.decimals != nil || second.decimals != nil else {
            return Int64(exactly: number.rounded()).map { .integer($0) } ?? .float(number)
        }
        let factor = pow(10, Double(max(first.decimals ?? 0, second.decimals ?? 0)))
        return .float((number * factor).rounded() / factor)
    }

    /// Returns lower-case words of together `length` characters.
    private mutating func words(_ length: Int) -> String {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(length)
        var rest = 0
        while bytes.count < length {
            if rest == 0, !bytes.isEmpty, bytes.count < length - 1 { bytes.append(0x20) }
            if rest == 0 { rest = 3 + random.below(7) }
            bytes.append(0x61 + UInt8(random.below(26)))
            rest -= 1
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    private mutating func hexadecimal(_ length: Int) -> String {
        let digits = Array("0123456789abcdef".utf8)
        var bytes: [UInt8] = []
        bytes.reserveCapacity(length)
        while bytes.count < length {
            var word = random.next()
            for _ in 0..<min(16, length - bytes.count) {
                bytes.append(digits[Int(word & 15)])
                word >>= 4
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
