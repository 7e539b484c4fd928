/// One JSON object on one line, its keys in the order in which they are added.
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

    /// Adds a truth value.
    mutating func add(_ key: String, _ value: Bool) {
        add(key, raw: value ? "true" : "false")
    }

    /// Adds a text, or null.
    mutating func add(_ key: String, _ value: String?) {
        add(key, raw: value.map(Self.quoted) ?? "null")
    }

    /// Adds a list of texts.
    mutating func add(_ key: String, _ values: [String]) {
        add(key, raw: "[" + values.map(Self.quoted).joined(separator: ",") + "]")
    }

    /// Adds a moment: as text under `key`, and in milliseconds under its own key.
    mutating func add(_ key: String, at milliseconds: UInt64?) {
        add(key, milliseconds.map(Timestamp.text))
        add(key + "Milliseconds", milliseconds)
    }

    /// Adds a value that is JSON already.
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
