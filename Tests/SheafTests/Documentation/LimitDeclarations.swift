import Foundation
import Testing

/// The limits that the sources declare: constants named after a unit of time or after a bound.
enum LimitDeclarations {
    /// Types whose members are all limits, in addition to those whose name ends in `Limits`.
    private static let limitTypes: Set = ["DiscoveryTimes", "HubSettings"]
    /// Words that end the name of a time.
    private static let units: Set = [
        "days", "hours", "interval", "microseconds", "milliseconds", "minutes", "nanoseconds",
        "patience", "seconds", "timeout",
    ]
    /// Words that begin or end the name of a bound.
    private static let bounds: Set = [
        "budget", "capacity", "largest", "least", "limit", "longest", "maximum", "minimum", "most",
        "shortest", "smallest",
    ]
    /// Words before the name of a constant or property.
    private static let modifiers: Set = [
        "fileprivate", "internal", "internal(set)", "nonisolated(unsafe)", "package", "private",
        "private(set)", "public",
    ]

    /// A constant or property with a value, as `Type.name`.
    struct Declaration {
        var type: String, name: String
        var isStatic: Bool
        var value: Substring

        var fullName: String { "\(type).\(name)" }

        /// Whether the name says that this is a limit, and the value is a number.
        var isLimit: Bool {
            let isMember = type.hasSuffix("Limits") || limitTypes.contains(type)
            guard isMember || isStatic, type != "Layout", hasNumber else { return false }
            let words = words
            return isMember || units.contains(words.last ?? "")
                || bounds.contains(words.first ?? "") || bounds.contains(words.last ?? "")
        }

        private var hasNumber: Bool {
            let digits = value.drop { $0 == "-" || $0 == "(" }
            if digits.first?.isNumber == true || value.hasPrefix(".max") { return true }
            guard let first = value.first, first.isLetter else { return false }
            let name = value.prefix { $0.isLetter || $0.isNumber }
            let rest = value.dropFirst(name.count)
            if name.hasSuffix("Int64") || name.hasPrefix("Int") { return rest.hasPrefix("(") }
            return first.isUppercase
                ? rest.hasPrefix(".")
                : ["-", "*", "/", "<"].contains(String(rest.dropFirst().prefix(1)))
        }

        private var words: [String] {
            var result: [String] = []
            for letter in name {
                if letter.isUppercase || result.isEmpty { result.append("") }
                result[result.count - 1] += letter.lowercased()
            }
            return result
        }
    }

    /// Returns the declarations of all sources, except the texts of the tool and of the reference.
    static func all() throws -> [Declaration] {
        let root = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../../../Sources").standardizedFileURL
        let paths = try #require(FileManager.default.enumerator(atPath: root.path))
        return try paths.compactMap { $0 as? String }.flatMap { path -> [Declaration] in
            guard path.hasSuffix(".swift"), !path.hasPrefix("SheafReference/"),
                !path.hasPrefix("SheafTool/")
            else { return [] }
            return declarations(
                in: try String(contentsOf: root.appending(path: path), encoding: .utf8))
        }
    }

    private static func declarations(in text: String) -> [Declaration] {
        // The types around a line, each with its indentation.
        var types: [(indentation: Int, name: String)] = []
        var result: [Declaration] = []
        for line in text.utf8.split(separator: UInt8(ascii: "\n")) {
            let indentation = line.prefix { $0 == UInt8(ascii: " ") }.count
            let code = line.dropFirst(indentation)
            // Members of types in types have at most 12 spaces.
            guard indentation <= 12, let first = code.first, first != UInt8(ascii: "/") else {
                continue
            }
            let words = Substring(code).split(separator: " ", maxSplits: 12)
            if let name = typeName(words) {
                types.removeAll { $0.indentation >= indentation }
                types.append((indentation, name))
            } else if var declared = declaration(words) {
                types.removeAll { $0.indentation >= indentation }
                guard let type = types.last, type.indentation + 4 == indentation else { continue }
                declared.type = type.name
                declared.value = Substring(code).split(separator: " = ", maxSplits: 1).last ?? ""
                result.append(declared)
            }
        }
        return result
    }

    private static func typeName(_ words: [Substring]) -> String? {
        let kinds: Set<Substring> = ["actor", "class", "enum", "extension", "protocol", "struct"]
        guard let kind = words.dropLast().firstIndex(where: kinds.contains),
            words[..<kind].allSatisfy({ isModifier($0) || $0 == "final" || $0.hasPrefix("@") })
        else { return nil }
        let name = words[kind + 1].prefix { $0.isLetter || $0.isNumber || $0 == "." }
        return name.split(separator: ".").last.map(String.init)
    }

    private static func declaration(_ words: [Substring]) -> Declaration? {
        let keyword = words.firstIndex { !isModifier($0) && $0 != "static" } ?? 0
        guard keyword + 1 < words.count, ["let", "var"].contains(words[keyword]),
            words.contains("=")
        else { return nil }
        let name = words[keyword + 1].prefix { $0.isLetter || $0.isNumber }
        // A tuple of constants has no name.
        guard !name.isEmpty else { return nil }
        return Declaration(
            type: "", name: String(name), isStatic: words[..<keyword].contains("static"), value: "")
    }

    private static func isModifier(_ word: Substring) -> Bool { modifiers.contains(String(word)) }
}
