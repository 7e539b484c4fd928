import SheafBytes
import SheafDocument
import SheafEngine
import SheafQuery

/// Numbers for the field names of inserted documents.
extension QueryEngine {
    /// The number of documents that are searched for common names.
    private static let sampleCount = 16

    /// Assigns numbers to the names that several of the inserted documents share.
    ///
    /// Otherwise a name gets its number with the commit after the first one, which would spell out
    /// all names of all documents. Must not be called within `DocumentEngine.write`.
    func assignNumbers(insertedBy statement: Statement, _ arguments: ArgumentValues) {
        guard case .engine(let documents) = source, let fastPath = statement.fastPath else {
            return
        }
        let objects = fastPath.firstInsertedDocuments(Self.sampleCount, arguments)
        guard objects.count > 1 else { return }
        let names = documents.newestCatalog.names
        var found: Set<[UInt8]> = []
        var shared: [[UInt8]] = []
        for object in objects { Self.search(object, names, &found, &shared) }
        if !shared.isEmpty { _ = documents.assignNumbers(to: shared) }
    }

    private static func search(
        _ object: Object, _ names: NameTable, _ found: inout Set<[UInt8]>,
        _ shared: inout [[UInt8]]
    ) {
        for field in object where field.name != DocumentDecoder.idName {
            let name = Array(field.name.utf8)
            if names.number(of: name) == nil, !found.insert(name).inserted { shared.append(name) }
            if case .object(let inner) = field.value { search(inner, names, &found, &shared) }
        }
    }
}
