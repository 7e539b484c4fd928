import SheafDocument
import SheafEngine
import SheafStatements
import SheafStorage
import SheafTestSupport
import SheafTransfer

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// A store in memory, and files to import into it.
final class ImportFixture {
    let directory = TemporaryDirectory()
    let log: LogStore
    let queries: QueryEngine

    init(_ options: LogStoreOptions = LogStoreOptions()) throws {
        log = try LogStore(volume: MemoryVolume(), options: options)
        queries = try QueryEngine(opening: log.engine)
    }

    deinit {
        try? log.close()
    }

    /// Writes a file, and returns its path.
    func file(_ name: String, _ bytes: [UInt8]) throws -> String {
        let path = directory.path(name)
        let descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
        defer { close(descriptor) }
        var done = 0
        while done < bytes.count {
            let count = bytes.withUnsafeBytes {
                write(descriptor, $0.baseAddress.map { $0 + done }, bytes.count - done)
            }
            guard count > 0 else { throw WriteFailed() }
            done += count
        }
        return path
    }

    /// The collection `t`.
    var target: ImportTarget { ImportTarget(log, queries, collection: "t") }

    struct WriteFailed: Error {}

    /// Imports a file into the collection `t`.
    func run(
        _ path: String, _ format: ImportFormat? = nil, _ csv: CSVOptions = CSVOptions(),
        _ options: ImportOptions = ImportOptions()
    ) throws -> ImportReport {
        let source = try ImportFile.open(path, format, csv)
        return try ImportRun(source, into: target, options).run()
    }

    /// Imports a text.
    func run(
        text: String, _ format: ImportFormat, _ csv: CSVOptions = CSVOptions(),
        _ options: ImportOptions = ImportOptions()
    ) throws -> ImportReport {
        try run(file("text", Array(text.utf8)), format, csv, options)
    }

    /// Number of documents of the collection `t`, of which none was deleted.
    func documentCount() throws -> Int {
        let snapshot = queries.snapshot()
        guard let number = snapshot.catalog.number(ofCollection: "t") else { return 0 }
        return snapshot.count(in: StoreKey.documents(of: number))
    }

    /// The documents of the collection `t`, in order of their ids.
    func documents() throws -> [Object] {
        let snapshot = queries.snapshot()
        guard let number = snapshot.catalog.number(ofCollection: "t") else { return [] }
        var documents: [Object] = []
        try snapshot.log.tree.forEach(in: StoreKey.documents(of: number)) { key, _ in
            guard let stored = try snapshot.document(Array(key)),
                var object = try stored.read({ bytes in
                    try EncodedDocument(bytes).existingFields()?.value(snapshot.names)
                })
            else { return true }
            object["_id"] = try DocumentID.id(
                of: Array(key.dropFirst(StoreKey.documentPrefixLength)))
            documents.append(object)
            return true
        }
        return documents
    }
}
