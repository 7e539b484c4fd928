import SheafAttachments
import SheafBytes
import SheafDocument
import SheafEngine
import SheafReplication
package import SheafStatements
package import SheafStorage
import SheafSystem

/// The import of a complete export (`format-spec/export.md`).
///
/// Each document is joined with the one of its id that the store has, as if a peer had sent it. So
/// an import that was interrupted is repeated from the beginning, and changes nothing twice.
package final class FullImport {
    /// The state of an import.
    package struct Report: Sendable {
        /// The contents of the lines so far.
        package var read = FullSummary()
        /// Number of documents and tombstones that changed the store.
        package var changedCount = 0
        /// Number of bytes read.
        package var byteCount: UInt64 = 0
    }

    /// Maximum number of documents in one commit.
    package static let maximumBatchCount = 4_096

    private let log: LogStore
    private let queries: QueryEngine
    private let attachments: AttachmentStore
    private let input: InputBuffer
    private let lines: FullLines
    private var report = Report()
    private var batch: FullBatch
    private let batchCount: Int
    private var indexes: [(collection: String, name: String, fields: [IndexDefinition.Field])] = []
    private var incoming: (id: AttachmentID, next: Int, file: IncomingAttachment?)?
    private var remainingChunks = 0
    private var end: FullSummary?

    /// Prepares an import into an open store.
    package init(
        from input: InputBuffer, into log: LogStore, _ queries: QueryEngine,
        batchCount: Int = FullImport.maximumBatchCount
    ) {
        (self.input, self.log, self.queries) = (input, log, queries)
        self.batchCount = batchCount
        lines = FullLines(input)
        batch = FullBatch(queries.documents, maximumCount: batchCount)
        attachments = AttachmentStore(in: log.engine.volume)
    }

    deinit { attachments.close() }

    /// Throws unless a file begins as a complete export; nothing is consumed.
    package static func check(_ input: InputBuffer) throws(ImportError) {
        let head = Array("{\"\(FullWord.type)\":\"\(FullWord.header)\"".utf8)
        try input.fill(head.count)
        guard input.bytes.starts(with: head) else {
            throw .source(
                "\(input.path.shortened) is not a complete export, which begins with "
                    + "{\"\(FullWord.type)\":\"\(FullWord.header)\",...}; other files are imported "
                    + "without --full")
        }
    }

    /// Reads all lines; returns when everything is durable.
    ///
    /// `onProgress` is called after each commit.
    package func run(_ onProgress: (Report) -> Void = { _ in }) throws(ImportError) -> Report {
        while try lines.next({ (line, number) throws(ImportError) in
            do throws(FullRecord.Refusal) {
                try read(FullRecord(line), onProgress)
            } catch {
                throw .source("\(input.path.shortened), line \(number): \(error.reason)")
            }
        }) {}
        try commit()
        guard let end else {
            throw .source(
                "\(input.path.shortened) ends without its last line, so it is incomplete; "
                    + "\(report.read.documents) documents were imported")
        }
        guard end == report.read else {
            throw .source(
                "\(input.path.shortened) does not contain what its last line states: documents or "
                    + "attachments were removed, added or changed")
        }
        for index in indexes { try create(index.name, on: index.collection, index.fields) }
        try flush()
        return report
    }

    private func read(
        _ record: FullRecord, _ onProgress: (Report) -> Void
    ) throws(FullRecord.Refusal) {
        if case .chunk(let number, let bytes) = record { return try put(bytes, at: number) }
        try checkChunks()
        guard end == nil else { throw FullRecord.Refusal("a line after the last one") }
        switch record {
        case .header(let version):
            guard lines.number == 1 else {
                throw FullRecord.Refusal("a second first line; import files one by one")
            }
            guard version == FullRecord.version else {
                throw FullRecord.Refusal(
                    "the version is \(version), and this program reads \(FullRecord.version)")
            }
        case _ where lines.number == 1:
            throw FullRecord.Refusal("the first line of a complete export is missing")
        case .index(let collection, let name, let fields):
            report.read.indexes += 1
            indexes.append((collection, name, fields))
        case .attachment(let attachment): try begin(attachment)
        case .document(let document): try add(document, onProgress)
        case .end(let summary): end = summary
        case .chunk: break
        }
    }

    // MARK: Documents

    private func add(
        _ document: FullDocument, _ onProgress: (Report) -> Void
    ) throws(FullRecord.Refusal) {
        if document.isTombstone {
            report.read.tombstones += 1
        } else {
            report.read.documents += 1
        }
        report.read.checksum.add(
            ChecksumSum(document.collection, document.key[...], document.state))
        if batch.contains(document) { try commitBatch(onProgress) }
        do throws(Malformed) { try batch.add(document) } catch {
            throw FullRecord.Refusal("\(FullWord.state) cannot be read: \(error)")
        }
        if batch.isFull { try commitBatch(onProgress) }
    }

    private func commitBatch(_ onProgress: (Report) -> Void) throws(FullRecord.Refusal) {
        do throws(ImportError) { try commit() } catch {
            throw FullRecord.Refusal(error.text)
        }
        report.byteCount = input.offset
        onProgress(report)
    }

    private func commit() throws(ImportError) {
        guard !batch.isEmpty else { return }
        let log = log
        do throws(EngineError) {
            report.changedCount += try batch.write(to: queries.documents) {
                (batch) throws(StorageError) in try log.append(batch)
            }
        } catch {
            throw Self.failure(error)
        }
        // Commits beyond the first would wait in memory, so the flush is awaited.
        try flush()
        batch = FullBatch(queries.documents, maximumCount: batchCount)
    }

    private func flush() throws(ImportError) {
        do throws(StorageError) { try log.flush() } catch {
            throw Self.failure(.storage(error))
        }
    }

    private static func failure(_ error: EngineError) -> ImportError {
        let error = StoreError(error)
        guard error.reason == .damaged else { return .store(error.message) }
        return .damaged(error.message)
    }

    // MARK: Indexes

    private func create(
        _ name: String, on collection: String, _ fields: [IndexDefinition.Field]
    ) throws(ImportError) {
        if let known = queries.documents.newestCatalog.index(name, onCollection: collection) {
            guard known.fields.elementsEqual(fields, by: { $0.isSame(as: $1) }) else {
                throw .store(
                    "the collection \(collection.shortened) has an index \(name.shortened) with "
                        + "other fields; drop it, and import again")
            }
            return
        }
        let log = log
        do throws(EngineError) {
            _ = try queries.documents.createIndex(
                name, on: collection, fields,
                flush: { () throws(StorageError) in try log.flush() },
                append: { (batch) throws(StorageError) in try log.append(batch) })
        } catch {
            throw Self.failure(error)
        }
    }

    // MARK: Attachments

    private func begin(_ attachment: FullAttachment) throws(FullRecord.Refusal) {
        report.read.attachments += 1
        let state = try onAttachment { () throws(AttachmentError) in
            try attachments.beginFetch(
                attachment.id, length: attachment.length, hashes: attachment.hashes)
        }
        remainingChunks = ChunkList.count(ofLength: attachment.length)
        switch state {
        case .complete: incoming = (attachment.id, 0, nil)
        case .incoming(let file): incoming = (attachment.id, 0, file)
        case .unknown:
            throw FullRecord.Refusal("the attachment \(attachment.id) cannot be stored")
        }
    }

    private func put(_ bytes: [UInt8], at number: Int) throws(FullRecord.Refusal) {
        guard let current = incoming, number == current.next, remainingChunks > 0 else {
            throw FullRecord.Refusal("a chunk that is not the next one of its attachment")
        }
        if let file = current.file {
            try onAttachment { () throws(AttachmentError) in
                _ = try bytes.span.withUnsafeBytes { (bytes) throws(AttachmentError) in
                    try file.put(bytes, at: number)
                }
            }
        }
        incoming?.next += 1
        remainingChunks -= 1
    }

    private func checkChunks() throws(FullRecord.Refusal) {
        guard let current = incoming else { return }
        guard remainingChunks == 0 else {
            throw FullRecord.Refusal("the attachment \(current.id) lacks \(remainingChunks) chunks")
        }
        incoming = nil
    }

    private func onAttachment<Result>(
        _ body: () throws(AttachmentError) -> Result
    ) throws(FullRecord.Refusal) -> Result {
        do throws(AttachmentError) { return try body() } catch {
            throw FullRecord.Refusal("\(error)")
        }
    }
}

extension IndexDefinition.Field {
    fileprivate func isSame(as other: IndexDefinition.Field) -> Bool {
        isDescending == other.isDescending
            && path.elementsEqual(other.path) { $0.utf8.elementsEqual($1.utf8) }
    }
}

extension ImportError {
    /// The text of the error.
    var text: String {
        switch self {
        case .usage(let text), .source(let text), .store(let text), .damaged(let text): text
        }
    }
}
