import SheafBytes
import SheafDocument
import SheafEngine
import SheafStatements
import SheafStorage
import SheafTransfer

extension ExportCommand {
    /// Writes a complete export.
    static func runFull(
        _ path: String?, _ force: Bool, _ snapshot: DocumentSnapshot, _ reader: LogReader,
        _ meter: ExportMeter, _ output: Output
    ) throws(ExportError) {
        let outcome: FullExport.Outcome
        if let path {
            let file = try PendingFile(path: path, replacing: force)
            outcome = try FullExport(
                of: snapshot, in: reader.volume, to: ExportStream(file), meter.progress
            ).run()
            try file.publish()
        } else {
            outcome = try FullExport(
                of: snapshot, in: reader.volume, to: ExportStream(output), meter.progress
            ).run()
        }
        meter.clear()
        if outcome.missingAttachments > 0 {
            output.print(
                note: Quantity.count(outcome.missingAttachments, "attachment")
                    + " not exported, because the store has not fetched them")
        }
        guard let path else { return }
        let summary = outcome.summary
        output.printError(
            "wrote \(Quantity.count(summary.documents, "document")), "
                + "\(Quantity.count(summary.tombstones, "tombstone")), "
                + (summary.indexes == 1 ? "1 index" : "\(summary.indexes) indexes") + " and "
                + "\(Quantity.count(summary.attachments, "attachment")) to "
                + TerminalText.visible(path.shortened))
    }
}

extension ToolError {
    /// Creates the error of an export of the store at a path.
    init(_ error: ExportError, at path: String) {
        switch error {
        case .usage(let message): self = .usage(TerminalText.visible(message))
        case .failed(let message): self = .failed(TerminalText.visible(message))
        case .store(let error): self = .statement(error, at: path)
        case .closed: self = .failed("the reader of standard output has closed it")
        }
    }
}

extension ExportStream {
    /// Creates a stream to standard output; on a terminal, control characters are escaped.
    convenience init(_ output: Output) {
        self.init { (bytes) throws(ExportError) in
            guard !output.isClosed else { throw .closed }
            guard output.isTerminal else { return output.write(raw: bytes) }
            let lines = bytes.split(separator: 0x0A, omittingEmptySubsequences: false)
            let shown = lines.map { line in
                let isEndedByReturn = line.last == 0x0D
                let text = String(decoding: isEndedByReturn ? line.dropLast() : line, as: UTF8.self)
                return TerminalText.visible(text) + (isEndedByReturn ? "\r" : "")
            }
            Array(shown.joined(separator: "\n").utf8).withUnsafeBytes { output.write(raw: $0) }
        }
    }
}
