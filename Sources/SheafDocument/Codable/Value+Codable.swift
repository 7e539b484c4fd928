/// Values encoded with other encoders, or decoded with other decoders.
///
/// Bytes become Base64 text, which decodes as a string.
extension Value: Codable {
    /// Decodes a value of any type.
    ///
    /// From a decoder other than `ValueDecoder`, a number without a fraction is an integer.
    public init(from decoder: any Decoder) throws {
        if let decoding = decoder as? Decoding {
            self = decoding.value
            return
        }
        if let decoding = decoder as? EntryDecoding {
            self = try decoding.value()
            return
        }
        if let container = try? decoder.container(keyedBy: PathKey.self) {
            self = .object(
                Object(
                    try container.allKeys.map { key in
                        (key.stringValue, try container.decode(Value.self, forKey: key))
                    }))
            return
        }
        if var container = try? decoder.unkeyedContainer() {
            var values: [Value] = []
            while !container.isAtEnd { values.append(try container.decode(Value.self)) }
            self = .array(values)
            return
        }
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            self = .null
        } else if let value = try? container.decode(Bool.self) {
            self = .bool(value)
        } else if let value = try? container.decode(Int64.self) {
            self = .integer(value)
        } else if let value = try? container.decode(Double.self) {
            self = .float(value)
        } else {
            self = .string(try container.decode(String.self))
        }
    }

    /// Encodes the value: an object with keys, an array without keys, all others as one value.
    public func encode(to encoder: any Encoder) throws {
        switch self {
        case .object(let object):
            var container = encoder.container(keyedBy: PathKey.self)
            for field in object { try container.encode(field.value, forKey: PathKey(field.name)) }
        case .array(let values):
            var container = encoder.unkeyedContainer()
            for value in values { try container.encode(value) }
        default:
            var container = encoder.singleValueContainer()
            switch self {
            case .bool(let value): try container.encode(value)
            case .integer(let value): try container.encode(value)
            case .float(let value): try container.encode(value)
            case .string(let value): try container.encode(value)
            case .bytes: try container.encode(String(json.dropFirst().dropLast()))
            case .null, .array, .object: try container.encodeNil()
            }
        }
    }
}
