package import SheafDocument

/// An error as the response of a request.
package struct ErrorAnswer: Error, Sendable {
    package let status: Int
    package let message: String
    var hint: String?
    /// The part of the statement that is wrong; nil if the error concerns none.
    var mark: Mark?
    /// Further fields of the header.
    var fields: [(name: String, value: String)] = []

    /// A part of a statement: line and column from 1, and the length in characters.
    struct Mark: Sendable {
        let line: Int
        let column: Int
        let length: Int
    }

    init(_ status: Int, _ message: String, hint: String? = nil) {
        self.status = status
        self.message = message
        self.hint = hint
    }

    /// Creates the error of a statement or a store.
    package init(_ error: StoreError) {
        status =
            switch error.reason {
            case .readOnly: 403
            case .damaged, .full, .disk, .inUse, .notAStore, .unsupported, .closed, .failed: 500
            default: 400
            }
        message = error.message
        hint = error.hint
        mark = error.excerpt.map {
            Mark(line: $0.line, column: $0.column, length: $0.markLength)
        }
    }

    /// The body of the response.
    package var data: Object {
        var error: Object = ["message": .string(message)]
        if let hint { error["hint"] = .string(hint) }
        if let mark {
            error["line"] = .integer(Int64(mark.line))
            error["column"] = .integer(Int64(mark.column))
            error["length"] = .integer(Int64(mark.length))
        }
        return ["error": .object(error)]
    }

    /// The response.
    var response: HTTPResponse {
        HTTPResponse(status, "application/json", .bytes(JSONBytes.of(data)), fields: fields)
    }
}

/// Values as the bytes of JSON.
enum JSONBytes {
    /// Returns an object as JSON.
    static func of(_ object: Object) -> [UInt8] {
        var writer = JSONWriter()
        writer.write(.object(object))
        return writer.bytes
    }

    /// Returns a value in which `{"$bytes": BASE64}` replaces bytes, which JSON lacks.
    static func visible(_ value: Value) -> Value {
        switch value {
        case .bytes: .object(["$bytes": value])
        case .array(let elements): .array(elements.map(visible))
        case .object(let object): .object(visible(object))
        case .null, .bool, .integer, .float, .string: value
        }
    }

    /// Returns an object in which `{"$bytes": BASE64}` replaces bytes.
    static func visible(_ object: Object) -> Object {
        var copy = object
        for field in object {
            switch field.value {
            case .bytes, .array, .object: copy[field.name] = visible(field.value)
            case .null, .bool, .integer, .float, .string: break
            }
        }
        return copy
    }
}
