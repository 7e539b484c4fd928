import SheafBytes

/// A decoder of `Decodable` types from values, without intermediate text.
public struct ValueDecoder: Sendable {
    private let coding: ValueCoding

    /// Creates a decoder of values that were encoded in a coding.
    public init(coding: ValueCoding = ValueCoding()) {
        self.coding = coding
    }

    /// Decodes a value as a type; throws a `DecodingError` with the path in the value.
    public func decode<T: Decodable>(_ type: T.Type, from value: Value) throws -> T {
        try Decoding(value, nil, coding).decode(type)
    }
}

/// The decoder of a value.
struct Decoding: Decoder {
    let value: Value
    let path: CodingPath?
    let coding: ValueCoding

    init(_ value: Value, _ path: CodingPath?, _ coding: ValueCoding) {
        self.value = value
        self.path = path
        self.coding = coding
    }

    var codingPath: [any CodingKey] { CodingPath.keys(path) }
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func container<Key: CodingKey>(
        keyedBy type: Key.Type
    ) throws -> KeyedDecodingContainer<Key> {
        guard case .object(let object) = value else { throw mismatch([String: Value].self) }
        return KeyedDecodingContainer(KeyedDecoding(object: object, path: path, coding: coding))
    }

    func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
        switch value {
        case .array(let values): return UnkeyedDecoding(values: values, path: path, coding: coding)
        // Types that hold bytes decode them one by one.
        case .bytes(let bytes):
            return UnkeyedDecoding(
                values: bytes.map { .integer(Int64($0)) }, path: path, coding: coding)
        default: throw mismatch([Value].self)
        }
    }

    func singleValueContainer() -> any SingleValueDecodingContainer { self }

    func mismatch(_ type: Any.Type) -> DecodingError {
        let found =
            switch value.kind {
            case .boolean: "a boolean"
            case .number: "a number"
            case .bytes: "bytes"
            case .string: "a string"
            case .array: "an array"
            case .object: "an object"
            case .null: "null"
            }
        let context = DecodingError.Context(
            codingPath: codingPath, debugDescription: "expected \(type), found \(found)")
        return value.kind == .null ? .valueNotFound(type, context) : .typeMismatch(type, context)
    }

    private func unfit(_ type: Any.Type) -> DecodingError {
        .dataCorrupted(
            DecodingError.Context(
                codingPath: codingPath,
                debugDescription: "\(value.description.shortened) does not fit in \(type)"))
    }
}

extension Decoding: SingleValueDecodingContainer {
    func decodeNil() -> Bool {
        if case .null = value { true } else { false }
    }

    func decode(_ type: Bool.Type) throws -> Bool {
        guard case .bool(let found) = value else { throw mismatch(type) }
        return found
    }

    func decode(_ type: String.Type) throws -> String {
        guard case .string(let found) = value else { throw mismatch(type) }
        return found
    }

    func decode(_ type: Double.Type) throws -> Double {
        switch value {
        case .float(let found): return found
        case .integer(let found): return Double(found)
        default: throw mismatch(type)
        }
    }

    func decode(_ type: Float.Type) throws -> Float {
        Float(try decode(Double.self))
    }

    func decode(_ type: Int.Type) throws -> Int { try integer(type) }
    func decode(_ type: Int8.Type) throws -> Int8 { try integer(type) }
    func decode(_ type: Int16.Type) throws -> Int16 { try integer(type) }
    func decode(_ type: Int32.Type) throws -> Int32 { try integer(type) }
    func decode(_ type: Int64.Type) throws -> Int64 { try integer(type) }
    func decode(_ type: UInt.Type) throws -> UInt { try integer(type) }
    func decode(_ type: UInt8.Type) throws -> UInt8 { try integer(type) }
    func decode(_ type: UInt16.Type) throws -> UInt16 { try integer(type) }
    func decode(_ type: UInt32.Type) throws -> UInt32 { try integer(type) }
    func decode(_ type: UInt64.Type) throws -> UInt64 { try integer(type) }

    private func integer<T: FixedWidthInteger>(_ type: T.Type) throws -> T {
        let found: T?
        switch value {
        case .integer(let integer): found = T(exactly: integer)
        // Floats with an integer value are accepted: other systems write 3 as 3.0.
        case .float(let float): found = T(exactly: float)
        default: throw mismatch(type)
        }
        guard let found else { throw unfit(type) }
        return found
    }

    func decode<T: Decodable>(_ type: T.Type) throws -> T {
        if type == Value.self, let found = value as? T { return found }
        if type == [UInt8].self, case .bytes(let bytes) = value, let found = bytes as? T {
            return found
        }
        if let found = try FoundationTypes.decode(type, from: self) { return found }
        return try T(from: self)
    }
}
