/// The text of a path of fields as statements spell it.
package enum PathText {
    package static func of(_ path: [String]) -> String {
        var printer = Printer()
        printer.write(path: path)
        return printer.text
    }
}
