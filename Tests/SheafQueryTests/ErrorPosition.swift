import SheafDocument
import SheafQuery
import Testing

/// Checks of errors in statements that mark the position of the error.
enum ErrorPosition {
    /// Checks statements with the faulty text between « and », each with its message and hint.
    static func check(_ table: [(String, String, String?)]) {
        for (marked, message, hint) in table {
            let text = marked.replacing("«", with: "").replacing("»", with: "")
            let start = marked.prefix { $0 != "«" }.count
            let error = #expect(throws: StoreError.self, "\(text)") { try Parser.parse(text) }
            guard let error else { continue }
            #expect(error.message == message, "\(text)")
            #expect(error.hint == hint, "\(text)")
            #expect(error.reason == .syntax || error.reason == .limit, "\(text)")
            #expect(error.excerpt?.column == start + 1, "\(text)")
            #expect(error.excerpt?.markLength == max(1, marked.markedLength), "\(text)")
        }
    }
}

extension String {
    /// The number of characters between the marks.
    fileprivate var markedLength: Int {
        guard let start = firstIndex(of: "«"), let end = firstIndex(of: "»") else { return 0 }
        return distance(from: index(after: start), to: end)
    }
}
