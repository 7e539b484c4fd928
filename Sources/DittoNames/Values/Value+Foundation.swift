import Foundation
import Sheaf

extension Value {
    /// The value as Foundation has it: `NSNumber`, `String`, `NSNull`, `Data`, `[Any]`, `[String: Any]`.
    ///
    /// Numbers are objects so that casts convert them: the same number is an `Int`, an `Int64` and a
    /// `Double`, as long as it fits. Native numbers in an `Any` are of one type alone.
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
    /// The fields as Foundation has them.
    var foundationValue: [String: Any] {
        var fields: [String: Any] = [:]
        fields.reserveCapacity(count)
        for field in self { fields[field.name] = field.value.foundationValue }
        return fields
    }

    /// The fields as Foundation has them, in the type that the reference system has for whole documents: null is
    /// nil, and within arrays and objects `NSNull`, since these have no optional elements.
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
