/// A resolved field name: its spelling, and its number if it has one.
package struct FieldName: Sendable {
    /// Greater than all name numbers.
    static let noNumber = UInt32.max

    let number: UInt32
    let spelling: [UInt8]

    /// Creates a name for documents without numbered names.
    package init(_ name: String) {
        self.init(name, in: NameTable())
    }

    /// Creates a name for documents encoded with a name table.
    package init(_ name: String, in names: NameTable) {
        self.init(spelling: Array(name.utf8), in: names)
    }

    init(spelling: [UInt8], in names: NameTable) {
        self.spelling = spelling
        number = names.number(of: spelling).map(UInt32.init) ?? Self.noNumber
    }
}
