import SheafBytes
import SheafDocument

/// The value of an argument, or the reason why it cannot be encoded.
///
/// Literals cannot throw, so the reason is retained until the query is run.
enum Argument: Sendable {
    case value(Value)
    case invalid(String)

    /// Maximum number of path components shown in errors.
    private static let maximumPathLength = 8

    package init(_ value: Value) {
        self =
            value.canBeArgument
            ? .value(value)
            : .invalid("arrays and objects are nested deeper than \(Value.maximumDepth)")
    }

    /// Encodes `source`; with `keepsNil`, nil fields of an object become null instead of missing.
    package init(encoding source: some Encodable, keepsNil: Bool = false) {
        self.init { try ValueEncoder(keepsNil: keepsNil).encode(source) }
    }

    /// Creates an argument from a value, or from the error of encoding it.
    fileprivate init(_ encode: () throws -> Value) {
        do {
            self.init(try encode())
        } catch EncodingError.invalidValue(_, let context) {
            let path = Self.text(of: context.codingPath)
            self = .invalid(
                (path.isEmpty ? "" : "at \(path.shortened), ") + context.debugDescription)
        } catch {
            self = .invalid("\(error)".shortened)
        }
    }

    private static func text(of path: [any CodingKey]) -> String {
        var text = ""
        for key in path.prefix(maximumPathLength) {
            if let index = key.intValue, key.stringValue == "Index \(index)" {
                text += "[\(index)]"
            } else {
                text += (text.isEmpty ? "" : ".") + key.stringValue
            }
        }
        return path.count > maximumPathLength ? text + "..." : text
    }
}

/// An argument that a query was interpolated with.
enum InterpolatedValue: Sendable {
    case fixed(Argument)
    /// A value with dates, decimals or durations, whose form is known when the query runs.
    case uncoded(UncodedValue)

    init(encoding source: some Encodable) {
        do {
            let value = try ValueEncoder().encodeForAnyCoding(source)
            self = value.fixedValue.map { .fixed(Argument($0)) } ?? .uncoded(value)
        } catch {
            self = .fixed(Argument { throw error })
        }
    }

    /// Returns the argument with dates, decimals and durations in a coding.
    func argument(_ coding: ValueCoding) -> Argument {
        switch self {
        case .fixed(let argument): argument
        case .uncoded(let value): Argument { try value.value(coding) }
        }
    }
}

extension Value {
    /// Whether the value is nested at most `maximumDepth` levels deep.
    var canBeArgument: Bool { !isDeeper(than: Self.maximumDepth) }
}
