import SheafDocument

/// An instance that encodes an object in one of several ways, which its style determines.
struct RandomShape: Encodable {
    private let value: Value
    private let style: UInt64

    init(_ object: Object, style: UInt64) {
        self.init(.object(object), style)
    }

    private init(_ value: Value, _ style: UInt64) {
        self.value = value
        self.style = style
    }

    private func part(_ value: Value, _ index: Int) -> RandomShape {
        RandomShape(value, style >> 3 ^ UInt64(index) &* 0x9E37_79B9)
    }

    func encode(to encoder: any Encoder) throws {
        switch value {
        case .object(let object):
            var container = encoder.container(keyedBy: TextKey.self)
            for (index, field) in object.enumerated() {
                try encode(field.value, as: TextKey(field.name), index, into: &container)
            }
        case .array(let elements):
            var container = encoder.unkeyedContainer()
            for (index, element) in elements.enumerated() {
                if style & 1 == 0, case .object(let object) = element {
                    var inner = container.nestedContainer(keyedBy: TextKey.self)
                    for (index, field) in object.enumerated() {
                        try encode(field.value, as: TextKey(field.name), index, into: &inner)
                    }
                } else {
                    try container.encode(part(element, index))
                }
            }
        case .null, .bool, .integer, .float, .string, .bytes:
            var container = encoder.singleValueContainer()
            try encode(into: &container)
        }
    }

    private func encode(into container: inout any SingleValueEncodingContainer) throws {
        switch value {
        case .null: try container.encodeNil()
        case .bool(let bool): try container.encode(bool)
        case .integer(let integer): try container.encode(integer)
        case .float(let float): try container.encode(float)
        case .string(let text): try container.encode(text)
        default: try container.encode(value)
        }
    }

    private func encode(
        _ value: Value, as key: TextKey, _ index: Int,
        into container: inout KeyedEncodingContainer<TextKey>
    ) throws {
        switch (value, style >> UInt64(index % 8) & 3) {
        case (.string(let text), 0): try container.encode(text, forKey: key)
        case (.integer(let integer), 0): try container.encode(integer, forKey: key)
        case (.integer(let integer), 1): try container.encode(Int(integer), forKey: key)
        case (.float(let float), 0): try container.encode(float, forKey: key)
        case (.bool(let bool), 0): try container.encodeIfPresent(bool, forKey: key)
        case (.null, 0): try container.encodeNil(forKey: key)
        case (.array(let elements), 0):
            var inner = container.nestedUnkeyedContainer(forKey: key)
            for (index, element) in elements.enumerated() {
                try inner.encode(part(element, index))
            }
        case (.object(let object), 0):
            var inner = container.nestedContainer(keyedBy: TextKey.self, forKey: key)
            for (index, field) in object.enumerated() {
                try encode(field.value, as: TextKey(field.name), index, into: &inner)
            }
        case (_, 1): try container.encode(value, forKey: key)
        default: try container.encode(part(value, index), forKey: key)
        }
    }
}

/// A key with any name.
struct TextKey: CodingKey {
    let stringValue: String
    var intValue: Int? { nil }

    init(_ text: String) { stringValue = text }
    init?(stringValue: String) { self.init(stringValue) }
    init?(intValue: Int) { nil }
}
