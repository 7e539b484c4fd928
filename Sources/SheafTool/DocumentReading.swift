import Sheaf
import SheafBytes
import SheafDocument
import SheafEngine
import SheafStorage

/// A decoder of the operations of a document store.
///
/// The store may be damaged or may not be a document store; operations that cannot be decoded are
/// shown as bytes.
final class DocumentReading {
    /// The decoded content of an operation.
    package enum Meaning {
        case origin(CommitOrigin)
        case name(number: Int, String)
        case collection(number: Int, String)
        case site(Site)
        /// The former sites of the store.
        case formerSites([Site])
        /// The latest time of the clock.
        case clock(HybridTime)
        /// Number of write pauses of the site of another store; nil removes the pauses.
        case pauses(Site, count: Int?)
        /// The progress of an import; nil if it has finished or was given up.
        case importProgress(ImportProgress?)
        /// The progress in a shard of a hub log.
        case storedShard(Int, StoredShard)
        /// The definition of an index; nil removes the index.
        case index(collection: String, number: Int, IndexDefinition?)
        /// A token of an attachment without a proof of possession.
        case unprovenToken(AttachmentID, isRemoved: Bool)
        case document(DocumentMeaning)
    }

    /// The effect of an operation on a document.
    struct DocumentMeaning {
        let collection: String
        let id: Value
        /// The form of the payload; nil if the document is evicted.
        var form: PayloadChanges.Form?
        /// The visible value, if the operation contains the complete document.
        var value: Object?
        /// The paths that were written; `removed` has the paths below which fields were removed.
        var changed: [String] = []
        var removed: [String] = []
    }

    private let snapshot: () throws(StorageError) -> LogSnapshot
    private lazy var directory: Catalog? = {
        guard let snapshot = try? snapshot() else { return nil }
        return try? Catalog(snapshot)
    }()

    init(_ reader: LogReader) {
        snapshot = { () throws(StorageError) in try reader.snapshot() }
    }

    /// Creates a decoder for the commits up to a snapshot.
    init(_ known: LogSnapshot) {
        snapshot = { known }
    }

    /// Decodes an operation; returns nil if it is damaged or not one of a document store.
    func meaning(of operation: Operation) -> Meaning? {
        guard let key = StoreKey(operation.key) else { return nil }
        let payload = operation.payload
        switch key {
        case .origin:
            return (try? CommitOrigin(decoding: payload)).map(Meaning.origin)
        case .name(let number):
            return .name(number: Int(number), String(decoding: payload, as: UTF8.self))
        case .collection(let number):
            return .collection(number: Int(number), String(decoding: payload, as: UTF8.self))
        case .site:
            return (try? SiteRecord(decoding: payload)).map { .site($0.site) }
        case .formerSites:
            return (try? FormerSites(decoding: payload)).map { .formerSites($0.sites) }
        case .clock:
            return (try? HybridTime(decoding: payload)).map(Meaning.clock)
        case .pauses(let site):
            var reader = ByteReader(payload)
            guard operation.kind != .remove else { return .pauses(site, count: nil) }
            return (try? reader.readPauses()).map { .pauses(site, count: $0.count) }
        case .importProgress:
            guard operation.kind != .remove else { return .importProgress(nil) }
            return (try? ImportProgress(decoding: payload)).map { .importProgress($0) }
        case .storedShard(let number):
            return (try? StoredShard(decoding: payload)).map { .storedShard(Int(number), $0) }
        case .index(let collection, let number):
            guard let directory, directory.collections.indices.contains(Int(collection)) else {
                return nil
            }
            let definition =
                operation.kind == .remove
                ? nil
                : try? IndexDefinition(collection: collection, number: number, decoding: payload)
            return .index(
                collection: directory.collections[Int(collection)], number: Int(number),
                definition)
        case .unprovenToken(let attachment, _):
            return AttachmentID(bytes: attachment).map {
                .unprovenToken($0, isRemoved: operation.kind == .remove)
            }
        case .document(let number, let id):
            guard let directory, directory.collections.indices.contains(Int(number)),
                let id = try? DocumentID.id(of: id)
            else { return nil }
            var meaning = DocumentMeaning(
                collection: directory.collections[Int(number)], id: id)
            guard operation.kind != .remove else { return .document(meaning) }
            guard (try? read(payload, directory.names, into: &meaning)) != nil else { return nil }
            return .document(meaning)
        }
    }

    private func read(
        _ bytes: UnsafeRawBufferPointer, _ names: NameTable, into meaning: inout DocumentMeaning
    ) throws(Malformed) {
        let changes = try PayloadChanges(decoding: bytes, names)
        meaning.form = changes.form
        meaning.value = try DocumentPayload(bytes).state?.value(names)
        meaning.changed = changes.changed.map(Self.text)
        meaning.removed = changes.removed.map(Self.text)
    }

    /// Returns the key of a document; an id that is not valid JSON is a string.
    func key(collection: String, id: String) throws(ToolError) -> [UInt8]? {
        guard let directory else { return nil }
        guard let number = directory.number(ofCollection: collection) else {
            throw .failed(
                "no such collection: '\(collection.shortened)'" + suggestion(collection))
        }
        let value = (try? Value(json: id)) ?? .string(id)
        do throws(DocumentError) {
            return StoreKey.document(
                collection: number, id: try DocumentID.key(of: value)
            ).bytes
        } catch {
            throw .failed("\(error)")
        }
    }

    private func suggestion(_ collection: String) -> String {
        OptionSuggestion.text(for: collection, among: directory?.collections ?? [])
    }

    /// Returns the current catalog of the store.
    func namesAndCollections() throws(ToolError) -> Catalog {
        guard let directory else {
            throw .failed("cannot read the catalog of the store; run 'sheaf verify' for the reason")
        }
        return directory
    }

    /// Returns a path as text: a slash before each name, special characters escaped.
    ///
    /// The path of the document itself is a period.
    static func text(_ path: [String]) -> String {
        path.isEmpty
            ? "."
            : path.map { name in
                "/" + ReadableBytes.text(Array(name.utf8)).replacing("/", with: #"\x2f"#)
            }.joined()
    }
}

extension String {
    fileprivate func replacing(_ text: Character, with other: String) -> String {
        var result = ""
        for character in self {
            if character == text { result += other } else { result.append(character) }
        }
        return result
    }
}
