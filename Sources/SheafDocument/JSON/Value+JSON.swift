extension Value {
    /// Reads a JSON text.
    public init(json text: String) throws(JSONError) {
        var text = text
        let result = text.withUTF8 { bytes -> Result<Value, JSONError> in
            do throws(JSONError) {
                return .success(try JSONReader.read(UnsafeRawBufferPointer(bytes)))
            } catch {
                return .failure(error)
            }
        }
        self = try result.get()
    }

    /// Reads a JSON text in UTF-8.
    public init(jsonBytes bytes: [UInt8]) throws(JSONError) {
        self = try bytes.span.withUnsafeBytes { bytes throws(JSONError) in
            try JSONReader.read(bytes)
        }
    }

    /// The value as JSON, without spaces, the fields of objects in the order of their names.
    ///
    /// Bytes become Base64, and what is no finite number null: JSON has neither.
    public var json: String {
        var writer = JSONWriter()
        writer.write(self)
        return String(decoding: writer.bytes, as: UTF8.self)
    }
}

extension Value: CustomStringConvertible {
    public var description: String { json }
}
