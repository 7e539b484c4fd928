import BenchHarness
import BenchStores
import SheafDocument

/// Cars with random IDs, prepared in the form each system needs before timing starts.
struct PreparedCars: Sendable {
    /// Values for Sheaf, with their IDs.
    let values: [Value]
    /// JSON texts for the other systems.
    let texts: [String]
    let ids: [String]

    static let count = 100_000

    /// Prepares the cars of a range of numbers; a form that is not needed is left empty.
    init(_ numbers: Range<Int>, asValues: Bool = true, asTexts: Bool = true) throws {
        var (values, texts, ids) = ([Value](), [String](), [String]())
        for number in numbers {
            let text = Cars.text(UInt64(number))
            let id = Cars.id(UInt64(number))
            ids.append(id)
            if asTexts { texts.append(text) }
            guard asValues, case .object(var object) = try Value(json: text) else { continue }
            object["_id"] = .string(id)
            values.append(.object(object))
        }
        (self.values, self.texts, self.ids) = (values, texts, ids)
    }

    var count: Int { ids.count }

    /// Returns `count` random indexes into the cars.
    func draws(_ count: Int, round: Int) -> [Int] {
        (0..<count).map { draw in
            Int(Entries.mix(UInt64(draw) ^ UInt64(round) << 40) % UInt64(ids.count))
        }
    }
}
