import BenchHarness
import BenchStores
import CSQLite
import Glibc
import SheafStatements
import SheafStorage
import SheafTransfer

/// A file of cars.
struct ImportedFile {
    let path: String
    let count: Int

    enum Format {
        case jsonl, csv
    }

    /// Writes the file.
    init(_ stage: Stage, _ format: Format) throws {
        count = stage.scale.pick(1_000_000, quick: 100_000)
        path = "\(stage.disk.path)/rows.\(format)"
        guard let file = fopen(path, "w") else {
            throw StoreFailure(description: "cannot write \(path)")
        }
        defer { fclose(file) }
        if format == .csv { fputs("make,number,price,sold,text\n", file) }
        for index in 0..<count {
            let text = Cars.text(UInt64(index))
            switch format {
            case .jsonl:
                // A shorter row is filled up to 250 bytes with its line break.
                let end = text.index(before: text.endIndex)
                let padding = String(repeating: "x", count: max(0, 249 - text.utf8.count - 9))
                fputs("\(text[..<end]),\"pad\":\"\(padding)\"}\n", file)
            case .csv:
                let quoted = text.split(separator: "\"", omittingEmptySubsequences: false)
                    .joined(separator: "\"\"")
                fputs("Volvo,\(index),\(index).5,true,\"\(quoted)\"\n", file)
            }
        }
    }
}

/// The import of a file into a new store.
final class SheafImportTrial: Trial {
    private let folder: Folder
    private let file: ImportedFile

    init(_ stage: Stage, _ format: ImportedFile.Format) throws {
        folder = stage.disk
        file = try ImportedFile(stage, format)
    }

    func run(round: Int) throws -> Sample {
        let folder = try folder.child("round-\(round)")
        defer { folder.remove() }
        let start = now()
        let source = try ImportFile.open(file.path, nil, CSVOptions())
        let log = try ImportTarget.openLog(at: folder.path)
        let target = ImportTarget(
            log, try QueryEngine(opening: log.engine), collection: "cars")
        let report = try ImportRun(source, into: target, ImportOptions()).run()
        let elapsed = seconds(since: start)
        try ImportTarget.close(log, after: report.importedCount)
        guard report.importedCount == UInt64(file.count), report.badRowCount == 0 else {
            throw StoreFailure(description: "\(report.importedCount) rows were imported")
        }
        return Sample(Double(file.count) / elapsed)
    }

    func finish() {}
}

/// The insertion of the same lines as JSON texts, in durable transactions of 1,000.
final class SQLiteImportTrial: Trial {
    private let folder: Folder
    private let file: ImportedFile

    init(_ stage: Stage) throws {
        folder = stage.disk
        file = try ImportedFile(stage, .jsonl)
    }

    func run(round: Int) throws -> Sample {
        let folder = try folder.child("round-\(round)")
        defer { folder.remove() }
        let start = now()
        let connection = try SQLiteConnection(
            "\(folder.path)/cars.sqlite", BenchmarkStoreOptions(isDurable: true))
        defer { connection.close() }
        try connection.execute("PRAGMA journal_mode=WAL")
        try connection.execute("CREATE TABLE cars(id INTEGER PRIMARY KEY, doc TEXT)")
        let insertion = try connection.prepare("INSERT INTO cars(doc) VALUES(?)")
        defer { sqlite3_finalize(insertion) }
        guard let input = fopen(file.path, "r") else { throw StoreFailure.missingKey }
        defer { fclose(input) }
        setvbuf(input, nil, _IOFBF, 1 << 20)
        var (line, capacity, count): (UnsafeMutablePointer<CChar>?, Int, Int) = (nil, 0, 0)
        defer { free(line) }
        try connection.execute("BEGIN")
        while case let length = getline(&line, &capacity, input), length > 0 {
            sqlite3_bind_text(insertion, 1, line, Int32(length - 1), nil)
            let status = sqlite3_step(insertion)
            sqlite3_reset(insertion)
            guard status == SQLITE_DONE else { throw connection.failure("insert") }
            count += 1
            if count.isMultiple(of: 1_000) { try connection.execute("COMMIT; BEGIN") }
        }
        try connection.execute("COMMIT")
        guard count == file.count else { throw StoreFailure.missingKey }
        return Sample(Double(count) / seconds(since: start))
    }

    func finish() {}
}
