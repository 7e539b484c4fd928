/// The name of a field, as objects in bytes are asked for it: its number, if there is one, and
/// how it is spelled.
package struct FieldName: Sendable {
    /// Beyond all numbers that names can have.
    static let noNumber = UInt32.max

    let number: UInt32
    let spelling: [UInt8]

    /// The name in documents that have no numbers for names.
    package init(_ name: String) {
        self.init(name, in: NameTable())
    }

    /// The name in documents of a store with this table.
    package init(_ name: String, in names: NameTable) {
        self.init(spelling: Array(name.utf8), in: names)
    }

    init(spelling: [UInt8], in names: NameTable) {
        self.spelling = spelling
        number = names.number(of: spelling).map(UInt32.init) ?? Self.noNumber
    }
}

/// The names that a store has numbers for.
///
/// A name costs more than many a value, so documents have numbers in their place. Names are only
/// ever added, so a table that is newer than a document always knows the document's numbers.
package struct NameTable: Sendable {
    /// Names have numbers of two bytes.
    package static let maximumCount = 1 << 16
    /// Longer names are spelled wherever they stand.
    package static let maximumNameLength = 64

    private var names: [String] = []
    private var numbers: [Spelling: UInt16] = [:]

    package init() {}

    /// A table in which names are numbered from zero on; nil where one comes twice.
    package init?(_ names: [String]) {
        for name in names {
            guard add(Array(name.utf8)) != nil else { return nil }
        }
    }

    package var count: Int { names.count }

    /// The name that has this number.
    package func name(_ number: Int) -> String? {
        names.indices.contains(number) ? names[number] : nil
    }

    /// The number of a name.
    package func number(of spelling: [UInt8]) -> UInt16? {
        numbers[Spelling(spelling)]
    }

    /// The number of a name.
    func number(of spelling: UnsafeRawBufferPointer) -> UInt16? {
        names.isEmpty ? nil : numbers[Spelling(Array(spelling))]
    }

    /// Gives a name the next number; nil where it has one, is too long, or there are none left.
    package mutating func add(_ spelling: [UInt8]) -> UInt16? {
        let key = Spelling(spelling)
        guard names.count < Self.maximumCount, spelling.count <= Self.maximumNameLength,
            numbers[key] == nil
        else { return nil }
        let number = UInt16(names.count)
        names.append(String(decoding: spelling, as: UTF8.self))
        numbers[key] = number
        return number
    }
}

/// A name as a key of dictionaries: `String` takes names for equal that are spelled differently.
private struct Spelling: Hashable {
    let bytes: [UInt8]

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }

    func hash(into hasher: inout Hasher) {
        bytes.withUnsafeBytes { hasher.combine(bytes: $0) }
    }
}
