import SheafDocument

/// The fields of a JSON object in the body of a request.
struct RequestFields {
    private let object: Object

    /// Reads a body, which may have only the fields with these names.
    init(_ body: [UInt8], names: [String]) throws(ErrorAnswer) {
        let value: Value
        do throws(JSONError) { value = try Value(jsonBytes: body) } catch {
            throw ErrorAnswer(400, "the body of the request is not JSON: \(error)")
        }
        guard case .object(let object) = value else {
            throw ErrorAnswer(400, "the body of the request is not a JSON object")
        }
        if let unknown = object.first(where: { !names.contains($0.name) }) {
            throw ErrorAnswer(
                400, "the body of the request has an unknown field '\(unknown.name)'",
                hint: "its fields are \(names.joined(separator: ", "))")
        }
        self.object = object
    }

    /// Returns a text; throws if it is missing.
    func text(_ name: String) throws(ErrorAnswer) -> String {
        guard let value = object[name] else {
            throw ErrorAnswer(400, "the body of the request has no field '\(name)'")
        }
        guard case .string(let text) = value else { throw Self.wrongType(name, "a string") }
        return text
    }

    /// Returns the fields of an object; none if it is missing.
    func object(_ name: String) throws(ErrorAnswer) -> Object {
        guard let value = object[name] else { return Object() }
        guard case .object(let fields) = value else { throw Self.wrongType(name, "an object") }
        return fields
    }

    /// Returns an integer within limits; `fallback` if it is missing.
    func integer(
        _ name: String, _ limits: ClosedRange<Int>, _ fallback: Int
    ) throws(ErrorAnswer) -> Int {
        guard let value = object[name] else { return fallback }
        guard case .integer(let number) = value, let number = Int(exactly: number),
            limits.contains(number)
        else {
            throw Self.wrongType(
                name, "an integer from \(limits.lowerBound) to \(limits.upperBound)")
        }
        return number
    }

    private static func wrongType(_ name: String, _ type: String) -> ErrorAnswer {
        ErrorAnswer(400, "the field '\(name)' of the request is not \(type)")
    }
}
