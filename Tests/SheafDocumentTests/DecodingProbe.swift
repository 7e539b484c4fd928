import SheafDocument

/// A type that records what its decoder returns for each kind of container and type.
struct DecodingProbe: Decodable {
    let lines: [String]

    init(from decoder: any Decoder) throws {
        var lines = ["at " + Self.text(decoder.codingPath)]
        lines += Self.linesOrError {
            Self.read(try decoder.container(keyedBy: TextKey.self))
        }
        lines += Self.linesOrError {
            var container = try decoder.unkeyedContainer()
            return Self.read(&container)
        }
        lines += Self.linesOrError { Self.read(try decoder.singleValueContainer()) }
        self.lines = lines
    }

    /// A type that no value matches.
    private struct Refusal: Decodable {
        init(from decoder: any Decoder) throws {
            let context = DecodingError.Context(
                codingPath: decoder.codingPath, debugDescription: "refused")
            throw DecodingError.dataCorrupted(context)
        }
    }

    private static func read(_ object: KeyedDecodingContainer<TextKey>) -> [String] {
        let names = object.allKeys.map(\.stringValue).sorted()
        var lines = ["object at \(text(object.codingPath)) with \(names)"]
        func add<Result>(_ body: () throws -> Result) { lines.append(describe(body)) }
        for name in names + ["_id", "absent"] {
            let key = TextKey(name)
            lines.append("\(name): \(object.contains(key))")
            add { try object.decodeNil(forKey: key) }
            add { try object.decode(Bool.self, forKey: key) }
            add { try object.decode(String.self, forKey: key) }
            add { try object.decode(Double.self, forKey: key) }
            add { try object.decode(Float.self, forKey: key) }
            add { try object.decode(Int.self, forKey: key) }
            add { try object.decode(Int8.self, forKey: key) }
            add { try object.decode(UInt64.self, forKey: key) }
            add { try object.decode(Value.self, forKey: key) }
            add { try object.decode([UInt8].self, forKey: key) }
            add { try object.decode([String].self, forKey: key) }
            add { try object.decodeIfPresent(Int.self, forKey: key) }
            add { () throws -> String in
                let inner = try object.nestedContainer(keyedBy: TextKey.self, forKey: key)
                return text(inner.codingPath) + "\(inner.allKeys.count)"
            }
            add { () throws -> String in
                let inner = try object.nestedUnkeyedContainer(forKey: key)
                return text(inner.codingPath) + "\(inner.count ?? -1)"
            }
            add { () throws -> String in
                let inner = try object.superDecoder(forKey: key)
                let value = try inner.singleValueContainer().decode(Value.self)
                return text(inner.codingPath) + "\(value)"
            }
            lines += linesOrError { try object.decode(DecodingProbe.self, forKey: key).lines }
        }
        add { () throws -> String in
            let decoder = try object.superDecoder()
            return text(decoder.codingPath)
        }
        return lines
    }

    private static func read(_ array: inout any UnkeyedDecodingContainer) -> [String] {
        var lines = ["array at \(text(array.codingPath)) of \(array.count ?? -1)"]
        while !array.isAtEnd, lines.count < 100 {
            let index = array.currentIndex
            if (try? array.decodeNil()) == true {
                lines.append("null, now at \(array.currentIndex)")
                continue
            }
            // A type that does not match leaves the container where it is.
            lines.append(describe { try array.decode(Refusal.self) })
            lines.append("\(array.currentIndex == index)")
            lines.append(describe { try array.decode(Value.self) })
        }
        lines.append(describe { try array.decode(Int.self) })
        lines.append(describe { try array.decodeNil() })
        return lines
    }

    private static func read(_ single: any SingleValueDecodingContainer) -> [String] {
        var lines = ["single \(single.decodeNil())"]
        lines.append(describe { try single.decode(Bool.self) })
        lines.append(describe { try single.decode(String.self) })
        lines.append(describe { try single.decode(Double.self) })
        lines.append(describe { try single.decode(Int64.self) })
        lines.append(describe { try single.decode(Value.self) })
        return lines
    }

    // MARK: Texts

    private static func text(_ path: [any CodingKey]) -> String {
        path.map { "\($0.stringValue)(\($0.intValue ?? -1))" }.joined(separator: "/")
    }

    /// Returns the result of a call, or its error, as a text.
    private static func describe<Result>(_ body: () throws -> Result) -> String {
        do {
            let result = try body()
            return "\(result)"
        } catch {
            return describe(error: error)
        }
    }

    private static func linesOrError(_ body: () throws -> [String]) -> [String] {
        do { return try body() } catch { return [describe(error: error)] }
    }

    private static func describe(_ context: DecodingError.Context) -> String {
        text(context.codingPath) + ": " + context.debugDescription
    }

    private static func describe(error: any Error) -> String {
        switch error {
        case DecodingError.typeMismatch(_, let context):
            return "mismatch at " + describe(context)
        case DecodingError.valueNotFound(_, let context):
            return "no value at " + describe(context)
        case DecodingError.keyNotFound(let key, let context):
            return "no \(key.stringValue) at " + describe(context)
        case DecodingError.dataCorrupted(let context):
            return "corrupted at " + describe(context)
        default: return "\(error)"
        }
    }
}
