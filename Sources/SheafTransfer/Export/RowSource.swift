import SheafBytes
import SheafDocument
package import SheafEngine
package import SheafQuery
package import SheafStatements
import SheafStorage

/// The rows of an export: the documents of a collection, or the result of a statement.
///
/// They can be read several times, always from one snapshot.
package struct RowSource {
    package enum Content {
        case collection(String)
        case statement(Statement, ArgumentValues)
    }

    package let content: Content
    private let queries: QueryEngine
    private let snapshot: DocumentSnapshot

    /// Creates the source of a collection or a statement that reads.
    package init(
        _ content: Content, _ queries: QueryEngine, _ snapshot: DocumentSnapshot
    ) throws(ExportError) {
        (self.content, self.queries, self.snapshot) = (content, queries, snapshot)
        switch content {
        case .collection(let name):
            guard snapshot.catalog.number(ofCollection: name) != nil else {
                throw .failed(Self.missing(name, snapshot.catalog.collections))
            }
        case .statement(let statement, _):
            switch statement.kind {
            case .reading, .showing, .advising: break
            default:
                throw .usage("the statement does not only read; run it with 'sheaf query'")
            }
            try onStore { () throws(StoreError) in try statement.checkDirectives() }
        }
    }

    /// Returns the collections of a snapshot, sorted by name.
    package static func collections(of snapshot: DocumentSnapshot) -> [String] {
        snapshot.catalog.collections.sorted { UTF8Order.compare($0, $1) < 0 }
    }

    private static func missing(_ name: String, _ collections: [String]) -> String {
        let text = "there is no collection '\(name.shortened)'"
        if let near = Suggestion.nearest(to: name, among: collections) {
            return text + "; did you mean '\(near.shortened)'?"
        }
        guard !collections.isEmpty else { return text + "; the store has no collections" }
        let listed = collections.prefix(5).map { "'\($0.shortened(to: 30))'" }
        return text + "; the store has " + listed.joined(separator: ", ")
            + (collections.count > 5 ? " and \(collections.count - 5) more" : "")
    }

    /// Number of rows, if it is known without reading them; it includes tombstones.
    var estimatedCount: Int? {
        guard case .collection(let name) = content,
            let number = snapshot.catalog.number(ofCollection: name)
        else { return nil }
        return snapshot.count(in: StoreKey.documents(of: number))
    }

    /// Whether each row has an `_id` that no other row has.
    var hasUniqueIDs: Bool {
        if case .collection = content { true } else { false }
    }

    /// Calls `body` after each row, which was appended to the buffer as JSON.
    func forEachJSON(
        _ buffer: inout [UInt8], _ body: (inout [UInt8]) throws(ExportError) -> Void
    ) throws(ExportError) {
        var writer = JSONWriter()
        swap(&writer.bytes, &buffer)
        defer { swap(&writer.bytes, &buffer) }
        switch content {
        case .collection(let name):
            let names = snapshot.names
            let texts = JSONNames(names, idName: Row.idName)
            try scan(name) { (document) throws(ExportError) in
                do throws(Malformed) {
                    try writer.write(
                        document.fields, id: try DocumentID.id(of: document.id),
                        idName: Row.idName, texts, names)
                } catch {
                    throw .store(damage(error, at: document.position))
                }
                try body(&writer.bytes)
            }
        case .statement:
            try forEachObject { (row) throws(ExportError) in
                writer.write(.object(row))
                try body(&writer.bytes)
            }
        }
    }

    /// Calls `body` with each row; returns the columns of a projection in their order.
    @discardableResult
    func forEachObject(
        _ body: (Object) throws(ExportError) -> Void
    ) throws(ExportError) -> [String]? {
        switch content {
        case .collection(let name):
            let names = snapshot.names
            try scan(name) { (document) throws(ExportError) in
                let item = ResultItem(
                    content: .stored(
                        fields: document.fields, id: document.id, position: document.position))
                let row: Object
                do throws(StoreError) { row = try item.object(names) } catch {
                    throw .store(error.located(in: snapshot.log.segments))
                }
                try body(row)
            }
            return nil
        case .statement(let statement, let arguments):
            return try forEachRow(of: statement, arguments, body)
        }
    }

    private func forEachRow(
        of statement: Statement, _ arguments: ArgumentValues,
        _ body: (Object) throws(ExportError) -> Void
    ) throws(ExportError) -> [String]? {
        guard case .reading = statement.kind else {
            let result = try onStore { () throws(StoreError) in
                try queries.execute(statement, arguments, on: snapshot, CommitCell())
            }
            for index in 0..<result.count {
                try body(try onStore { () throws(StoreError) in try result.object(index) })
            }
            return result.columns
        }
        let parameters = queries.parameters
        let reader = queries.reader(of: snapshot, parameters)
        let run = queries.makeRun(statement, arguments, parameters, on: reader, isTimed: false)
        var failure: ExportError?
        do throws(StoreError) {
            return try withoutActuallyEscaping(body) { (body) throws(StoreError) in
                try run.forEachRow { (row) throws(StoreError) in
                    do throws(ExportError) { try body(row) } catch {
                        failure = error
                        throw StoreError(.cancelled, "the export ended early")
                    }
                }
            }
        } catch {
            throw failure ?? .store(error.located(in: snapshot.log.segments))
        }
    }

    /// Calls `body` with each document of a collection, in the order of ids.
    private func scan(
        _ collection: String, _ body: (ScannedDocument) throws(ExportError) -> Void
    ) throws(ExportError) {
        guard let number = snapshot.catalog.number(ofCollection: collection) else { return }
        let reader = queries.reader(of: snapshot, queries.parameters)
        var tally = ScanTally()
        var failure: ExportError?
        do throws(StoreError) {
            try reader.scan(
                StoreKey.documents(of: number), .ascending, skipping: 0, filter: nil, &tally
            ) { (documents) throws(StoreError) in
                for index in 0..<documents.count {
                    do throws(ExportError) { try body(documents[index]) } catch {
                        failure = error
                        return index + 1
                    }
                }
                return nil
            }
        } catch {
            throw .store(error.located(in: snapshot.log.segments))
        }
        if let failure { throw failure }
    }

    private func damage(_ error: Malformed, at position: UInt64) -> StoreError {
        StoreError(error, document: position).located(in: snapshot.log.segments)
    }
}
