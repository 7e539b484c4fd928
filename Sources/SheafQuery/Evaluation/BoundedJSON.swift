package import SheafDocument

/// JSON whose writing stops where it becomes too long.
///
/// A few steps of a statement can make a value whose parts are shared a billion times: it takes
/// little room, and endless time to write.
package enum BoundedJSON {
    /// The value as JSON, as `Value.json` writes it; throws where it is longer than texts may be.
    package static func bytes(of value: Value) throws(QueryError) -> [UInt8] {
        var writer = JSONWriter()
        try write(value, to: &writer)
        return writer.bytes
    }

    private static func write(
        _ value: Value, to writer: inout JSONWriter
    ) throws(QueryError) {
        switch value {
        case .array(let values):
            writer.write(word: "[")
            for (index, value) in values.enumerated() {
                if index > 0 { writer.write(word: ",") }
                try write(value, to: &writer)
            }
            writer.write(word: "]")
        case .object(let object):
            writer.write(word: "{")
            for (index, field) in object.enumerated() {
                if index > 0 { writer.write(word: ",") }
                writer.write(text: field.name)
                writer.write(word: ":")
                try write(field.value, to: &writer)
            }
            writer.write(word: "}")
        default:
            writer.write(value)
        }
        guard writer.bytes.count <= QueryLimits.maximumTextLength else {
            throw QueryError(
                .limit, "a value has more than \(QueryLimits.maximumTextLength) bytes as JSON")
        }
    }
}
