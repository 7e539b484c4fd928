import SheafBytes
import SheafDocument
import SheafEngine
import SheafHubLog
import SheafSync

/// An encoder of one part of a snapshot (`format-spec/hub.md`, *Objects*).
struct SnapshotPartWriter {
    /// The number of the commits in all parts.
    static let commit: UInt64 = 1

    private var names = SentNames()
    private var group = HubGroupWriter(commit: SnapshotPartWriter.commit)
    private(set) var documentCount = 0
    /// Length of the documents, before compression.
    private(set) var length = 0

    /// Begins a part with documents of a snapshot of the store.
    init(_ snapshot: DocumentSnapshot) {
        names.update(from: snapshot.names)
    }

    /// Adds a document, which follows the previous one by its address.
    mutating func add(
        _ address: DocumentAddress, _ document: EncodedDocument, unproven: [[UInt8]]
    ) throws(Malformed) {
        let bytes = try names.encoded(document, &group)
        bytes.withUnsafeBytes { group.add(address, $0, unproven: unproven) }
        documentCount += 1
        length += bytes.count + address.id.count + Self.overhead
    }

    /// Ends the part, and returns its bytes.
    mutating func finish() -> [UInt8] { group.finish() }

    /// Length of a document besides its state and its id, about.
    private static let overhead = 8
}
