import SheafBytes
import SheafDocument

/// The value of an argument, or why there is none.
///
/// Literals cannot throw, so what is wrong with a value is kept until its query is run.
enum Argument: Sendable {
    case value(Value)
    case unfit(String)

    /// Paths beyond this are cut off in errors.
    private static let maximumPathLength = 8

    init(_ value: Value) {
        self =
            value.canBeArgument
            ? .value(value)
            : .unfit("arrays and objects are nested deeper than \(Value.maximumDepth)")
    }

    /// Of the fields of an object that is encoded so, those that are nil may become null.
    init(encoding source: some Encodable, keepsNil: Bool = false) {
        do {
            self.init(try ValueEncoder(keepsNil: keepsNil).encode(source))
        } catch EncodingError.invalidValue(_, let context) {
            let path = Self.text(of: context.codingPath)
            self = .unfit((path.isEmpty ? "" : "at \(path.shortened), ") + context.debugDescription)
        } catch {
            self = .unfit("\(error)".shortened)
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

extension Value {
    /// Whether it is nested no deeper than any value may be.
    var canBeArgument: Bool { !isDeeper(than: Self.maximumDepth) }
}
