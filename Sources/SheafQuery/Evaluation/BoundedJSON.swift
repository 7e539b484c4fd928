package import SheafDocument

/// JSON output with a length limit.
///
/// A value with shared parts can be small in memory and far too long as JSON.
package enum BoundedJSON {
    /// Returns a value as JSON, as `Value.json` does; throws if it is too long.
    package static func bytes(of value: Value) throws(StoreError) -> [UInt8] {
        var writer = JSONWriter()
        try write(value, to: &writer)
        return writer.bytes
    }

    private static func write(
        _ value: Value, to writer: inout JSONWriter
    ) throws(StoreError) {
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
            throw StoreError(
                .limit, "a value has more than \(QueryLimits.maximumTextLength) bytes as JSON")
        }
    }
}
