import Foundation
import Sheaf

extension Value {
    /// The value as `NSNumber`, `String`, `NSNull`, `Data`, `[Any]` or `[String: Any]`.
    ///
    /// `NSNumber` allows casts to every number type that can represent the value; a native number
    /// in an `Any` can only be cast to its own type.
    var foundationValue: Any {
        switch self {
        case .null: NSNull()
        case .bool(let value): NSNumber(value: value)
        case .integer(let value): NSNumber(value: value)
        case .float(let value): NSNumber(value: value)
        case .string(let value): value
        case .bytes(let value): Data(value)
        case .array(let values): values.map(\.foundationValue)
        case .object(let object): object.foundationValue
        }
    }
}

extension Object {
    /// The fields as Foundation values.
    var foundationValue: [String: Any] {
        var fields: [String: Any] = [:]
        fields.reserveCapacity(count)
        for field in self { fields[field.name] = field.value.foundationValue }
        return fields
    }

    /// The fields as Foundation values, with nil for null, as in documents of the reference system.
    ///
    /// Within arrays and objects null is `NSNull`, because their elements are not optional.
    var dittoValue: [String: Any?] {
        var fields: [String: Any?] = [:]
        fields.reserveCapacity(count)
        for field in self {
            let isNull = field.value == .null
            fields.updateValue(isNull ? nil : field.value.foundationValue, forKey: field.name)
        }
        return fields
    }
}
