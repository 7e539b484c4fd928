import SheafAttachments
import SheafBytes
import SheafDocument
package import SheafEngine
import SheafReplication
import SheafStatements
package import SheafStorage

/// The export of the complete states of all documents (`format-spec/export.md`).
///
/// The lines are a function of the contents: an import and a second export give the same file.
package final class FullExport {
    /// The result of an export.
    package struct Outcome: Sendable {
        package var summary = FullSummary()
        /// Number of attachments that documents reference, and that are not stored here.
        package var missingAttachments = 0
    }

    private let snapshot: DocumentSnapshot
    private let attachments: AttachmentStore
    private let stream: ExportStream
    private let progress: ExportProgress
    private var buffer: [UInt8] = []
    private var outcome = Outcome()
    /// The attachments that were written or found to be missing.
    private var seen: Set<AttachmentID> = []

    /// Prepares an export; `volume` is the directory of the store.
    package init(
        of snapshot: DocumentSnapshot, in volume: any Volume, to stream: ExportStream,
        _ progress: ExportProgress = ExportProgress()
    ) {
        (self.snapshot, self.stream, self.progress) = (snapshot, stream, progress)
        var options = AttachmentStore.Options()
        options.isReadOnly = true
        attachments = AttachmentStore(in: volume, options: options)
    }

    /// Writes all lines.
    package func run() throws(ExportError) -> Outcome {
        try write(.header(version: FullRecord.version))
        let collections = RowSource.collections(of: snapshot)
        for name in collections { try writeIndexes(of: name) }
        for name in collections { try writeDocuments(of: name) }
        try write(.end(outcome.summary))
        try stream.sendAll(&buffer)
        return outcome
    }

    private func write(_ record: FullRecord) throws(ExportError) {
        record.append(to: &buffer)
        try stream.sendIfFull(&buffer)
    }

    private func writeIndexes(of collection: String) throws(ExportError) {
        guard let number = snapshot.catalog.number(ofCollection: collection) else { return }
        let indexes = snapshot.catalog.indexes[number] ?? []
        for index in indexes.sorted(by: { UTF8Order.compare($0.name, $1.name) < 0 }) {
            outcome.summary.indexes += 1
            try write(.index(collection: collection, name: index.name, fields: index.fields))
        }
    }

    private func writeDocuments(of collection: String) throws(ExportError) {
        var failure: ExportError?
        do throws(EngineError) {
            try snapshot.forEachDocument(of: collection) { (key, document) throws(EngineError) in
                guard let record = try record(of: document, key, collection) else { return true }
                do throws(ExportError) {
                    try writeAttachments(named: record.state)
                    try write(.document(record))
                    let written = outcome.summary
                    try progress.report(written.documents + written.tombstones, stream.sentCount)
                } catch {
                    failure = error
                    return false
                }
                return true
            }
        } catch {
            throw .store(StoreError(error))
        }
        if let failure { throw failure }
    }

    /// Returns the line of a document; nil if it is evicted.
    private func record(
        of document: StoredDocument, _ key: [UInt8], _ collection: String
    ) throws(EngineError) -> FullDocument? {
        let unproven = try unproven(in: document, key)
        return try onDocument(key) { () throws(Malformed) in
            try document.read { (bytes) throws(Malformed) in
                let document = try EncodedDocument(bytes)
                guard !document.isRemnant else { return nil }
                let id = Array(key[StoreKey.documentPrefixLength...])
                let state = try document.spelled(snapshot.names)
                var value = try document.value(snapshot.names)
                if value == nil {
                    outcome.summary.tombstones += 1
                } else {
                    value?["_id"] = try DocumentID.id(of: id)
                    outcome.summary.documents += 1
                }
                outcome.summary.checksum.add(ChecksumSum(collection, id[...], state))
                // A state is longer than its values, apart from escaped characters.
                let isLong = state.count > FullDocument.maximumValueLength / 6
                return FullDocument(
                    collection: collection, key: id, state: state, unproven: unproven,
                    value: isLong ? nil : value)
            }
        }
    }

    private func unproven(
        in document: StoredDocument, _ key: [UInt8]
    ) throws(EngineError) -> [[UInt8]] {
        guard snapshot.hasUnprovenTokens else { return [] }
        let named = try onDocument(key) { () throws(Malformed) in
            try document.read { (bytes) throws(Malformed) in
                try EncodedDocument(bytes).attachments(snapshot.names)
            }
        }
        guard !named.isEmpty else { return [] }
        return named.subtracting(snapshot.proven(named, inDocument: key)).map(\.bytes)
            .sorted { $0.lexicographicallyPrecedes($1) }
    }

    // MARK: Attachments

    /// Writes the attachments that a state names, unless they have been written.
    private func writeAttachments(named state: [UInt8]) throws(ExportError) {
        var found: [AttachmentID] = []
        state.span.withUnsafeBytes { bytes in
            AttachmentTexts.forEach(in: bytes) { text in
                if let id = AttachmentID(String(decoding: text, as: UTF8.self)) {
                    found.append(id)
                }
                return true
            }
        }
        guard !found.isEmpty else { return }
        let tokens: Set<AttachmentID>
        do throws(Malformed) {
            tokens = try state.span.withUnsafeBytes { (bytes) throws(Malformed) in
                try EncodedDocument(bytes).attachments(NameTable())
            }
        } catch {
            throw .store(StoreError(error))
        }
        for id in found where seen.insert(id).inserted {
            if try write(id) { continue }
            // Any 64 digits may look like an id, but only a token needs its file.
            if tokens.contains(id) { outcome.missingAttachments += 1 }
        }
    }

    /// Writes an attachment with its chunks; returns false if it is not stored here.
    private func write(_ id: AttachmentID) throws(ExportError) -> Bool {
        guard
            let file = try onAttachment({ () throws(AttachmentError) in try attachments.file(id) })
        else { return false }
        defer { file.close() }
        outcome.summary.attachments += 1
        try write(
            .attachment(FullAttachment(id: id, length: file.length, hashes: file.list.hashes)))
        for number in 0..<file.chunkCount {
            let bytes = try onAttachment { () throws(AttachmentError) in try file.read(number) }
            try write(.chunk(number: number, bytes: bytes))
        }
        return true
    }

    private func onAttachment<Result>(
        _ body: () throws(AttachmentError) -> Result
    ) throws(ExportError) -> Result {
        do throws(AttachmentError) { return try body() } catch {
            guard case .damaged = error else { throw .failed("\(error)") }
            throw .store(StoreError(.damaged, "\(error)"))
        }
    }
}
