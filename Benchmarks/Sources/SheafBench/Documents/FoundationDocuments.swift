import BenchHarness
import BenchStores
import Foundation

/// Foundation's conversions of the same JSON.
enum FoundationDocuments {
    private static var texts: [Data] {
        (0..<UInt64(CarTrial.count)).map { Data(Cars.text($0).utf8) }
    }

    /// Creates a trial that decodes JSON to dictionaries.
    static func decodingJSON(_ stage: Stage) -> CarTrial {
        let texts = texts
        return CarTrial(stage, repetitions: 10) { index in
            let object = try JSONSerialization.jsonObject(with: texts[index])
            return (object as? [String: Any])?.count ?? 0
        }
    }

    /// Creates a trial that encodes dictionaries to JSON.
    static func encodingJSON(_ stage: Stage) throws -> CarTrial {
        let objects = try texts.map { try JSONSerialization.jsonObject(with: $0) }
        return CarTrial(stage, repetitions: 5) { index in
            try JSONSerialization.data(withJSONObject: objects[index]).count
        }
    }

    /// Creates a trial that decodes JSON to a `Decodable` type.
    static func decodingType(_ stage: Stage) -> CarTrial {
        let texts = texts
        let decoder = JSONDecoder()
        return CarTrial(stage, repetitions: 10) { index in
            try decoder.decode(Car.self, from: texts[index]).mileage
        }
    }
}
