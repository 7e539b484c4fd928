import Sheaf
import SheafDocument
import SheafEngine
import SheafQuery
import SheafStatements
import SheafStorage
import SheafTestSupport
import SheafTransfer

/// A store on disk that tests export and import.
struct ExportFixture {
    let directory = TemporaryDirectory()
    let path: String

    init(_ name: String = "store") {
        path = directory.path(name)
    }

    /// Creates a store with documents, by collection.
    init(_ documents: [(collection: String, Object)]) async throws {
        self.init()
        try await fill(documents)
    }

    /// Inserts documents.
    func fill(_ documents: [(collection: String, Object)]) async throws {
        try await write { store in
            try await store.transaction { transaction in
                for (collection, document) in documents {
                    try await transaction.execute(
                        DQL(verbatim: "INSERT INTO \(quoted(collection)) DOCUMENTS (:d)"),
                        QueryArguments(["d": Value.object(document)]))
                }
                return .commit
            }
        }
    }

    /// Opens the store for writing, and closes it.
    func write(_ body: (Store) async throws -> Void) async throws {
        let store = try await Store.open(at: path)
        try await body(store)
        try await store.close()
    }

    /// Calls `body` with a reader of the store.
    func read<Result>(
        _ body: (QueryEngine, LogReader) throws -> Result
    ) throws -> Result {
        let reader = try LogReader.open(at: path)
        return try body(try QueryEngine(reading: reader), reader)
    }

    /// Exports a collection, or the rows of a statement, as text.
    func text(
        _ format: ExportFormat, of collection: String? = nil, statement: String? = nil
    ) throws -> String {
        try read { queries, _ in
            let content: RowSource.Content
            if let statement {
                content = .statement(try Parser.parse(statement), ArgumentValues())
            } else {
                content = .collection(collection ?? "")
            }
            let source = try RowSource(content, queries, queries.snapshot())
            let bytes = ByteSink()
            _ = try ExportRun().write(source, as: format, to: bytes.stream)
            return String(decoding: bytes.bytes, as: UTF8.self)
        }
    }

    /// Returns a complete export.
    func fullExport() throws -> [UInt8] {
        try read { queries, reader in
            let bytes = ByteSink()
            _ = try FullExport(of: queries.snapshot(), in: reader.volume, to: bytes.stream).run()
            return bytes.bytes
        }
    }

    /// Imports a complete export.
    @discardableResult
    func importFull(
        _ bytes: [UInt8], batchCount: Int = FullImport.maximumBatchCount,
        onProgress: (FullImport.Report) -> Void = { _ in }
    ) throws -> FullImport.Report {
        let file = directory.path("full.jsonl")
        try writeFile(file, bytes)
        let log = try LogStore.open(at: path)
        do {
            let queries = try QueryEngine(opening: log.engine)
            let report = try FullImport(
                from: try InputBuffer(path: file), into: log, queries, batchCount: batchCount
            ).run(onProgress)
            try log.close()
            return report
        } catch {
            try? log.close()
            throw error
        }
    }

    /// The checksums of all documents.
    func checksum() throws -> StoreChecksum.Part {
        try read { queries, _ in
            try StoreChecksum(of: queries.snapshot(), withStates: true).total
        }
    }
}

/// Returns a name as statements contain it.
func quoted(_ name: String) -> String {
    var quoted = "`"
    for scalar in name.unicodeScalars {
        if scalar == "`" { quoted += "`" }
        quoted.unicodeScalars.append(scalar)
    }
    return quoted + "`"
}

/// Bytes that an export has written.
final class ByteSink {
    private(set) var bytes: [UInt8] = []

    var stream: ExportStream { ExportStream { [self] bytes in self.bytes += bytes } }
}

/// Writes a file, replacing an existing one.
func writeFile(_ path: String, _ bytes: [UInt8]) throws {
    let parts = path.split(separator: "/", omittingEmptySubsequences: false)
    let volume = try PosixVolume(
        path: parts.dropLast().joined(separator: "/"), creatingDirectory: false)
    let name = String(parts.last ?? "")
    try? volume.remove(name)
    let file = try volume.open(name, .create)
    defer { file.close() }
    try bytes.span.withUnsafeBytes { bytes throws(VolumeError) in
        try file.writeFully(bytes, at: 0)
    }
}

/// Reads a file.
func readFile(_ path: String) throws -> [UInt8] {
    let parts = path.split(separator: "/", omittingEmptySubsequences: false)
    let volume = try PosixVolume(
        path: parts.dropLast().joined(separator: "/"), creatingDirectory: false)
    return try volume.bytes(of: String(parts.last ?? ""))
}
