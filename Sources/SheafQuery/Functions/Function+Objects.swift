import SheafDocument

/// Functions that inspect objects or return modified copies.
extension Function {
    package static let objects: [Function] = [
        Function("object_keys", 1) { arguments, _ in
            ofObject(arguments[0]) { .array($0.map { .string($0.name) }) }
        },
        Function("object_values", 1) { arguments, _ in
            ofObject(arguments[0]) { .array($0.map(\.value)) }
        },
        Function("object_length", 1) { arguments, _ in
            ofObject(arguments[0]) { .integer(Int64($0.count)) }
        },
        Function("object_size", 1) { (arguments, _) throws(StoreError) in
            guard case .object? = arguments[0], let value = arguments[0] else {
                return Operators.unfit(arguments, .object)
            }
            return .integer(Int64(try BoundedJSON.bytes(of: value).count))
        },
        Function("object_set", 3...4) { arguments, _ in set(arguments) },
        Function("object_unset", 2...anyNumber) { arguments, _ in unset(arguments) },
        Function("object_concat", 1...anyNumber) { (arguments, _) throws(StoreError) in
            try concatenate(arguments)
        },
        Function("object_rename", 3) { arguments, _ in rename(arguments) },
    ]

    private static func ofObject(_ value: Value?, _ result: (Object) -> Value) -> Value? {
        guard case .object(let object) = value else { return Operators.unfit([value], .object) }
        return result(object)
    }

    /// Implements `object_set(o, k, v[, replace])`; the value may be null.
    private static func set(_ arguments: [Value?]) -> Value? {
        guard let value = arguments[2] else { return nil }
        let flag = arguments.count == 4 ? arguments[3] : .bool(false)
        guard case .object(var object) = arguments[0], case .string(let name) = arguments[1],
            case .bool(let replaces) = flag
        else {
            return Operators.unfit([arguments[0], arguments[1], flag], .object, .string, .boolean)
        }
        if !replaces, object[name] != nil { return nil }
        object[name] = value
        return .object(object)
    }

    /// Implements `object_unset(o, k..)`; unknown names are ignored.
    private static func unset(_ arguments: [Value?]) -> Value? {
        guard case .object(let object) = arguments[0] else {
            return Operators.unfit(arguments, .object, .string)
        }
        var names: Set<[UInt8]> = []
        for argument in arguments.dropFirst() {
            guard case .string(let name) = argument else {
                return Operators.unfit(arguments, .object, .string)
            }
            names.insert(Array(name.utf8))
        }
        return .object(Object(sorting: object.filter { !names.contains(Array($0.name.utf8)) }))
    }

    /// Implements `object_concat(o..)`; the last of several equal names wins.
    private static func concatenate(_ arguments: [Value?]) throws(StoreError) -> Value? {
        var fields: [Object.Field] = []
        for argument in arguments {
            guard case .object(let object) = argument else {
                return Operators.unfit(arguments, .object)
            }
            fields.append(contentsOf: object)
            guard fields.count <= QueryLimits.maximumElements else {
                throw StoreError(
                    .limit, "an object has more than \(QueryLimits.maximumElements) fields")
            }
        }
        return .object(Object(sorting: fields))
    }

    /// Implements `object_rename(o, old, new)`; MISSING if the new name is already used.
    private static func rename(_ arguments: [Value?]) -> Value? {
        guard case .object(var object) = arguments[0], case .string(let old) = arguments[1],
            case .string(let new) = arguments[2]
        else { return Operators.unfit(arguments, .object, .string) }
        guard let value = object[old] else { return .object(object) }
        object[old] = nil
        guard object[new] == nil else { return nil }
        object[new] = value
        return .object(object)
    }
}
