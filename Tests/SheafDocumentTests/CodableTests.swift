import Foundation
import SheafDocument
import Testing

@Suite struct CodableTests {
    struct Car: Codable, Equatable {
        enum Fuel: String, Codable { case gas, diesel, none }

        struct Owner: Codable, Equatable {
            var name: String
            var born: Int16?
        }

        var _id = "123"
        var color = "blue"
        var mileage = 3_001
        var price = 19_999.5
        var isSold = false
        var owners = [Owner(name: "caf\u{E9}", born: 1_970), Owner(name: "", born: nil)]
        var fuel = Fuel.diesel
        var tags: Set<String> = ["a"]
        var extras: [String: [Int]] = ["x": [1, 2], "y": []]
        var photo: [UInt8] = [0, 255]
        var note: String?
        var any: Value = ["k": [1, .null, 2.5]]
        var nested: [[Int?]] = [[1, nil], []]
        var ratio: Float = 0.5
    }

    private let encoder = ValueEncoder()
    private let decoder = ValueDecoder()

    @Test func `types encode as they would to JSON, but byte arrays encode to bytes`() throws {
        let value = try encoder.encode(Car())
        #expect(value["_id"] == "123" && value["mileage"] == 3_001 && value["price"] == 19_999.5)
        #expect(value["owners"] == [["born": 1_970, "name": "caf\u{E9}"], ["name": ""]])
        #expect(value["fuel"] == "diesel" && value["isSold"] == false && value["tags"] == ["a"])
        #expect(value["extras", "x"] == [1, 2] && value["photo"] == .bytes([0, 255]))
        #expect(value["note"] == nil && value["any"] == ["k": [1, .null, 2.5]])
        #expect(value["nested"] == [[1, .null], []] && value["ratio"] == 0.5)
    }

    @Test func `types survive encoding and decoding, also through Foundation's JSON`() throws {
        var car = Car()
        #expect(try decoder.decode(Car.self, from: encoder.encode(car)) == car)
        car.photo = []
        let data = try JSONEncoder().encode(car)
        #expect(try decoder.decode(Car.self, from: Value(jsonBytes: Array(data))) == car)
        var value = try encoder.encode(car)
        guard case .object(var object) = value else { return }
        object["photo"] = []
        value = .object(object)
        #expect(try JSONDecoder().decode(Car.self, from: Data(value.json.utf8)) == car)
    }

    @Test func `values survive Foundation's JSON coders, and bytes become Base64`() throws {
        // Foundation merges canonically equivalent names and rounds large floats.
        let value: Value = [
            "a": .null, "b": [true, 1, 2.5, "x", [], [:]], "c": ["d": [.integer(.max), -0.125]],
        ]
        let data = try JSONEncoder().encode(["v": value])
        #expect(try JSONDecoder().decode([String: Value].self, from: data)["v"] == value)
        let bytes = try JSONEncoder().encode([Value.bytes([1, 2, 3])])
        #expect(try JSONDecoder().decode([Value].self, from: bytes) == ["AQID"])
    }

    @Test func `values pass unchanged through the value encoder and decoder`() throws {
        var values = RandomValue(seed: 3)
        for _ in 0..<2_000 {
            let value = values.value()
            #expect(try encoder.encode(value).json == value.json)
            #expect(try decoder.decode(Value.self, from: value).json == value.json)
            #expect(try encoder.encode(["v": [value]]) == ["v": [value]])
            let nested = try decoder.decode([String: [Value]].self, from: ["v": [value]])
            #expect(nested == ["v": [value]])
        }
    }

    @Test func `a decoding error has the path of the mismatch`() throws {
        func path(_ json: String) throws -> String {
            do {
                _ = try decoder.decode(Car.self, from: Value(json: json))
                return "decoded"
            } catch DecodingError.typeMismatch(_, let context),
                DecodingError.dataCorrupted(let context),
                DecodingError.valueNotFound(_, let context),
                DecodingError.keyNotFound(_, let context)
            {
                return context.codingPath.map(\.stringValue).joined(separator: ".") + ": "
                    + context.debugDescription
            }
        }
        let fields = #""_id":"","color":"","mileage":1,"price":1,"isSold":true"#
        #expect(try path("[]") == ": expected Dictionary<String, Value>, found an array")
        #expect(try path("{}") == ": the object has no field \"_id\"")
        #expect(try path(#"{"_id":1}"#) == "_id: expected String, found a number")
        #expect(try path(#"{"_id":"","color":null}"#) == "color: expected String, found null")
        #expect(
            try path("{\(fields),\"owners\":[{\"name\":\"\",\"born\":70000}]}")
                == "owners.Index 0.born: 70000 does not fit in Int16")
        #expect(
            try path("{\(fields),\"owners\":[3]}")
                == "owners.Index 0: expected Dictionary<String, Value>, found a number")
    }

    @Test func `a float decodes as an integer only if it is integral`() throws {
        #expect(try decoder.decode([Int].self, from: [1, 2.0, -3e2]) == [1, 2, -300])
        #expect(throws: DecodingError.self) { try decoder.decode(Int.self, from: 1.5) }
        #expect(throws: DecodingError.self) { try decoder.decode(UInt8.self, from: -1) }
        #expect(try decoder.decode(Double.self, from: 3) == 3)
        #expect(throws: EncodingError.self) { try encoder.encode(UInt64.max) }
        #expect(throws: DecodingError.self) { try decoder.decode(Bool.self, from: 1) }
    }

    @Test func `subclasses and several containers in one object are encoded and decoded`() throws {
        class Base: Codable {
            var a = 1
        }
        final class Derived: Base {
            var b = 2

            package enum Keys: CodingKey { case b, more }

            override init() { super.init() }

            required init(from decoder: any Decoder) throws {
                let container = try decoder.container(keyedBy: Keys.self)
                b = try container.decode(Int.self, forKey: .b)
                try super.init(from: container.superDecoder())
            }

            override func encode(to encoder: any Encoder) throws {
                var container = encoder.container(keyedBy: Keys.self)
                try container.encode(b, forKey: .b)
                var more = container.nestedUnkeyedContainer(forKey: .more)
                try more.encode(1)
                var inner = more.nestedContainer(keyedBy: Keys.self)
                try inner.encodeNil(forKey: .b)
                try super.encode(to: container.superEncoder())
            }
        }
        let value = try encoder.encode(Derived())
        #expect(value == ["b": 2, "more": [1, ["b": .null]], "super": ["a": 1]])
        let derived = try decoder.decode(Derived.self, from: ["b": 5, "super": ["a": 4]])
        #expect(derived.a == 4 && derived.b == 5)
    }

    @Test func `byte collections encode to bytes and back`() throws {
        struct Photos: Codable, Equatable {
            var data = Data([0, 255])
            var none = Data()
            var numbers: ContiguousArray<UInt8> = [1]
            var maybe: Data? = Data([2])
            var list = [Data([3]), Data()]
            var words: ContiguousArray<Int> = [4]
        }
        let value = try encoder.encode(Photos())
        #expect(
            value == [
                "data": .bytes([0, 255]), "none": .bytes([]), "numbers": .bytes([1]),
                "maybe": .bytes([2]), "list": [.bytes([3]), .bytes([])], "words": [4],
            ])
        #expect(try decoder.decode(Photos.self, from: value) == Photos())
    }

    @Test func `only values with dates, decimals or durations await a coding`() throws {
        struct Nothing: Encodable {
            func encode(to encoder: any Encoder) {}
        }
        struct Plain: Encodable {
            var nothing = Nothing()
            var list = [[1], []]
            var text = "a"
        }
        struct Dated: Encodable {
            var nothing = Nothing()
            var dates = [Date(timeIntervalSince1970: 0)]
        }
        let plain: Value = ["nothing": [:], "list": [[1], []], "text": "a"]
        #expect(try encoder.encodeForAnyCoding(Plain()).fixedValue == plain)
        #expect(try encoder.encodeForAnyCoding(Nothing()).fixedValue == Value.object([:]))
        let dated = try encoder.encodeForAnyCoding(Dated())
        #expect(dated.fixedValue == nil)
        let value = try encoder.encode(Dated())
        #expect(try dated.value(ValueCoding()) == value)
    }

    /// A type around another one, without an array or an object.
    private struct Wrapper: Encodable {
        let depth: Int

        func encode(to encoder: any Encoder) throws {
            var container = encoder.singleValueContainer()
            if depth > 1 {
                try container.encode(Wrapper(depth: depth - 1))
            } else {
                try container.encode(true)
            }
        }
    }

    @Test func `types nest up to 192 deep`() throws {
        #expect(try encoder.encode(Wrapper(depth: 192)) == .bool(true))
        #expect(throws: EncodingError.self) { try encoder.encode(Wrapper(depth: 193)) }
    }

    @Test func `a value nested too deeply is refused`() throws {
        struct Node: Codable {
            var next: [Node]
        }
        var node = Node(next: [])
        for _ in 0..<Value.maximumDepth { node = Node(next: [node]) }
        #expect(throws: EncodingError.self) { try encoder.encode(node) }
        var deepest: Value = [:]
        for _ in 1..<Value.maximumDepth { deepest = [deepest] }
        let json = deepest.json
        struct Arrays: Encodable {
            let depth: Int

            func encode(to encoder: any Encoder) throws {
                var container = encoder.unkeyedContainer()
                if depth > 2 {
                    try container.encode(Arrays(depth: depth - 1))
                } else {
                    try container.encode([String: Int]())
                }
            }
        }
        #expect(try encoder.encode(Arrays(depth: Value.maximumDepth)).json == json)
        #expect(throws: EncodingError.self) {
            try encoder.encode(Arrays(depth: Value.maximumDepth + 1))
        }
    }
}
