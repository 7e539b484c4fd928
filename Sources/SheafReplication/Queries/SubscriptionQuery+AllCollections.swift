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
            text: "SELECT * FROM \(NameSpelling.quoted(name))", arguments: Self.noArguments)
    }

    /// The encoded arguments of a query that has none.
    private static let noArguments: [UInt8] = {
        do { return try Insertion.initial(Object(), NameTable()) } catch {
            preconditionFailure("An empty object can be encoded: \(error)")
        }
    }()
}
