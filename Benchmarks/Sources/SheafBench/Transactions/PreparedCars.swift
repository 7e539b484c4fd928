import BenchHarness
import SheafDocument

/// Cars as each system wants them, made before anything is timed; ids are random.
struct PreparedCars: Sendable {
    /// For Sheaf, with their ids.
    let values: [Value]
    /// For those that store texts.
    let texts: [String]
    let ids: [String]

    static let count = 100_000

    /// The cars of a range of numbers.
    init(_ numbers: Range<Int>) throws {
        var (values, texts, ids) = ([Value](), [String](), [String]())
        for number in numbers {
            let text = Cars.text(UInt64(number))
            let id = Cars.id(UInt64(number))
            guard case .object(var object) = try Value(json: text) else { continue }
            object["_id"] = .string(id)
            values.append(.object(object))
            texts.append(text)
            ids.append(id)
        }
        (self.values, self.texts, self.ids) = (values, texts, ids)
    }

    var count: Int { ids.count }

    /// Places in random turns.
    func draws(_ count: Int, round: Int) -> [Int] {
        (0..<count).map { draw in
            Int(Entries.mix(UInt64(draw) ^ UInt64(round) << 40) % UInt64(ids.count))
        }
    }
}
