import Foundation
import Sheaf
import SheafBytes

extension Value {
    /// Converts a value of Foundation or the standard library.
    ///
    /// Nil and `NSNull` become null. Booleans are kept distinct from numbers, even as `NSNumber`.
    init(bridging source: Any?) throws(Unbridgeable) {
        try self.init(source, depth: 0)
    }

    fileprivate init(_ source: Any?, depth: Int) throws(Unbridgeable) {
        guard let source else {
            self = .null
            return
        }
        // An `Any` may contain an optional; it is unwrapped first, since casts would unwrap it too.
        if let optional = source as? any OptionalSource {
            try self.init(optional.wrapped, depth: depth)
        } else if type(of: source) is AnyObject.Type {
            try self.init(object: source, depth: depth)
        } else {
            try self.init(native: source, depth: depth)
        }
    }

    /// Converts a class instance, as returned by Foundation's parsers and by older code.
    private init(object source: Any, depth: Int) throws(Unbridgeable) {
        switch source {
        case is NSNull: self = .null
        case let attachment as DittoAttachment: self = attachment.token.token.value
        // An `NSNumber` of 1 can be cast to `Bool`, so the casts for native values do not apply.
        case let number as NSNumber: try self.init(number)
        case let text as NSString: self = .string(String(describing: text))
        case let data as NSData: self = .bytes([UInt8](Data(referencing: data)))
        case let array as NSArray: try self.init(list: array.map { $0 }, depth: depth)
        case let dictionary as NSDictionary:
            try self.init(entries: dictionary.map { ($0.key, $0.value) }, depth: depth)
        default: throw Unbridgeable(ofType: source)
        }
    }

    private init(_ number: NSNumber) throws(Unbridgeable) {
        // All Boolean `NSNumber`s share a class that no other number has.
        if type(of: number) == type(of: NSNumber(value: true)) {
            self = .bool(number.boolValue)
            return
        }
        switch String(cString: number.objCType) {
        case "d", "f": self = .float(number.doubleValue)
        case "Q": self = try .integer(exactly: number.uint64Value)
        default: self = .integer(number.int64Value)
        }
    }

    private init(native source: Any, depth: Int) throws(Unbridgeable) {
        switch source {
        case let value as Bool: self = .bool(value)
        case let value as Double: self = .float(value)
        case let value as Float: self = .float(Double(value))
        case let value as CGFloat: self = .float(Double(value))
        case let value as any BinaryInteger: self = try .integer(exactly: value)
        case let value as String: self = .string(value)
        case let value as Substring: self = .string(String(value))
        case let value as Data: self = .bytes([UInt8](value))
        case let value as Value: self = value
        case let value as DittoDocumentID: self = value.sheafValue
        case let value as DittoAttachmentToken: self = value.token.value
        case let value as any ListSource: try self.init(list: value.elements, depth: depth)
        case let value as any EntriesSource: try self.init(entries: value.entries, depth: depth)
        default: throw Unbridgeable(ofType: source)
        }
    }

    private static func integer(exactly value: some BinaryInteger) throws(Unbridgeable) -> Value {
        guard let integer = Int64(exactly: value) else {
            throw Unbridgeable(
                "\("\(value)".shortened) does not fit into a 64-bit integer; pass it as a string")
        }
        return .integer(integer)
    }

    private init(list: [Any], depth: Int) throws(Unbridgeable) {
        try Self.check(depth)
        var values: [Value] = []
        values.reserveCapacity(list.count)
        for (index, element) in list.enumerated() {
            do throws(Unbridgeable) {
                values.append(try Value(element, depth: depth + 1))
            } catch {
                throw error.within(.index(index))
            }
        }
        self = .array(values)
    }

    private init(entries: [(key: Any, value: Any)], depth: Int) throws(Unbridgeable) {
        try Self.check(depth)
        var fields: [(String, Value)] = []
        fields.reserveCapacity(entries.count)
        for (key, value) in entries {
            guard let name = key as? String else {
                let type = type(of: (key as? AnyHashable)?.base ?? key)
                throw Unbridgeable(
                    "the key \("\(key)".shortened) is of type \("\(type)".shortened); a field "
                        + "name must be a String")
            }
            do throws(Unbridgeable) {
                fields.append((name, try Value(value, depth: depth + 1)))
            } catch {
                throw error.within(.name(name))
            }
        }
        self = .object(Object(fields))
    }

    /// Limits the depth before the recursion overflows the stack.
    private static func check(_ depth: Int) throws(Unbridgeable) {
        guard depth < maximumDepth else {
            throw Unbridgeable("arrays and objects are nested deeper than \(maximumDepth)")
        }
    }
}

extension [String: Value] {
    /// Converts the arguments of a statement.
    init(bridging arguments: [String: Any?]) throws(Unbridgeable) {
        self.init(minimumCapacity: arguments.count)
        for (name, source) in arguments {
            do throws(Unbridgeable) {
                self[name] = try Value(bridging: source)
            } catch {
                throw error.within(.name(name))
            }
        }
    }
}

extension Object {
    /// Converts the fields of a document.
    init(bridging fields: [String: Any?]) throws(Unbridgeable) {
        self.init(try [String: Value](bridging: fields).map { ($0.key, $0.value) })
    }
}

extension Unbridgeable {
    fileprivate init(ofType source: Any) {
        switch source {
        case is Date:
            self.init(
                "documents have no date type; pass a string such as \"2026-01-31T12:00:00Z\", or "
                    + "milliseconds since 1970")
        default:
            self.init(
                "\("\(type(of: source))".shortened) cannot be stored in a document; pass a Boolean, "
                    + "a number, a string, Data, NSNull, or arrays and dictionaries of these")
        }
    }
}

/// An optional of any type.
private protocol OptionalSource {
    var wrapped: Any? { get }
}

extension Optional: OptionalSource {
    fileprivate var wrapped: Any? { self }
}

/// An array of any element type.
private protocol ListSource {
    var elements: [Any] { get }
}

extension Array: ListSource {
    fileprivate var elements: [Any] { map { $0 } }
}

/// A dictionary of any key and value types.
private protocol EntriesSource {
    var entries: [(key: Any, value: Any)] { get }
}

extension Dictionary: EntriesSource {
    fileprivate var entries: [(key: Any, value: Any)] { map { ($0.key, $0.value) } }
}
