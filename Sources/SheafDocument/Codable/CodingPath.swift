/// The coding path of a value, as a linked list that is rarely converted to an array.
final class CodingPath: Sendable {
    private let parent: CodingPath?
    private let key: any CodingKey & Sendable

    init(_ parent: CodingPath?, _ key: some CodingKey) {
        self.parent = parent
        self.key = PathKey(key)
    }

    init(_ parent: CodingPath?, index: Int) {
        self.parent = parent
        key = PathKey(index: index)
    }

    /// Returns the keys from the root.
    static func keys(_ path: CodingPath?) -> [any CodingKey] {
        var keys: [any CodingKey] = []
        var node = path
        while let current = node {
            keys.append(current.key)
            node = current.parent
        }
        return keys.reversed()
    }
}

/// A type-erased coding key.
struct PathKey: CodingKey {
    /// The name of a field; nil for an element of an array.
    let name: String?
    let intValue: Int?

    /// Elements have no name; the text is rarely needed.
    var stringValue: String { name ?? "Index \(intValue ?? 0)" }

    /// The key for the fields of a superclass.
    static let superclass = PathKey("super")

    init(_ key: some CodingKey) {
        name = key.stringValue
        intValue = key.intValue
    }

    init(_ name: String) {
        self.name = name
        intValue = nil
    }

    init(index: Int) {
        name = nil
        intValue = index
    }

    init?(stringValue: String) { self.init(stringValue) }
    init?(intValue: Int) { self.init(index: intValue) }
}
