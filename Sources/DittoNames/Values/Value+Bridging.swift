import Foundation
import Sheaf
import SheafBytes

extension Value {
    /// The value that something of Foundation or of the standard library stands for.
    ///
    /// Nil and `NSNull` are null. Booleans stay apart from numbers, also where both are `NSNumber`.
    init(bridging source: Any?) throws(Unbridgeable) {
        try self.init(source, depth: 0)
    }

    fileprivate init(_ source: Any?, depth: Int) throws(Unbridgeable) {
        guard let source else {
            self = .null
            return
        }
        // An `Any` can hold an optional. It is looked into first, as casts look through it.
        if let optional = source as? any OptionalSource {
            try self.init(optional.wrapped, depth: depth)
        } else if type(of: source) is AnyObject.Type {
            try self.init(object: source, depth: depth)
        } else {
            try self.init(native: source, depth: depth)
        }
    }

    /// A class instance: what Foundation's own parsers and old code bring.
    private init(object source: Any, depth: Int) throws(Unbridgeable) {
        switch source {
        case is NSNull: self = .null
        case let attachment as DittoAttachment: self = attachment.token.token.value
        // Before numbers: a cast of an `NSNumber` to `Bool` takes 1 for true.
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
        // All booleans are of one class, which no number is of.
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
                "\("\(value)".shortened) is beyond integers of 64 bits; pass it as a text")
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
                    "the key \("\(key)".shortened) is of type \("\(type)".shortened); the name of a "
                        + "field is a String")
            }
            do throws(Unbridgeable) {
                fields.append((name, try Value(value, depth: depth + 1)))
            } catch {
                throw error.within(.name(name))
            }
        }
        self = .object(Object(fields))
    }

    /// Before the stack ends: it says what is wrong.
    private static func check(_ depth: Int) throws(Unbridgeable) {
        guard depth < maximumDepth else {
            throw Unbridgeable("arrays and objects are nested deeper than \(maximumDepth)")
        }
    }
}

extension [String: Value] {
    /// The arguments of a statement, by their names.
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
    /// The fields of a document.
    init(bridging fields: [String: Any?]) throws(Unbridgeable) {
        self.init(try [String: Value](bridging: fields).map { ($0.key, $0.value) })
    }
}

extension Unbridgeable {
    fileprivate init(ofType source: Any) {
        switch source {
        case is Date:
            self.init(
                "documents have no dates; pass a text like \"2026-01-31T12:00:00Z\", or the "
                    + "milliseconds since 1970")
        default:
            self.init(
                "\("\(type(of: source))".shortened) has no counterpart in a document; pass a boolean, a number, "
                    + "a text, Data, NSNull, or arrays and dictionaries of these")
        }
    }
}

// MARK: What is generic, seen without its parameters

/// An optional, whatever it is of.
private protocol OptionalSource {
    var wrapped: Any? { get }
}

extension Optional: OptionalSource {
    fileprivate var wrapped: Any? { self }
}

/// An array, whatever it is of.
private protocol ListSource {
    var elements: [Any] { get }
}

extension Array: ListSource {
    fileprivate var elements: [Any] { map { $0 } }
}

/// A dictionary, whatever it is of.
private protocol EntriesSource {
    var entries: [(key: Any, value: Any)] { get }
}

extension Dictionary: EntriesSource {
    fileprivate var entries: [(key: Any, value: Any)] { map { ($0.key, $0.value) } }
}
