package import SheafDocument

extension StoreError {
    private static let longestName = 60

    /// Creates an error for a value that would hide a counter, with a hint to change or remove it.
    package init(_ counter: HiddenCounter, in collection: String) {
        let path = Self.written { $0.write(path: counter.path) }
        let update = "UPDATE " + Self.written { $0.write(name: collection) } + " "
        let hint: String
        if let number = counter.value.flatMap(Number.init), !counter.isOlder {
            hint = "write \(update)APPLY \(path) RESTART WITH \(number.value.json)"
        } else if counter.isOlder {
            hint = "write \(update)APPLY \(path) PN_INCREMENT BY .., or UNSET \(path) first"
        } else {
            hint = "write \(update)UNSET \(path) first, which removes the counter"
        }
        self.init(
            .meaning, "\(path) is a COUNTER, which another value would hide until its next change",
            hint: hint)
    }

    private static func written(_ body: (inout Printer) -> Void) -> String {
        var printer = Printer()
        body(&printer)
        return printer.text.utf8.count <= longestName ? printer.text : ".."
    }
}
