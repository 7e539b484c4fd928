/// A JSON object on one line, with its keys in insertion order.
struct JSONLine {
    private(set) var text = "{"

    /// The complete line.
    var closed: String { text + "}" }

    /// Adds a number.
    mutating func add(_ key: String, _ value: some BinaryInteger) {
        add(key, raw: String(value))
    }

    /// Adds a number, or null.
    mutating func add(_ key: String, _ value: UInt64?) {
        add(key, raw: value.map { String($0) } ?? "null")
    }

    /// Adds a Boolean.
    mutating func add(_ key: String, _ value: Bool) {
        add(key, raw: value ? "true" : "false")
    }

    /// Adds a string, or null.
    mutating func add(_ key: String, _ value: String?) {
        add(key, raw: value.map(Self.quoted) ?? "null")
    }

    /// Adds an array of strings.
    mutating func add(_ key: String, _ values: [String]) {
        add(key, raw: "[" + values.map(Self.quoted).joined(separator: ",") + "]")
    }

    /// Adds a time: as text under `key`, and in milliseconds under `key` + "Milliseconds".
    mutating func add(_ key: String, at milliseconds: UInt64?) {
        add(key, milliseconds.map(Timestamp.text))
        add(key + "Milliseconds", milliseconds)
    }

    /// Adds a value that is already encoded as JSON.
    mutating func add(_ key: String, raw value: String) {
        if text.utf8.count > 1 { text += "," }
        text += Self.quoted(key) + ":" + value
    }

    private static func quoted(_ text: String) -> String {
        var quoted = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": quoted += "\\\""
            case "\\": quoted += "\\\\"
            case "\n": quoted += "\\n"
            case "\r": quoted += "\\r"
            case "\t": quoted += "\\t"
            default:
                guard scalar.value < 0x20 || scalar.value == 0x7F else {
                    quoted.unicodeScalars.append(scalar)
                    continue
                }
                let digits = String(scalar.value, radix: 16)
                quoted += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            }
        }
        return quoted + "\""
    }
}
