import SheafDocument
import SheafQuery
import SheafStatements
import SheafSync

extension SubscriptionQuery {
    /// The query of all documents of all collections, also of later ones.
    package static let allCollections = SubscriptionQuery(
        ofAllCollections: SubscribedQuery(text: SubscribedQuery.allCollections, arguments: []))
}

extension SubscribedQuery {
    /// Creates the query of all documents of one collection.
    init(completeCollection name: String) {
        self.init(
            text: "SELECT * FROM \(name.inBackticks)",
            arguments: (try? Insertion.initial(Object(), NameTable())) ?? [])
    }
}

extension String {
    /// The text as a name between backticks.
    var inBackticks: String {
        var text = "`"
        // A backtick with a combining mark is another character, but the same scalar.
        for scalar in unicodeScalars {
            text.unicodeScalars.append(scalar)
            if scalar == "`" { text.unicodeScalars.append(scalar) }
        }
        text.unicodeScalars.append("`")
        return text
    }

    /// Whether the text is the name of a system collection, or reserved for one.
    ///
    /// A store has documents of such a collection only if a peer has sent them.
    var isReservedCollection: Bool {
        utf8.starts(with: "system:".utf8) || utf8.starts(with: "__".utf8)
    }
}
