import SheafBytes
import SheafDocument
import SheafQuery
import SheafSync

/// What other peers may see.
extension SyncHost {
    /// Reads the rules for one side; false where the connection was ended, since they cannot be read.
    func prepareRights(of link: Link) -> Bool {
        guard let rights = link.rights else { return true }
        do throws(QueryError) {
            link.readable = SubscriptionMatcher(try queries(rights.read), queries)
            return true
        } catch {
            fail(link, .refused, "the rules of this peer cannot be read: \(error.message)")
            return false
        }
    }

    private func queries(_ rules: [String: String]) throws(QueryError) -> [SubscriptionQuery] {
        var found: [SubscriptionQuery] = []
        for (collection, condition) in rules.sorted(by: { $0.key < $1.key }) {
            let name = collection.replacingBackticks
            let query = Query(verbatim: "SELECT * FROM `\(name)` WHERE \(condition)")
            found.append(
                try SubscriptionQuery(
                    try queries.statement(query), ArgumentValues(), queries))
        }
        return found
    }

    /// Whether the other side may see a document.
    func mayRead(
        _ link: Link, _ document: StoredDocument, before: StoredDocument?, _ key: [UInt8],
        _ address: DocumentAddress, _ snapshot: DocumentSnapshot
    ) throws(EngineError) -> Bool {
        guard let readable = link.readable else { return true }
        // What is left of a deleted document has nothing in it: who saw the document may see that.
        let shown = document.isTombstone ? before : document
        return try readable.matches(shown, key: key, in: address.collection, snapshot.names)
    }
}

extension String {
    /// With each backtick twice, as a name in backticks has it.
    fileprivate var replacingBackticks: String {
        String(flatMap { $0 == "`" ? [$0, $0] : [$0] })
    }
}
