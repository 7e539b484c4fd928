import SheafBytes
import SheafDocument
import SheafStatements
import SheafStorage
import SheafTransfer

/// Imports of complete exports.
extension ImportCommand {
    /// Imports what `sheaf export --full` has written.
    static func runFull(
        _ file: String, _ arguments: Arguments, _ output: Output
    ) throws(ToolError) -> ExitCode {
        let path = arguments.operands[0]
        let input = try onImport { () throws(ImportError) in
            let input = try InputBuffer(path: file)
            try FullImport.check(input)
            return input
        }
        let log = try openLog(at: path, output)
        let meter = ExportMeter(nil)
        let report: FullImport.Report
        do throws(ToolError) {
            let queries = try queries(log, at: path)
            do throws(ImportError) {
                report = try FullImport(from: input, into: log, queries).run { report in
                    let read = report.read
                    meter.show(
                        .written(
                            rows: read.documents + read.tombstones, bytes: Int(report.byteCount)))
                }
            } catch {
                meter.clear()
                throw ToolError(error)
            }
        } catch {
            try? log.close()
            throw error
        }
        meter.clear()
        try onStore(at: path) { () throws(StorageError) in
            try ImportTarget.close(log, after: UInt64(report.changedCount))
        }
        let read = report.read
        let unchanged = read.documents + read.tombstones - report.changedCount
        output.write(
            "imported \(Quantity.count(read.documents, "document")), "
                + "\(Quantity.count(read.tombstones, "tombstone")), "
                + (read.indexes == 1 ? "1 index" : "\(read.indexes) indexes") + " and "
                + Quantity.count(read.attachments, "attachment")
                + (unchanged > 0 ? "; \(unchanged) of them were known" : ""))
        return .ok
    }

    /// Returns the executor of statements of an open store.
    static func queries(_ log: LogStore, at path: String) throws(ToolError) -> QueryEngine {
        do throws(StoreError) { return try QueryEngine(opening: log.engine) } catch {
            throw .statement(error, at: path)
        }
    }

    /// Opens the store for writing; creates it if it is missing.
    static func openLog(at path: String, _ output: Output) throws(ToolError) -> LogStore {
        let log = try onStore(at: path) { () throws(StorageError) in
            try ImportTarget.openLog(at: path)
        }
        if log.snapshot().commit == 0 {
            output.printError("created the store \(TerminalText.visible(path))")
        }
        return log
    }
}
