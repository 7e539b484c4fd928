import SheafBytes
import SheafDocument
import SheafEngine
import SheafStatements
import SheafStorage

/// The tables of a SQLite database that an import reads.
package struct SQLiteImport {
    /// A table, and the collection that gets its rows.
    package struct Part {
        package let table: String
        package let collection: String
        fileprivate let schema: SQLiteTable
    }

    /// The tables in the order of their names.
    package let parts: [Part]
    /// Views and virtual tables that are left out, with the reason.
    package let skipped: [String]
    private let path: String
    private let options: SQLiteSource.Options

    /// Whether a file begins as a SQLite database.
    package static func isDatabase(_ path: String) -> Bool {
        guard path != InputBuffer.standardInput, PosixPath.isRegularFile(path),
            let input = try? InputBuffer(path: path),
            input.length != nil, (try? input.fill(InputBuffer.sqliteMagic.count)) != nil
        else { return false }
        return input.bytes.starts(with: InputBuffer.sqliteMagic)
    }

    /// Reads the schema of a database.
    ///
    /// A collection gets the rows of `table`, or of the only table. Without a collection, each
    /// table, or `table`, goes to the collection of its name.
    package init(
        path: String, collection: String?, table: String?, _ options: SQLiteSource.Options
    ) throws(ImportError) {
        guard path != InputBuffer.standardInput else {
            throw .usage(
                "a SQLite database cannot be read from standard input; give the path of its file")
        }
        (self.path, self.options) = (path, options)
        let list: SQLiteTable.List
        do throws(SQLiteError) {
            list = try SQLiteTable.all(of: SQLiteDatabase(path: path, .read))
        } catch {
            throw .source(error.message)
        }
        let shown = path.shortened
        let names = list.tables.map { $0.name.shortened(to: 30) }
        let listed =
            names.prefix(10).joined(separator: ", ")
            + (names.count > 10 ? " and \(names.count - 10) more" : "")
        var chosen = list.tables
        if let table {
            chosen = list.tables.filter { $0.name.utf8.elementsEqual(table.utf8) }
            if let other = list.others.first(where: { $0.name.utf8.elementsEqual(table.utf8) }) {
                throw .usage("\(shown): '\(table.shortened)' \(other.reason)")
            }
            guard !chosen.isEmpty else {
                throw .usage(
                    "\(shown) has no table '\(table.shortened)'"
                        + (names.isEmpty ? "" : "; its tables are " + listed))
            }
        }
        guard !chosen.isEmpty else { throw .source("\(shown) has no tables") }
        if let collection {
            guard chosen.count == 1 else {
                throw .usage(
                    "\(shown) has the tables \(listed); choose one with --table, or omit "
                        + "COLLECTION to import all of them")
            }
            parts = chosen.map { Part(table: $0.name, collection: collection, schema: $0) }
        } else {
            parts = chosen.map { Part(table: $0.name, collection: $0.name, schema: $0) }
            for part in parts where part.collection.isEmpty || part.collection.hasPrefix("system:")
            {
                throw .usage(
                    "the table '\(part.table.shortened)' has a name that a collection cannot have; "
                        + "import it with COLLECTION and --table")
            }
        }
        skipped =
            table == nil ? list.others.map { "'\($0.name.shortened)' \($0.reason)" } : []
    }

    /// Opens a table; several sources of one database are independent.
    package func source(_ part: Part) throws(ImportError) -> sending any ImportSource {
        let database: SQLiteDatabase
        do throws(SQLiteError) {
            database = try SQLiteDatabase(path: path, .read)
        } catch {
            throw .source(error.message)
        }
        return try SQLiteSource(part.schema, of: database, path: path, options)
    }

    /// Whether a continued import of several tables finds that one of them is complete.
    ///
    /// Only an unfinished import has a progress, so a collection with documents and without one is
    /// taken for the result of a finished import.
    package static func isFinished(
        _ source: any ImportSource, _ target: ImportTarget
    ) throws(ImportError) -> Bool {
        let hash = source.identity.hash(into: target.collection)
        guard try InterruptedImports(target).progress(hash) == nil else { return false }
        let snapshot = target.queries.snapshot()
        guard let number = snapshot.catalog.number(ofCollection: target.collection) else {
            return false
        }
        return snapshot.count(in: StoreKey.documents(of: number)) > 0
    }
}
