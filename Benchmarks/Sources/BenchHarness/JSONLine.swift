/// A flat JSON object with ordered keys.
package struct BenchmarkJSONLine: Equatable {
    /// The value of a key.
    package enum Value: Equatable {
        case string(String), number(Double), boolean(Bool), null
    }

    private var members: [(key: String, value: Value)] = []

    /// Creates an object without members.
    package init() {}

    /// The value of a key; setting a new key appends it.
    package subscript(key: String) -> Value? {
        get { members.first { $0.key == key }?.value }
        set {
            let index = members.firstIndex { $0.key == key }
            switch (index, newValue) {
            case (let index?, let value?): members[index].value = value
            case (let index?, nil): members.remove(at: index)
            case (nil, let value?): members.append((key, value))
            case (nil, nil): break
            }
        }
    }

    /// Returns the value of a key, or nil if it is not a string.
    package func string(_ key: String) -> String? {
        guard case .string(let value)? = self[key] else { return nil }
        return value
    }

    /// Returns the value of a key, or nil if it is not a number.
    package func number(_ key: String) -> Double? {
        guard case .number(let value)? = self[key] else { return nil }
        return value
    }

    /// The object as JSON on one line.
    package var text: String {
        let parts = members.map { "\(Self.quoted($0.key)):\(Self.text(of: $0.value))" }
        return "{\(parts.joined(separator: ","))}"
    }

    package static func == (left: Self, right: Self) -> Bool {
        left.members.count == right.members.count
            && zip(left.members, right.members).allSatisfy { $0 == $1 }
    }

    private static func text(of value: Value) -> String {
        switch value {
        case .string(let text): quoted(text)
        // JSON cannot represent infinities and NaN.
        case .number(let number) where !number.isFinite: "null"
        case .number(let number):
            number == number.rounded() && abs(number) < 1e15 ? "\(Int64(number))" : "\(number)"
        case .boolean(let flag): flag ? "true" : "false"
        case .null: "null"
        }
    }

    private static func quoted(_ text: String) -> String {
        var quoted = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": quoted += "\\\""
            case "\\": quoted += "\\\\"
            case _ where scalar.value < 0x20:
                let hex = String(scalar.value, radix: 16)
                quoted += "\\u" + String(repeating: "0", count: 4 - hex.count) + hex
            default: quoted.unicodeScalars.append(scalar)
            }
        }
        return quoted + "\""
    }
}
