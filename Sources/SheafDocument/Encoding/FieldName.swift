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
