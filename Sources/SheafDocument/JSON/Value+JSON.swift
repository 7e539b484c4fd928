extension Value {
    /// Parses a JSON text.
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

    /// Parses a JSON text in UTF-8.
    public init(jsonBytes bytes: [UInt8]) throws(JSONError) {
        self = try bytes.span.withUnsafeBytes { bytes throws(JSONError) in
            try JSONReader.read(bytes)
        }
    }

    /// The value as JSON, without spaces and with fields in order of name.
    ///
    /// Bytes become Base64. Infinities and NaN become null.
    public var json: String {
        var writer = JSONWriter()
        writer.write(self)
        return String(decoding: writer.bytes, as: UTF8.self)
    }
}

extension Value: CustomStringConvertible {
    /// The value as JSON, without spaces.
    public var description: String { json }
}
